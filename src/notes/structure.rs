//! Dicts that are read as something else than they look like: label maps that are none, and a round without its list.

use super::note::{Note, listed};
use super::subject::Subject;
use crate::near::near;
use crate::plan::{Choice, Mode};
use crate::role::MetaTemplate;
use crate::template::keys;
use crate::template::{Body, PROMPT_KEYS, PromptTemplate, RAW_KEYS, SECTIONS, Shape, Template, key_path};
use crate::value::Value;

/// Names of roles that label maps are not made of.
const ROLE_NAMES: [&str; 6] = ["system", "human", "user", "bot", "assistant", "model"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    for (template, value, path) in subject.templates() {
        match template {
            Template::Prompt(prompt) => {
                let inner = if prompt.path == path { value } else { value.get("template").unwrap_or(value) };
                match &prompt.shape {
                    Shape::One(_) => in_round(inner, &prompt.path, out),
                    Shape::Labels(items) => {
                        for (label, body) in items {
                            if let (Body::Dialogue(_), Value::Dict(entries)) = (body, inner)
                                && let Some((_, own)) = entries.iter().find(|(key, _)| key.equals(label))
                            {
                                in_round(own, &key_path(&prompt.path, label), out);
                            }
                        }
                        let names: Vec<&str> = items.iter().filter_map(|(label, _)| label.as_str()).collect();
                        if takes_first(subject, prompt, path) && names.len() == items.len() {
                            role_names(subject, &names, &prompt.path, out);
                        }
                    }
                }
            }
            Template::Turns(turns) => {
                in_round(value.get("template").unwrap_or(value), &turns.path, out);
                texts_as_turns(subject, path, out);
            }
            Template::Media(media) => in_round(value.get("template").unwrap_or(value), &media.path, out),
            _ => {}
        }
    }
    no_retriever(subject, out);
}

/// Whether only the first of a label map's texts is rendered; which of an example's, its answer decides.
pub(super) fn takes_first(subject: &Subject, prompt: &PromptTemplate, path: &str) -> bool {
    let config = subject.config;
    let example = path == "ice_template" && config.prompt.is_some();
    config.mode == Mode::Gen && !example && prompt.selector().is_none()
}

/// A round that is one turn's dict: of its keys a dialogue is made.
fn in_round(dialogue: &Value, path: &str, out: &mut Vec<Note>) {
    let Some(Value::Dict(turn)) = dialogue.get("round") else { return };
    if turn.is_empty() {
        return;
    }
    let keys: Vec<_> = turn.iter().map(|(key, _)| key.key()).collect();
    let shown = listed(keys.iter().map(|key| &**key));
    let message = format!("a dict where a list of turns belongs: the prompt has its keys as texts, {shown}");
    let remedy = "make it a list: [{\"role\": ..., \"prompt\": ...}]".to_owned();
    out.push(Note::warning("round_without_list", &format!("{path}.round"), message, remedy));
}

/// A label map whose labels are all roles: of generation its first text is the whole prompt.
fn role_names(subject: &Subject, names: &[&str], path: &str, out: &mut Vec<Note>) {
    let own = |name: &str| match &subject.config.meta {
        Some(MetaTemplate::Rounds(rounds)) => rounds.role(&Value::from(name)).is_some(),
        _ => false,
    };
    let is_role = |name: &&str| ROLE_NAMES.contains(&name.to_lowercase().as_str()) || own(name);
    if names.is_empty() || !names.iter().all(is_role) {
        return;
    }
    let shown = listed(names.iter().copied());
    let message = format!("{shown}: labels here, and no roles; generation takes the first label's text alone");
    let remedy = "write a dialogue: {\"round\": [{\"role\": ..., \"prompt\": ...}]}".to_owned();
    out.push(Note::warning("label_like_key", path, message, remedy));
}

/// Labels that are more likely keys of a template, of a dialogue or of a turn.
pub(super) fn in_labels(items: &[(Value, Body)], path: &str, bare: bool, generation: bool, out: &mut Vec<Note>) {
    let names: Vec<&str> = items.iter().filter_map(|(label, _)| label.as_str()).collect();
    let dialogue = "a turn stands in a list: {\"round\": [{\"role\": ..., \"prompt\": ...}]}";
    if names.contains(&keys::ROLE) && [keys::PROMPT, keys::CONTENT].iter().any(|key| names.contains(key)) {
        let shown = listed(names.iter().copied());
        let message = format!("{shown}: labels here, and no turn's keys; a dict with other keys is a label map");
        out.push(Note::warning("label_like_key", path, message, dialogue.to_owned()));
        return;
    }
    let own: Vec<&str> = if bare { [PROMPT_KEYS, RAW_KEYS].concat() } else { Vec::new() };
    // What a classification may well be about is told from a slip by what is rendered of it.
    let alone = generation && items.len() == 1;
    for (label, body) in items {
        let Some(name) = label.as_str() else { continue };
        let broken = matches!(body, Body::Bad(_));
        let message = format!("'{name}' is a label here: a dict with other keys than a template's is a label map");
        let (remedy, sure) = if own.contains(&name) {
            let remedy =
                format!("'{name}' needs a key 'template' or 'messages' beside it, and only keys of a template");
            (remedy, true)
        } else if let Some(meant) = near(name, own.iter().copied()) {
            (format!("did you mean '{meant}'?"), true)
        } else if SECTIONS.contains(&name) {
            if !generation && !broken && name != "round" {
                continue;
            }
            let remedy =
                format!("a dialogue with '{name}' has no other keys than {}", listed(SECTIONS.iter().copied()));
            // One label's dialogue in turns is a dialogue whose other key is misspelt, which is said there.
            if items.iter().any(|(other, _)| is_like_section(other)) {
                continue;
            }
            (remedy, true)
        } else if let Some(meant) = near(name, SECTIONS.iter().copied()).filter(|_| broken || generation) {
            let case = name.eq_ignore_ascii_case(meant);
            let beside = items.iter().any(|(other, _)| other.as_str().is_some_and(|other| SECTIONS.contains(&other)));
            (format!("did you mean '{meant}'?"), broken || alone || case || beside)
        } else if alone
            && ([keys::PROMPT, keys::CONTENT, "text"].contains(&name) || near(name, [keys::PROMPT]).is_some())
        {
            ("write its text as the template itself, or a dialogue's round of turns".to_owned(), true)
        } else {
            continue;
        };
        let note = if sure { Note::warning } else { Note::info };
        out.push(note("label_like_key", path, message, remedy));
    }
}

fn is_like_section(label: &Value) -> bool {
    label.as_str().is_some_and(|name| !SECTIONS.contains(&name) && near(name, SECTIONS.iter().copied()).is_some())
}

/// A conversation over texts: the harness goes through their characters.
fn texts_as_turns(subject: &Subject, path: &str, out: &mut Vec<Note>) {
    let texts = subject.tables.texts.iter().copied();
    let texts: Vec<&str> = texts.filter(|name| ["question", "answer"].contains(name)).collect();
    if !texts.is_empty() {
        let message = format!("a conversation over texts ({}): each character is a turn", listed(texts));
        let remedy = "give lists of texts, one a turn".to_owned();
        out.push(Note::warning("texts_as_turns", path, message, remedy));
    }
}

/// Examples that nothing chooses from.
fn no_retriever(subject: &Subject, out: &mut Vec<Note>) {
    let config = subject.config;
    let chat = matches!(config.main(), Template::Chat(_));
    let chosen = subject.settings.retriever != Value::None || config.retriever.choice != Choice::Zero;
    if chat || chosen || config.ice.is_none() || subject.tables.examples.is_none() {
        return;
    }
    let message = "no retriever is given, so no example is chosen: every prompt is zero-shot".to_owned();
    let remedy = "give one, such as {\"type\": \"FixKRetriever\", \"fix_id_list\": [0, 1]}, or leave the examples out";
    out.push(Note::warning("no_retriever", "retriever", message, remedy.to_owned()));
}
