//! A dialogue laid over a meta template as messages: the API parser.

use std::sync::Arc;

use super::meta::{RoundItem, Rounds};
use super::request::{Message, Piece, Slot};
use super::rounds::{RoundPosition, generates, overlay, role_of, string, unknown_role};
use super::sections::{Parser, walk};
use super::text::prompt;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Item, Source, Text, Turn, keys};
use crate::value::Value;

/// Return the messages of a dialogue for an API.
///
/// It follows OpenCompass's `APITemplateParser.parse_template`, and its documentation where the code crashes (`end`
/// together with a meta template). AISBench's parts of a turn without a prompt become the message's `parts`. Strings
/// are left out, and so is a reserved role's text inside `round`.
///
/// # Errors
///
/// `TemplateError` for a role that is unknown or has no `api_role`, for examples spliced into `round`, for a string in
/// the meta template's round, for a generating role in `begin` or `end`, and for a dialogue without messages.
pub fn to_messages(items: &[Item], meta: &Rounds, generation: bool, dialect: Dialect) -> Result<Vec<Message>> {
    let mut parser = MessageParser { meta, generation, dialect, spoken: Vec::new() };
    walk(items, meta, generation, &mut parser)?;
    let mut out: Vec<(Value, Slot)> = Vec::new();
    for (role, content) in parser.spoken {
        match out.last_mut() {
            Some((last, before)) if last.equals(&role) => match (before, content) {
                (Slot::Text(text), Slot::Text(pieces)) => {
                    text.push(Piece::literal("\n", Source::Separator, role.as_text()));
                    text.extend(pieces);
                }
                _ => {
                    let message = format!(
                        "two messages of the role {role} follow each other, and parts can't be joined to what stands \
                         before or after them; let another role speak between them"
                    );
                    return Err(Error::template(Code::UnjoinableParts, "prompt_template", message));
                }
            },
            _ => out.push((role, content)),
        }
    }
    if out.is_empty() {
        return Err(Error::template(Code::NoMessages, "prompt_template", "the dialogue gives no message at all"));
    }
    let mut messages = Vec::with_capacity(out.len() + 1);
    match &meta.begin {
        Some(begin) if begin.truthy() => messages.push(verbatim(begin)?),
        _ => {}
    }
    messages.extend(out.into_iter().map(|(role, content)| {
        let key = if matches!(content, Slot::Text(_)) { keys::PROMPT } else { keys::PARTS };
        Message::Dict(vec![(Arc::from(keys::ROLE), Slot::Const(role)), (Arc::from(key), content)])
    }));
    Ok(messages)
}

/// The messages so far, each with its role and its content.
struct MessageParser<'m> {
    meta: &'m Rounds,
    generation: bool,
    dialect: Dialect,
    spoken: Vec<(Value, Slot)>,
}

impl Parser for MessageParser<'_> {
    fn position(&self, turn: &Turn) -> Result<RoundPosition> {
        let role = role_of(turn)?;
        let fallback = || turn.constant(keys::FALLBACK_ROLE).and_then(|f| self.meta.position(f));
        self.meta.position(role).or_else(fallback).map(RoundPosition::Item).ok_or_else(|| unknown_role(turn, self.meta))
    }

    fn round(&mut self, items: &[Item], stop: bool) -> Result<bool> {
        let roles = overlay(items, self.meta)?;
        for item in &self.meta.round {
            let RoundItem::Role(role) = item else {
                return Err(Error::template(
                    Code::StringWithoutRole,
                    "meta_template.round",
                    "a str without a role can't stand among messages; give it a role",
                ));
            };
            let role = &roles[*role];
            if stop && generates(role) {
                return Ok(false);
            }
            self.spoken.push(speak(role, self.dialect)?);
        }
        Ok(true)
    }

    fn without_round(&mut self, items: &[Item], stop: bool) -> Result<bool> {
        for item in items {
            let Item::Turn(turn) = item else { continue };
            let role = self.meta.turn_as_role(turn);
            if stop && generates(&role) {
                return Ok(false);
            }
            self.spoken.push(speak(&role, self.dialect)?);
        }
        Ok(true)
    }

    fn turn_outside_round(&mut self, turn: &Turn, role: &Turn) -> Result<()> {
        if self.generation && generates(role) {
            return Err(Error::template(
                Code::GenerationOutsideRound,
                &*turn.path,
                "a role that generates can't speak outside the rounds of messages; move the turn into round",
            ));
        }
        self.spoken.push(speak(role, self.dialect)?);
        Ok(())
    }

    fn string(&mut self, _: &Text, _: bool) {}
}

/// Return the meta template's `begin` as it is.
fn verbatim(begin: &Value) -> Result<Message> {
    let text = |s: &Arc<str>| vec![Piece::literal(s.clone(), Source::MetaBegin, None)];
    match begin {
        Value::Str(s) => Ok(Message::Bare(text(s))),
        Value::Dict(keys) => Ok(Message::Dict(
            keys.iter()
                .map(|(k, v)| {
                    let name: Arc<str> = k.key();
                    let slot = match v {
                        Value::Str(s) if &*name == keys::PROMPT => Slot::Text(text(s)),
                        other => Slot::Const(other.clone()),
                    };
                    (name, slot)
                })
                .collect(),
        )),
        other => Err(Error::template(
            Code::WrongType,
            "meta_template.begin",
            format!("expected a str or a turn among messages, found {}", other.type_name()),
        )),
    }
}

fn speak(role: &Turn, dialect: Dialect) -> Result<(Value, Slot)> {
    let Some(api_role) = role.constant(keys::API_ROLE) else {
        return Err(Error::template(Code::MissingApiRole, &*role.path, "the role needs an api_role for messages"));
    };
    if role.get(keys::PROMPT).is_none()
        && dialect.speaks_parts()
        && let Some(parts) = role.get(keys::PROMPT_MM)
    {
        let parts = match parts {
            Entry::Media(media) => Slot::Parts(media.clone()),
            Entry::Const(value) => Slot::Const(value.clone()),
            Entry::Text(_) | Entry::Bad(_) => Slot::Const(Value::None),
        };
        return Ok((api_role.clone(), parts));
    }
    if role.get(keys::PROMPT).is_none() && !dialect.empty_messages() {
        return Err(Error::template(
            Code::RoleWithoutPrompt,
            &*role.path,
            "the role has no prompt, and no turn of the dialogue gives it one; AISBench refuses such a message",
        ));
    }
    let name = role.constant(keys::ROLE).and_then(Value::as_text);
    let pieces = vec![
        Piece::literal(string(role, keys::BEGIN)?, Source::RoleBegin, name),
        Piece::new(prompt(role)?),
        Piece::literal(string(role, keys::END)?, Source::RoleEnd, name),
    ];
    Ok((api_role.clone(), Slot::Text(pieces)))
}
