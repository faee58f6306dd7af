//! Merges the list form of a meta template into raw messages.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::role::{Message, MetaTemplate, Piece, Slot};
use crate::template::{Source, keys};
use crate::value::Value;

/// Merge a list-form meta template into messages whose roles are all known.
///
/// # Errors
///
/// `TemplateError` if two contents that aren't both strings would have to be joined.
pub(super) fn merge_meta(meta: Option<&MetaTemplate>, messages: Vec<Message>) -> Result<Vec<Message>> {
    let (Some(MetaTemplate::Messages(meta)), false) = (meta, messages.is_empty()) else { return Ok(messages) };
    let name = |role: Option<&Value>| role.and_then(Value::as_str).map(str::to_owned);
    let meta_roles: Vec<_> =
        meta.iter().map(|keys| name(keys.iter().find(|(k, _)| &**k == keys::ROLE).map(|(_, v)| v))).collect();
    let roles: Vec<_> = messages.iter().map(|m| name(m.role())).collect();
    let mut out = Vec::new();
    for step in merge_steps(&meta_roles, &roles) {
        out.push(match step {
            MergeStep::Keep(index) => messages[index].clone(),
            MergeStep::Insert(m) => meta_message(&meta[m]),
            MergeStep::Prefix(m, index) => prefixed(messages[index].clone(), meta_content(&meta[m], m)?)?,
        });
    }
    Ok(out)
}

/// One step of merging a list-form meta template into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeStep {
    /// The message stays as it is.
    Keep(usize),
    /// The meta template's message of this number is inserted.
    Insert(usize),
    /// The meta template's content goes before the content of a message: meta number, message number.
    Prefix(usize, usize),
}

/// Return the steps that merge a list-form meta template with roles `meta` into messages with roles `messages`. Equal
/// roles at the same position merge. If a role of the meta template occurs in a later message, the messages before it
/// are kept. Any other role is inserted.
fn merge_steps<T: PartialEq>(meta: &[T], messages: &[T]) -> Vec<MergeStep> {
    let mut out = Vec::with_capacity(meta.len() + messages.len());
    let mut index = 0;
    for (m, role) in meta.iter().enumerate() {
        loop {
            if messages.get(index) == Some(role) {
                out.push(MergeStep::Prefix(m, index));
                index += 1;
            } else if messages[index..].contains(role) {
                out.push(MergeStep::Keep(index));
                index += 1;
                continue;
            } else {
                out.push(MergeStep::Insert(m));
            }
            break;
        }
    }
    out.extend((index..messages.len()).map(MergeStep::Keep));
    out
}

/// Return a message of a list-form meta template.
fn meta_message(keys: &[(Arc<str>, Value)]) -> Message {
    let role = keys.iter().find(|(k, _)| &**k == keys::ROLE).and_then(|(_, v)| v.as_text());
    Message::Dict(
        keys.iter()
            .map(|(name, value)| {
                let slot = match value {
                    Value::Str(s) if &**name == keys::CONTENT => {
                        Slot::Text(vec![Piece::literal(s.clone(), Source::MetaTemplate, role)])
                    }
                    other => Slot::Const(other.clone()),
                };
                (name.clone(), slot)
            })
            .collect(),
    )
}

/// Return the content of a message of a list-form meta template that goes before another content.
///
/// # Errors
///
/// `TemplateError` if there is no content, or if it isn't a string.
fn meta_content(keys: &[(Arc<str>, Value)], number: usize) -> Result<&str> {
    match keys.iter().find(|(k, _)| &**k == keys::CONTENT) {
        Some((_, Value::Str(s))) => Ok(s),
        _ => Err(Error::template(
            Code::UnmergeableContent,
            format!("meta_template[{number}].content"),
            "a str is needed to merge it with the dataset's message",
        )),
    }
}

/// Put the content of the list-form meta template before a message's content.
fn prefixed(message: Message, content: &str) -> Result<Message> {
    let role = message.role().and_then(Value::as_text).cloned();
    let prefix = Piece::literal(content, Source::MetaTemplate, role.as_ref());
    match message {
        Message::Dict(mut keys) => {
            match keys.iter_mut().find(|(name, _)| &**name == keys::CONTENT) {
                Some((_, Slot::Text(pieces))) => pieces.insert(0, prefix),
                Some((_, Slot::Const(value))) => return Err(unmergeable(value.type_name())),
                Some((_, Slot::Parts(_))) => return Err(unmergeable("a list of parts")),
                None => {}
            }
            Ok(Message::Dict(keys))
        }
        Message::Element(mut element) => {
            match &mut element.content {
                Ok(pieces) => pieces.insert(0, prefix),
                Err(type_name) => return Err(unmergeable(type_name).in_column(&*element.column)),
            }
            Ok(Message::Element(element))
        }
        other => Ok(other),
    }
}

fn unmergeable(type_name: &str) -> Error {
    let message = format!("the content to merge with the meta template's must be a str, found {type_name}");
    Error::template(Code::UnmergeableContent, "prompt_template", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use MergeStep::{Insert, Keep, Prefix};

    #[test]
    fn equal_roles_merge_and_missing_ones_are_put_in() {
        assert_eq!(merge_steps(&["system"], &["user"]), [Insert(0), Keep(0)]);
        assert_eq!(merge_steps(&["system", "user"], &["user", "assistant"]), [Insert(0), Prefix(1, 0), Keep(1)]);
        assert_eq!(merge_steps(&["user"], &["system", "user"]), [Keep(0), Prefix(0, 1)]);
        assert_eq!(merge_steps(&["assistant", "user"], &["user"]), [Insert(0), Prefix(1, 0)]);
    }
}
