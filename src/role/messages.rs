//! A dialogue laid over a meta template as messages: the API parser.

use std::sync::Arc;

use super::meta::{RoundItem, Rounds};
use super::request::{Message, Piece, Slot};
use super::rounds::{Mark, RoundPlace, generates, mark, overlay, role_of, speaker, split, string, unknown_role};
use super::text::prompt;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Item, Source, Turn, keys};
use crate::value::Value;

/// The messages of a dialogue for an API.
///
/// Follows OpenCompass's `APITemplateParser.parse_template`, and its documentation where the code crashes (`end`
/// together with a meta template). AISBench's parts of a turn without a prompt become the message's `parts`. Strings vanish, and so does a reserved role's text inside `round`.
///
/// # Errors
///
/// `TemplateError` for a role that nobody knows or that has no `api_role`, for examples spliced into `round`, for a
/// string in the meta template's round, for a generating role in `begin` or `end`, and for a dialogue without messages.
pub fn to_messages(items: &[Item], meta: &Rounds, generation: bool, dialect: Dialect) -> Result<Vec<Message>> {
    let mut spoken: Vec<(Value, Slot)> = Vec::new();
    let mut sections: Vec<(&str, usize)> = Vec::new();
    let mut going = true;
    for (n, item) in items.iter().enumerate() {
        if !going {
            break;
        }
        match mark(item)? {
            Some(Mark::Opens(section)) => sections.push((section, n + 1)),
            Some(Mark::Closes(section)) => {
                let Some((name, start)) = sections.pop().filter(|(name, _)| *name == section) else {
                    return Err(Error::template(
                        Code::InvalidSection,
                        "prompt_template",
                        format!("section {section:?} ends but never began"),
                    ));
                };
                if meta.has_no_round && (name == "round" || name == "ice") {
                    for item in &items[start..n] {
                        let Item::Turn(turn) = item else { continue };
                        let role = meta.turn_as_role(turn);
                        if generation && name == "round" && generates(&role) {
                            going = false;
                            break;
                        }
                        spoken.push(speak(&role, dialect)?);
                    }
                } else if name == "round" || name == "ice" {
                    let rounds = split(&items[start..n], |turn| place(turn, meta))?;
                    let last = rounds.len() - 1;
                    for (r, round) in rounds.into_iter().enumerate() {
                        let stop = generation && r == last && name == "round";
                        going = one_round(round, meta, stop, dialect, &mut spoken)?;
                    }
                }
            }
            None => match item {
                Item::Turn(turn) => match sections.last() {
                    Some(("begin" | "end", _)) => {
                        let role = if meta.has_no_round {
                            meta.turn_as_role(turn)
                        } else {
                            let mut role = meta.roles[speaker(turn, meta)?].1.clone();
                            role.update(turn);
                            role
                        };
                        if generation && generates(&role) {
                            return Err(Error::template(
                                Code::GenerationOutsideRound,
                                &*turn.place,
                                "a role that generates can't speak outside the rounds of messages; \
                                 move the turn into round",
                            ));
                        }
                        spoken.push(speak(&role, dialect)?);
                    }
                    Some(_) => {}
                    None => {
                        return Err(Error::template(
                            Code::InvalidSection,
                            &*turn.place,
                            "the turn stands outside every section",
                        ));
                    }
                },
                Item::Bad(error) => return Err(error.clone()),
                Item::Str(_) | Item::Marker { .. } => {}
            },
        }
    }
    let mut out: Vec<(Value, Slot)> = Vec::new();
    for (role, said) in spoken {
        match out.last_mut() {
            Some((last, before)) if last.equals(&role) => match (before, said) {
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
            _ => out.push((role, said)),
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
    messages.extend(out.into_iter().map(|(role, said)| {
        let key = if matches!(said, Slot::Text(_)) { keys::PROMPT } else { keys::PARTS };
        Message::Dict(vec![(Arc::from(keys::ROLE), Slot::Const(role)), (Arc::from(key), said)])
    }));
    Ok(messages)
}

/// The meta template's `begin` goes in as it is.
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

fn place(turn: &Turn, meta: &Rounds) -> Result<RoundPlace> {
    let role = role_of(turn)?;
    let fallback = || turn.constant(keys::FALLBACK_ROLE).and_then(|f| meta.place(f));
    meta.place(role).or_else(fallback).map(RoundPlace::At).ok_or_else(|| unknown_role(turn, meta))
}

fn one_round(
    items: &[Item],
    meta: &Rounds,
    stop: bool,
    dialect: Dialect,
    out: &mut Vec<(Value, Slot)>,
) -> Result<bool> {
    let roles = overlay(items, meta)?;
    for item in &meta.round {
        match item {
            RoundItem::Str(_) => {
                return Err(Error::template(
                    Code::StringWithoutRole,
                    "meta_template.round",
                    "a str without a role can't stand among messages; give it a role",
                ));
            }
            RoundItem::Role(role) => {
                let role = &roles[*role];
                if stop && generates(role) {
                    return Ok(false);
                }
                out.push(speak(role, dialect)?);
            }
        }
    }
    Ok(true)
}

fn speak(role: &Turn, dialect: Dialect) -> Result<(Value, Slot)> {
    let Some(api_role) = role.constant(keys::API_ROLE) else {
        return Err(Error::template(Code::MissingApiRole, &*role.place, "the role needs an api_role for messages"));
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
            &*role.place,
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
