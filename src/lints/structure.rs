//! Notes on dicts that are read differently than they look: unintended label maps, and a round without its list.

use super::note::{Note, listed};
use super::subject::Subject;
use crate::plan::{Choice, Mode};
use crate::role::MetaTemplate;
use crate::suggest::closest;
use crate::template::keys;
use crate::template::{Body, PROMPT_KEYS, PromptTemplate, RAW_KEYS, SECTIONS, Shape, Template, key_path};
use crate::value::Value;

/// Names of roles, which aren't likely labels.
const ROLE_NAMES: [&str; 6] = ["system", "human", "user", "bot", "assistant", "model"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    for (template, value, path) in subject.templates() {
        match template {
            Template::Prompt(prompt) => {
                let inner = if prompt.path == path { value } else { value.get("template").unwrap_or(value) };
                match &prompt.shape {
                    Shape::Single(_) => in_round(inner, &prompt.path, out),
                    Shape::Labels(items) => {
                        for (label, body) in items {
                            if let (Body::Dialogue(_), Value::Dict(entries)) = (body, inner)
                                && let Some((_, dialogue)) = entries.iter().find(|(key, _)| key.equals(label))
                            {
                                in_round(dialogue, &key_path(&prompt.path, label), out);
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

/// Return true if only the first text of a label map is rendered. For examples, the answer selects the text.
pub(super) fn takes_first(subject: &Subject, prompt: &PromptTemplate, path: &str) -> bool {
    let config = subject.config;
    let example = path == "ice_template" && config.prompt.is_some();
    config.mode == Mode::Gen && !example && prompt.selector().is_none()
}

/// Adds a note on a round that is a turn's dict: its keys become the dialogue.
fn in_round(dialogue: &Value, path: &str, out: &mut Vec<Note>) {
    let Some(Value::Dict(turn)) = dialogue.get("round") else { return };
    if turn.is_empty() {
        return;
    }
    let keys: Vec<_> = turn.iter().map(|(key, _)| key.key()).collect();
    let key_names = listed(keys.iter().map(|key| &**key));
    let message = format!("a dict where a list of turns belongs: the prompt has its keys as texts, {key_names}");
    let remedy = "make it a list: [{\"role\": ..., \"prompt\": ...}]".to_owned();
    out.push(Note::warning("round_without_list", &format!("{path}.round"), message, remedy));
}

/// Adds a note on a label map whose labels are all roles: in generation, its first text is the whole prompt.
fn role_names(subject: &Subject, names: &[&str], path: &str, out: &mut Vec<Note>) {
    let is_meta_role = |name: &str| match &subject.config.meta {
        Some(MetaTemplate::Rounds(rounds)) => rounds.role(&Value::from(name)).is_some(),
        _ => false,
    };
    let is_role = |name: &&str| ROLE_NAMES.contains(&name.to_lowercase().as_str()) || is_meta_role(name);
    if names.is_empty() || !names.iter().all(is_role) {
        return;
    }
    let labels = listed(names.iter().copied());
    let message = format!("{labels}: labels here, and no roles; generation takes the first label's text alone");
    let remedy = "write a dialogue: {\"round\": [{\"role\": ..., \"prompt\": ...}]}".to_owned();
    out.push(Note::warning("label_like_key", path, message, remedy));
}

/// Adds notes on labels that are likely keys of a template, of a dialogue or of a turn.
pub(super) fn in_labels(items: &[(Value, Body)], path: &str, bare: bool, generation: bool, out: &mut Vec<Note>) {
    let names: Vec<&str> = items.iter().filter_map(|(label, _)| label.as_str()).collect();
    let dialogue = "a turn stands in a list: {\"round\": [{\"role\": ..., \"prompt\": ...}]}";
    if names.contains(&keys::ROLE) && [keys::PROMPT, keys::CONTENT].iter().any(|key| names.contains(key)) {
        let labels = listed(names.iter().copied());
        let message = format!("{labels}: labels here, and no turn's keys; a dict with other keys is a label map");
        out.push(Note::warning("label_like_key", path, message, dialogue.to_owned()));
        return;
    }
    let template_keys: Vec<&str> = if bare { [PROMPT_KEYS, RAW_KEYS].concat() } else { Vec::new() };
    // The rendered part tells real labels from a slip.
    let alone = generation && items.len() == 1;
    for (label, body) in items {
        let Some(name) = label.as_str() else { continue };
        let broken = matches!(body, Body::Bad(_));
        let message = format!("'{name}' is a label here: a dict with other keys than a template's is a label map");
        let (remedy, sure) = if template_keys.contains(&name) {
            let remedy =
                format!("'{name}' needs a key 'template' or 'messages' beside it, and only keys of a template");
            (remedy, true)
        } else if let Some(suggestion) = closest(name, template_keys.iter().copied()) {
            (format!("did you mean '{suggestion}'?"), true)
        } else if SECTIONS.contains(&name) {
            if !generation && !broken && name != "round" {
                continue;
            }
            let remedy =
                format!("a dialogue with '{name}' has no other keys than {}", listed(SECTIONS.iter().copied()));
            // If one label's text is a dialogue, the other key of that dialogue is misspelt, which has its own note.
            if items.iter().any(|(other, _)| is_like_section(other)) {
                continue;
            }
            (remedy, true)
        } else if let Some(suggestion) = closest(name, SECTIONS.iter().copied()).filter(|_| broken || generation) {
            let case = name.eq_ignore_ascii_case(suggestion);
            let has_section =
                items.iter().any(|(other, _)| other.as_str().is_some_and(|other| SECTIONS.contains(&other)));
            (format!("did you mean '{suggestion}'?"), broken || alone || case || has_section)
        } else if alone
            && ([keys::PROMPT, keys::CONTENT, "text"].contains(&name) || closest(name, [keys::PROMPT]).is_some())
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
    label.as_str().is_some_and(|name| !SECTIONS.contains(&name) && closest(name, SECTIONS.iter().copied()).is_some())
}

/// Adds a note on a conversation over texts, where a harness takes each character as a turn.
fn texts_as_turns(subject: &Subject, path: &str, out: &mut Vec<Note>) {
    let texts = subject.tables.texts.iter().copied();
    let texts: Vec<&str> = texts.filter(|name| ["question", "answer"].contains(name)).collect();
    if !texts.is_empty() {
        let message = format!("a conversation over texts ({}): each character is a turn", listed(texts));
        let remedy = "give lists of texts, one a turn".to_owned();
        out.push(Note::warning("texts_as_turns", path, message, remedy));
    }
}

/// Adds a note on examples without a retriever.
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
