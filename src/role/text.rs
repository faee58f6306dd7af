//! A dialogue laid over a meta template as text: the language-model parser.

use super::meta::{RoundItem, Rounds};
use super::request::Piece;
use super::rounds::{RoundPosition, generates, overlay, role_of, speaker, string, unknown_role};
use super::sections::{Parser, walk};
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Item, Source, Text, Turn, keys};
use crate::value::Value;

/// Return the prompt of a dialogue for a language model.
///
/// It follows OpenCompass's `LMTemplateParser.parse_template`, and its documentation where the code crashes: a fallback
/// role inside `round`, a reserved role inside `round`, and `end` together with a meta template.
///
/// # Errors
///
/// `TemplateError` for an unknown role, for examples spliced into `round`, and for a value that should be a string and
/// isn't.
pub fn to_text(items: &[Item], meta: &Rounds, generation: bool) -> Result<Vec<Piece>> {
    let mut parser =
        TextParser { meta, out: vec![section_string(meta.begin.as_ref(), keys::BEGIN, Source::MetaBegin)?] };
    if walk(items, meta, generation, &mut parser)? {
        parser.out.push(section_string(meta.end.as_ref(), keys::END, Source::MetaEnd)?);
    }
    Ok(parser.out)
}

/// The text so far.
struct TextParser<'m> {
    meta: &'m Rounds,
    out: Vec<Piece>,
}

impl Parser for TextParser<'_> {
    fn position(&self, turn: &Turn) -> Result<RoundPosition> {
        position(turn, self.meta)
    }

    fn round(&mut self, items: &[Item], stop: bool) -> Result<bool> {
        one_round(items, self.meta, stop, &mut self.out)
    }

    fn without_round(&mut self, items: &[Item], stop: bool) -> Result<bool> {
        turns_themselves(items, self.meta, stop, &mut self.out)
    }

    fn turn_outside_round(&mut self, _: &Turn, role: &Turn) -> Result<()> {
        speak(role, false, &mut self.out).map(|_| ())
    }

    fn string(&mut self, text: &Text, in_round: bool) {
        // If the meta template has no round, strings stay only outside rounds.
        if !(self.meta.has_no_round && in_round) {
            self.out.push(Piece::new(text.clone()));
        }
    }
}

fn section_string(value: Option<&Value>, key: &str, source: Source) -> Result<Piece> {
    match value {
        None => Ok(Piece::literal("", source, None)),
        Some(Value::Str(s)) => Ok(Piece::literal(s.clone(), source, None)),
        Some(other) => Err(Error::template(
            Code::WrongType,
            format!("meta_template.{key}"),
            format!("expected a str for a text prompt, found {}", other.type_name()),
        )),
    }
}

fn position(turn: &Turn, meta: &Rounds) -> Result<RoundPosition> {
    let role = role_of(turn)?;
    if let Some(index) = meta.position(role) {
        return Ok(RoundPosition::Item(index));
    }
    if meta.role(role).is_some() {
        return Ok(RoundPosition::Reserved);
    }
    let fallback = turn.constant(keys::FALLBACK_ROLE).and_then(|f| meta.position(f));
    fallback.map(RoundPosition::Item).ok_or_else(|| unknown_role(turn, meta))
}

/// Write the dialogue's turns if the meta template has no round. Returns true if the prompt goes on after them.
fn turns_themselves(items: &[Item], meta: &Rounds, stop: bool, out: &mut Vec<Piece>) -> Result<bool> {
    for item in items {
        match item {
            Item::Str(text) => out.push(Piece::new(text.clone())),
            Item::Turn(turn) if !turn.is_marker() => {
                if !speak(&meta.turn_as_role(turn), stop, out)? {
                    return Ok(false);
                }
            }
            Item::Bad(error) => return Err(error.clone()),
            Item::Marker { .. } | Item::Turn(_) => {}
        }
    }
    Ok(true)
}

/// Write one round. Returns true if the prompt goes on after it.
fn one_round(items: &[Item], meta: &Rounds, stop: bool, out: &mut Vec<Piece>) -> Result<bool> {
    let roles = overlay(items, meta)?;
    // A reserved role speaks at the position of its turn: after the turn before it, or at the start.
    let mut asides: Vec<(Option<usize>, Turn)> = Vec::new();
    let mut last = None;
    for item in items {
        if let Item::Turn(turn) = item {
            match position(turn, meta)? {
                RoundPosition::Item(index) => last = Some(index),
                RoundPosition::Reserved => {
                    let mut role = meta.roles[speaker(turn, meta)?].1.clone();
                    role.update(turn);
                    asides.push((last, role));
                }
            }
        }
    }
    let aside = |after: Option<usize>, out: &mut Vec<Piece>| -> Result<bool> {
        for (_, role) in asides.iter().filter(|(index, _)| *index == after) {
            if !speak(role, stop, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if !aside(None, out)? {
        return Ok(false);
    }
    for (n, item) in meta.round.iter().enumerate() {
        match item {
            RoundItem::Str(s) => out.push(Piece::literal(s.clone(), Source::MetaTemplate, None)),
            RoundItem::Role(role) => {
                if !speak(&roles[*role], stop, out)? {
                    return Ok(false);
                }
            }
        }
        if !aside(Some(n), out)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Write `begin + prompt + end` of a role; only `begin` if generation starts there. Returns true if the prompt goes on.
fn speak(role: &Turn, stop: bool, out: &mut Vec<Piece>) -> Result<bool> {
    let name = role.constant(keys::ROLE).and_then(Value::as_text);
    out.push(Piece::literal(string(role, keys::BEGIN)?, Source::RoleBegin, name));
    if stop && generates(role) {
        return Ok(false);
    }
    out.push(Piece::new(prompt(role)?));
    out.push(Piece::literal(string(role, keys::END)?, Source::RoleEnd, name));
    Ok(true)
}

/// Return a role's prompt: the dataset's, else the meta template's default.
///
/// # Errors
///
/// `TemplateError` if the default isn't a string.
pub(super) fn prompt(role: &Turn) -> Result<Text> {
    match role.get(keys::PROMPT) {
        Some(Entry::Text(text)) => Ok(text.clone()),
        _ => Ok(Piece::literal(
            string(role, keys::PROMPT)?,
            Source::RolePrompt,
            role.constant(keys::ROLE).and_then(Value::as_text),
        )
        .text),
    }
}
