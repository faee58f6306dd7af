//! A dialogue without a meta template: its prompts joined by newlines.

use super::request::{Join, Message, Piece, Request, Slot};
use super::rounds::string;
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Item, Source, Turn, keys};
use crate::value::Value;

/// Return the prompt of a dialogue for a model without a meta template, for text and messages alike.
///
/// An empty item writes nothing, but the item after it still starts a new line.
///
/// # Errors
///
/// `TemplateError` for an item that can't be rendered.
pub fn joined_by_lines(items: &[Item]) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let mut first = true;
    for item in items {
        let text = match item {
            Item::Marker { .. } => continue,
            Item::Turn(turn) if turn.is_marker() => continue,
            Item::Turn(turn) => turn.prompt().cloned().unwrap_or_default(),
            Item::Str(text) => text.clone(),
            Item::Bad(error) => return Err(error.clone()),
        };
        let join = if first { Join::None } else { Join::Line };
        first = false;
        out.push(Piece { text, join });
    }
    Ok(out)
}

/// Do the same in the early design of dialogue templates: each turn is its `begin`, `prompt` and `end`, and turns
/// follow each other directly.
///
/// # Errors
///
/// `TemplateError` for an item that can't be rendered, and for a `begin` or `end` that isn't a string.
pub fn concatenated(items: &[Item]) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Item::Marker { .. } => {}
            Item::Turn(turn) if turn.is_marker() => {}
            Item::Turn(turn) => {
                let role = turn.constant(keys::ROLE).and_then(Value::as_text);
                out.push(Piece::literal(string(turn, keys::BEGIN)?, Source::RoleBegin, role));
                out.push(Piece::new(turn.prompt().cloned().unwrap_or_default()));
                out.push(Piece::literal(string(turn, keys::END)?, Source::RoleEnd, role));
            }
            Item::Str(text) => out.push(Piece::new(text.clone())),
            Item::Bad(error) => return Err(error.clone()),
        }
    }
    Ok(out)
}

/// Return the request for an API of a dialogue with parts and without a meta template: its text if there is any, else
/// the list of its parts. None if it has no parts either.
///
/// # Errors
///
/// `TemplateError` for parts in the configuration that aren't a list of dicts.
pub fn joined_parts(items: &[Item]) -> Result<Option<Request>> {
    let (mut media, mut constants) = (Vec::new(), Vec::new());
    for item in items {
        let Item::Turn(turn) = item else {
            match item {
                Item::Str(text) if !text.is_empty() => return Ok(None),
                _ => continue,
            }
        };
        if turn.prompt().is_some_and(|text| !text.is_empty()) {
            return Ok(None);
        }
        match turn.get(keys::PROMPT_MM) {
            Some(Entry::Media(parts)) => media.push(parts.clone()),
            Some(Entry::Const(value)) if value.truthy() => constants.extend(listed(turn, value)?),
            _ => {}
        }
    }
    Ok(match (media.is_empty(), constants.is_empty()) {
        (false, _) => Some(Request::Parts(media)),
        (true, false) => Some(Request::List(constants)),
        (true, true) => None,
    })
}

fn listed(turn: &Turn, value: &Value) -> Result<Vec<Message>> {
    let wrong = |value: &Value| {
        let path = format!("{}.prompt_mm", turn.path);
        Error::template(Code::WrongType, path, format!("expected a list of parts (dicts), found {}", value.type_name()))
    };
    let Value::List(parts) = value else { return Err(wrong(value)) };
    let part = |part: &Value| match part {
        Value::Dict(keys) => Ok(Message::Dict(
            keys.iter()
                .map(|(key, value)| {
                    (key.as_str().map_or_else(|| key.to_string().into(), Into::into), Slot::Const(value.clone()))
                })
                .collect(),
        )),
        other => Err(wrong(other)),
    };
    parts.iter().map(part).collect()
}
