//! Notes on turns without text.

use super::dialogues::{dialogues, sections};
use super::note::Note;
use super::subject::Subject;
use super::texts::messages_path;
use crate::plan::Mode;
use crate::role::MetaTemplate;
use crate::suggest::closest;
use crate::template::keys;
use crate::template::{Dialogue, Entry, Item, MEDIA_KEY, RawItem, Template, Turn};
use crate::value::Value;

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let config = subject.config;
    let (main, value, path) = subject.main();
    let generation = config.mode == Mode::Gen;
    // The replies of a conversation are inserted where the model speaks.
    let replies = matches!(main, Template::Turns(_));
    for dialogue in dialogues(main) {
        in_dialogue(subject, dialogue, generation, replies, out);
    }
    if let Template::Raw(raw) = main {
        let path = messages_path(value, path);
        for (n, item) in raw.items.iter().enumerate() {
            in_message(item, &format!("{path}[{n}]"), raw.ice_token.as_deref(), out);
        }
    }
    if let Some(ice) = subject.ice().filter(|_| config.prompt.is_some()) {
        for dialogue in dialogues(ice) {
            let rounds = Dialogue { begin: None, end: None, round: dialogue.round.clone() };
            in_dialogue(subject, &rounds, false, false, out);
        }
    }
}

fn in_dialogue(subject: &Subject, dialogue: &Dialogue, generation: bool, replies: bool, out: &mut Vec<Note>) {
    for (section, items) in sections(dialogue) {
        for (n, item) in items.iter().enumerate() {
            let Item::Turn(turn) = item else { continue };
            if turn.get(keys::SECTION).is_some() || !is_silent(subject, turn) {
                continue;
            }
            let follows =
                items[n + 1..].iter().any(|item| matches!(item, Item::Turn(turn) if !is_silent(subject, turn)));
            let last = section == "round" && !follows;
            // The turn where generation starts has no text yet.
            if generates(subject, turn) && (replies || (generation && last)) {
                continue;
            }
            let role = turn.constant(keys::ROLE).map_or_else(String::new, |role| format!(" of {role}"));
            let message = format!("the turn{role} has no text");
            let remedy = "give it a prompt, or leave the turn out".to_owned();
            // An explicit empty prompt may be intended: some shipped configurations begin with one.
            let note = if turn.get(keys::PROMPT).is_some() { Note::info } else { Note::warning };
            out.push(note("turn_without_text", &turn.path, message, remedy));
        }
    }
}

/// Return true if a turn has no text, even with its role's default text. A turn with a misspelt key has its own note.
fn is_silent(subject: &Subject, turn: &Turn) -> bool {
    let has_text = match turn.get(keys::PROMPT) {
        Some(Entry::Text(text)) => !text.is_empty(),
        Some(_) => true,
        None => {
            let others = turn.keys.iter().map(|(key, _)| &**key);
            turn.get(MEDIA_KEY).is_some() || others.into_iter().any(stands_for_prompt)
        }
    };
    if has_text {
        return false;
    }
    // An empty prompt of the dataset takes precedence over the meta template's prompt.
    let default = turn.get(keys::PROMPT).is_none().then(|| role(subject, turn)?.constant(keys::PROMPT)).flatten();
    default.is_none_or(|text| !text.truthy())
}

/// Return true if an unread key of a turn likely stands for its prompt: a misspelling, or another name for it.
pub(super) fn stands_for_prompt(key: &str) -> bool {
    [keys::CONTENT, "text", "value"].contains(&key) || closest(key, [keys::PROMPT]).is_some()
}

/// Return the meta template's role for a turn.
fn role<'a>(subject: &'a Subject, turn: &Turn) -> Option<&'a Turn> {
    let Some(MetaTemplate::Rounds(rounds)) = &subject.config.meta else { return None };
    let index = |key: &str| rounds.role(turn.constant(key)?);
    Some(&rounds.roles[index(keys::ROLE).or_else(|| index(keys::FALLBACK_ROLE))?].1)
}

fn generates(subject: &Subject, turn: &Turn) -> bool {
    let says = |turn: &Turn| turn.constant(keys::GENERATE).is_some_and(Value::truthy);
    // Without a meta template, or with one that doesn't say who generates, the role's name decides.
    let named = turn.constant(keys::ROLE).and_then(Value::as_str).is_some_and(|role| MODEL_ROLES.contains(&role));
    named || says(turn) || role(subject, turn).is_some_and(says)
}

const MODEL_ROLES: [&str; 4] = ["BOT", "bot", "assistant", "ASSISTANT"];

fn in_message(item: &RawItem, path: &str, token: Option<&str>, out: &mut Vec<Note>) {
    match item {
        RawItem::Str(text) if token != Some(text.as_str()) => {
            let message = "a str among messages vanishes, unless it is the ice_token".to_owned();
            let remedy = "make it a message: {\"role\": ..., \"content\": ...}".to_owned();
            out.push(Note::warning("dropped_text", path, message, remedy));
        }
        RawItem::Message(turn) => {
            let empty = match turn.get(keys::CONTENT) {
                Some(Entry::Text(text)) => text.is_empty(),
                Some(Entry::Const(value)) => !value.truthy(),
                _ => false,
            };
            // A message that calls tools may have no text.
            if empty && turn.keys.len() == 2 {
                let role = turn.constant(keys::ROLE).map_or_else(String::new, |role| format!(" of {role}"));
                let message = format!("the message{role} has no text");
                let remedy = "give it a content, or leave the message out".to_owned();
                out.push(Note::info("turn_without_text", path, message, remedy));
            }
        }
        _ => {}
    }
}
