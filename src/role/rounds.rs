//! Sections and rounds: which turns of a dialogue the meta template's round is laid over together.

use std::sync::Arc;

use super::meta::Rounds;
use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::template::{Entry, Item, Turn, keys};
use crate::value::Value;

/// What a section marker says.
pub(super) enum Mark<'a> {
    /// A section begins here.
    Opens(&'a str),
    /// The innermost section, which must have this name, ends here.
    Closes(&'a str),
}

/// The marker that an item is, if it is one. A configuration may hold markers of its own.
///
/// # Errors
///
/// `TemplateError` for a marker that is neither begin nor end, or of no known section.
pub(super) fn mark(item: &Item) -> Result<Option<Mark<'_>>> {
    match item {
        Item::Marker { section, opens: true } => Ok(Some(Mark::Opens(section))),
        Item::Marker { section, opens: false } => Ok(Some(Mark::Closes(section))),
        Item::Turn(turn) if turn.get(keys::SECTION).is_some() => {
            let word = |key| turn.constant(key).and_then(Value::as_str).unwrap_or_default();
            let section = word(keys::SECTION);
            match word(keys::POS) {
                "end" => Ok(Some(Mark::Closes(section))),
                "begin" if ["begin", "round", "end", "ice"].contains(&section) => Ok(Some(Mark::Opens(section))),
                _ => Err(Error::template(
                    Code::InvalidSection,
                    &*turn.place,
                    "not a section marker that a harness knows",
                )),
            }
        }
        _ => Ok(None),
    }
}

/// The role of a turn.
///
/// # Errors
///
/// `TemplateError` if it has none.
pub(super) fn role_of(turn: &Turn) -> Result<&Value> {
    turn.constant(keys::ROLE).ok_or_else(|| turn.lacks(keys::ROLE))
}

/// A turn whose role nobody knows.
pub(super) fn unknown_role(turn: &Turn, meta: &Rounds) -> Error {
    let role = turn.constant(keys::ROLE).unwrap_or(&Value::None);
    if meta.role(role).is_some() {
        // Messages have a place only for roles of the meta template's round.
        let message = format!(
            "role {role} is only in reserved_roles, so it has no place in round; \
             give it a fallback_role of the round, or move it into begin or end"
        );
        return Error::template(Code::UnknownRole, &*turn.place, message);
    }
    let fallback = match turn.constant(keys::FALLBACK_ROLE) {
        Some(f) if f.truthy() => format!("and its fallback_role {f} can't take its place"),
        _ => "and has no fallback_role".to_owned(),
    };
    let known = meta.roles.iter().filter_map(|(name, _)| name.as_str());
    let hint = did_you_mean(role.as_str().unwrap_or_default(), known);
    let message = format!("role {role} is not in the meta template (it has {}) {fallback}{hint}", meta.names());
    Error::template(Code::UnknownRole, &*turn.place, message)
}

/// The place of the role that speaks for a turn: its own, else its fallback's.
///
/// # Errors
///
/// `TemplateError` if the meta template has neither.
pub(super) fn speaker(turn: &Turn, meta: &Rounds) -> Result<usize> {
    let own = role_of(turn)?;
    meta.role(own)
        .or_else(|| meta.role(turn.constant(keys::FALLBACK_ROLE).filter(|f| f.truthy())?))
        .ok_or_else(|| unknown_role(turn, meta))
}

/// Where a turn counts in the round.
pub(super) enum RoundPlace {
    /// At this item of the meta template's round.
    At(usize),
    /// Nowhere: the role is reserved.
    Reserved,
}

/// Cut a dialogue into rounds: a role at the same or an earlier place starts a new one. Turns for which `place` says
/// [`RoundPlace::Reserved`] take no part. There is always at least one round, if only an empty one.
///
/// # Errors
///
/// Whatever `place` returns; and `TemplateError` for a section within the dialogue (examples spliced into `round`).
pub(super) fn split(items: &[Item], place: impl Fn(&Turn) -> Result<RoundPlace>) -> Result<Vec<&[Item]>> {
    let mut rounds = Vec::new();
    let (mut start, mut last) = (0, None);
    for (n, item) in items.iter().enumerate() {
        match item {
            Item::Str(_) => {}
            Item::Turn(turn) => {
                if let RoundPlace::At(at) = place(turn)? {
                    if last.is_some_and(|last| at <= last) {
                        rounds.push(&items[start..n]);
                        start = n;
                    }
                    last = Some(at);
                }
            }
            Item::Marker { .. } => {
                return Err(Error::template(
                    Code::IncompatibleExamples,
                    "prompt_template.round",
                    "examples of a dialogue ICE template can't stand inside round when there is a meta template; \
                     put the ice_token into begin",
                ));
            }
            Item::Bad(error) => return Err(error.clone()),
        }
    }
    rounds.push(&items[start..]);
    Ok(rounds)
}

/// The roles as they speak in one round: the meta template's, overridden by the dataset's turns.
///
/// # Errors
///
/// `TemplateError` for a turn whose role, and whose fallback, the meta template lacks.
pub(super) fn overlay(items: &[Item], meta: &Rounds) -> Result<Vec<Turn>> {
    let mut roles: Vec<Turn> = meta.roles.iter().map(|(_, turn)| turn.clone()).collect();
    for item in items {
        if let Item::Turn(turn) = item {
            roles[speaker(turn, meta)?].update(turn);
        }
    }
    Ok(roles)
}

/// A string under `key` of a role; absent is empty.
///
/// # Errors
///
/// `TemplateError` if it is no string, or holds a token id without text.
pub(super) fn string(role: &Turn, key: &str) -> Result<Arc<str>> {
    match role.get(key) {
        None => Ok(Arc::default()),
        Some(Entry::Const(Value::Str(s))) => Ok(s.clone()),
        Some(Entry::Const(other)) => Err(Error::template(
            Code::WrongType,
            format!("{}.{key}", role.place),
            format!("expected a str for {key:?}, found {}", other.type_name()),
        )),
        Some(Entry::Bad(error)) => Err(error.clone()),
        Some(Entry::Text(_) | Entry::Media(_)) => Ok(Arc::default()),
    }
}

/// Whether a role generates.
pub(super) fn generates(role: &Turn) -> bool {
    role.constant(keys::GENERATE).is_some_and(Value::truthy)
}
