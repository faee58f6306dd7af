//! Notes on keys that aren't read.

use super::dialogues::turns;
use super::note::{Note, listed};
use super::silent_turns::stands_for_prompt;
use super::structure::{in_labels, takes_first};
use super::subject::Subject;
use super::texts::messages_path;
use crate::output::Parser;
use crate::plan::{Choice, READER_KEYS};
use crate::role::{META_KEYS, MetaTemplate, ROLE_KEYS};
use crate::suggest::closest;
use crate::template::keys;
use crate::template::{MEDIA_KEY, Modality, RawItem, SECTIONS, Shape, TURN_KEYS, Template, key_path};
use crate::value::Value;

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let config = subject.config;
    let settings = subject.settings;
    // A chat's template has its own rules, and it is read only if the column isn't a chat.
    for (template, value, path) in subject.templates() {
        in_template(subject, template, value, path, out);
    }
    in_retriever(subject, out);
    in_dict(&settings.reader, "reader", READER_KEYS, out);
    if let Some(MetaTemplate::Rounds(rounds)) = &config.meta {
        in_dict(&settings.meta_template, "meta_template", META_KEYS, out);
        for (_, role) in &rounds.roles {
            in_keys(&role.keys.iter().map(|(key, _)| &**key), &role.path, ROLE_KEYS, true, out);
        }
        // A role that the meta template lacks may be there for another model; a misspelt role isn't.
        let roles = rounds.roles.iter().flat_map(|(name, role)| [Some(name), role.constant(keys::API_ROLE)]);
        misspelt_keys(&settings.roles, "roles", &roles.flatten().filter_map(Value::as_str).collect::<Vec<_>>(), out);
    }
}

fn in_template(subject: &Subject, template: &Template, value: &Value, path: &str, out: &mut Vec<Note>) {
    // A label map with only misspelt keys isn't a label map.
    let inner = if value.get("type").is_some() { value.get("template") } else { None };
    match template {
        Template::Prompt(prompt) => {
            if let Shape::Labels(items) = &prompt.shape {
                let bare = value.get("type").is_none() && prompt.path == path;
                in_labels(items, &prompt.path, bare, takes_first(subject, prompt, path), out);
                let map = inner.or_else(|| value.get("template").filter(|_| !bare)).unwrap_or(value);
                let Value::Dict(entries) = map else { return };
                for (label, entry) in entries {
                    in_dict(entry, &key_path(&prompt.path, label), SECTIONS, out);
                }
            }
        }
        Template::Raw(raw) => {
            let path = messages_path(value, path);
            for (n, item) in raw.items.iter().enumerate() {
                if matches!(item, RawItem::Expand(_)) {
                    let messages = value.get("messages").unwrap_or(value);
                    let Value::List(list) = messages else { continue };
                    in_dict(&list[n], &format!("{path}[{n}]"), &["expand_column"], out);
                }
            }
        }
        Template::Turns(turns) => in_dict(value.get("template").unwrap_or(value), &turns.path, SECTIONS, out),
        Template::Media(media) => {
            let inner = value.get("template").unwrap_or(value);
            in_dict(inner, &media.path, SECTIONS, out);
            for section in SECTIONS {
                let Some(Value::List(items)) = inner.get(section) else { continue };
                for (n, item) in items.iter().enumerate() {
                    let parts = item.get(MEDIA_KEY).unwrap_or(&Value::None);
                    let kinds = Modality::ALL.map(Modality::name);
                    // The compact form has its own keys; with any other key it isn't the compact form.
                    if kinds.iter().any(|kind| matches!(parts.get(kind), Some(Value::Dict(_)))) {
                        in_dict(parts, &format!("{}.{section}[{n}].{MEDIA_KEY}", media.path), &kinds, out);
                    }
                }
            }
        }
        Template::Columns(_) | Template::Chat(_) => {}
    }
    let media = matches!(template, Template::Media(_)) || subject.config.dialect.speaks_parts();
    for turn in turns(template) {
        if turn.get(keys::SECTION).is_some() {
            continue;
        }
        let mut read_keys = TURN_KEYS.to_vec();
        if media {
            read_keys.push(MEDIA_KEY);
        }
        // A prompt list keeps a turn's other keys, and its reader may need them.
        let all = subject.config.output.parser != Parser::None;
        in_keys(&turn.keys.iter().map(|(key, _)| &**key), &turn.path, &read_keys, all, out);
    }
}

fn in_retriever(subject: &Subject, out: &mut Vec<Note>) {
    let (count, what) = match &subject.config.retriever.choice {
        Choice::Fixed(ids) => (ids.len(), "fix_id_list"),
        Choice::Window { k } => (*k, "k"),
        _ => return,
    };
    match subject.settings.retriever.get("ice_num") {
        Some(Value::Int(given)) if *given == count as i64 => {}
        Some(given) if *given != Value::None => {
            let message = format!("nothing reads it: there are {count} examples, as {what} says");
            let remedy = format!("leave ice_num={given} out, or change {what}");
            out.push(Note::warning("unread_key", "retriever.ice_num", message, remedy));
        }
        _ => {}
    }
}

fn in_dict(value: &Value, path: &str, read_keys: &[&str], out: &mut Vec<Note>) {
    if let Value::Dict(items) = value {
        let keys: Vec<_> = items.iter().map(|(key, _)| key.key()).collect();
        in_keys(&keys.iter().map(|key| &**key), path, read_keys, true, out);
    }
}

/// Adds notes on keys that resemble a key that is read. All other keys are allowed.
pub(super) fn misspelt_keys(value: &Value, path: &str, read_keys: &[&str], out: &mut Vec<Note>) {
    if let Value::Dict(items) = value {
        let keys: Vec<_> = items.iter().map(|(key, _)| key.key()).collect();
        in_keys(&keys.iter().map(|key| &**key), path, read_keys, false, out);
    }
}

/// Adds notes on the keys of one dict. With `all`, even keys that don't resemble a read key get a note.
fn in_keys<'a>(
    keys: &(impl Iterator<Item = &'a str> + Clone),
    path: &str,
    read_keys: &[&str],
    all: bool,
    out: &mut Vec<Note>,
) {
    let speaks = read_keys.contains(&keys::PROMPT) && !keys.clone().any(|key| key == keys::PROMPT || key == MEDIA_KEY);
    for key in keys.clone().filter(|key| !read_keys.contains(key)) {
        let absent = read_keys.iter().copied().filter(|name| !keys.clone().any(|key| key == *name));
        let suggestion = closest(key, absent).or((speaks && stands_for_prompt(key)).then_some(keys::PROMPT));
        let remedy = match suggestion {
            Some(suggestion) => format!("did you mean '{suggestion}'?"),
            None if all => format!("leave it out; what is read is {}", listed(read_keys.iter().copied())),
            None => continue,
        };
        let becomes = if suggestion == Some(keys::PROMPT) { ", so the turn has no text" } else { "" };
        let message = format!("nothing reads the key '{key}'{becomes}");
        out.push(Note::warning("unread_key", path, message, remedy));
    }
}
