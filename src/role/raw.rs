//! Raw messages and the list form of a meta template.

use std::sync::Arc;

use super::request::{Message, Piece, Slot};
use crate::error::{Code, Error, Result};
use crate::template::Source;
use crate::value::Value;

/// One step of merging a list-form meta template into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMeta {
    /// The message stays as it is.
    Keep(usize),
    /// The meta template's message of this number is put in.
    Insert(usize),
    /// The meta template's content goes before the message's: meta number, message number.
    Prefix(usize, usize),
}

/// How a list-form meta template with roles `meta` merges into messages with roles `messages`: equal roles at the same
/// position merge, a role that still comes is waited for, any other is put in.
pub fn merge_raw<T: PartialEq>(meta: &[T], messages: &[T]) -> Vec<MergeMeta> {
    let mut out = Vec::with_capacity(meta.len() + messages.len());
    let mut at = 0;
    for (m, role) in meta.iter().enumerate() {
        loop {
            if messages.get(at) == Some(role) {
                out.push(MergeMeta::Prefix(m, at));
                at += 1;
            } else if messages[at..].contains(role) {
                out.push(MergeMeta::Keep(at));
                at += 1;
                continue;
            } else {
                out.push(MergeMeta::Insert(m));
            }
            break;
        }
    }
    out.extend((at..messages.len()).map(MergeMeta::Keep));
    out
}

/// A message of a list-form meta template.
pub fn meta_message(keys: &[(Arc<str>, Value)]) -> Message {
    let role = keys.iter().find(|(k, _)| &**k == "role").and_then(|(_, v)| v.as_text());
    Message::Dict(
        keys.iter()
            .map(|(name, value)| {
                let slot = match value {
                    Value::Str(s) if &**name == "content" => {
                        Slot::Text(vec![Piece::fixed(s.clone(), Source::MetaTemplate, role)])
                    }
                    other => Slot::Const(other.clone()),
                };
                (name.clone(), slot)
            })
            .collect(),
    )
}

/// The content of a message of a list-form meta template, to go before another's.
///
/// # Errors
///
/// `TemplateError` if it has none, or one that is no string.
pub fn meta_content(keys: &[(Arc<str>, Value)], number: usize) -> Result<&str> {
    match keys.iter().find(|(k, _)| &**k == "content") {
        Some((_, Value::Str(s))) => Ok(s),
        _ => Err(Error::template(
            Code::UnmergeableContent,
            format!("meta_template[{number}].content"),
            "a str is needed to merge it with the dataset's message",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MergeMeta::{Insert, Keep, Prefix};

    #[test]
    fn equal_roles_merge_and_missing_ones_are_put_in() {
        assert_eq!(merge_raw(&["system"], &["user"]), [Insert(0), Keep(0)]);
        assert_eq!(merge_raw(&["system", "user"], &["user", "assistant"]), [Insert(0), Prefix(1, 0), Keep(1)]);
        assert_eq!(merge_raw(&["user"], &["system", "user"]), [Keep(0), Prefix(0, 1)]);
        assert_eq!(merge_raw(&["assistant", "user"], &["user"]), [Insert(0), Prefix(1, 0)]);
    }
}
