//! Cuts a dialogue into rounds, each of which fills the meta template's round once.

use std::sync::Arc;

use super::meta::Rounds;
use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;
use crate::template::{Entry, Item, Turn, keys};
use crate::value::Value;

/// The meaning of a section marker.
pub(super) enum Mark<'a> {
    /// The begin of a section.
    Opens(&'a str),
    /// The end of the innermost section, which must have this name.
    Closes(&'a str),
}

/// Return the marker of an item, if it is one. A configuration may contain markers, too.
///
/// # Errors
///
/// `TemplateError` for a marker that is neither begin nor end, or of an unknown section.
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
                _ => {
                    Err(Error::template(Code::InvalidSection, &*turn.path, "not a section marker that a harness knows"))
                }
            }
        }
        _ => Ok(None),
    }
}

/// Return the role of a turn.
///
/// # Errors
///
/// `TemplateError` if it has none.
pub(super) fn role_of(turn: &Turn) -> Result<&Value> {
    turn.constant(keys::ROLE).ok_or_else(|| turn.lacks(keys::ROLE))
}

/// Return the error for a turn with an unknown role.
pub(super) fn unknown_role(turn: &Turn, meta: &Rounds) -> Error {
    let role = turn.constant(keys::ROLE).unwrap_or(&Value::None);
    if meta.role(role).is_some() {
        // Among messages, only the roles of the meta template's round have a position.
        let message = format!(
            "role {role} is only in reserved_roles, so it has no place in round; \
             give it a fallback_role of the round, or move it into begin or end"
        );
        return Error::template(Code::UnknownRole, &*turn.path, message);
    }
    let fallback = match turn.constant(keys::FALLBACK_ROLE) {
        Some(f) if f.truthy() => format!("and its fallback_role {f} can't take its place"),
        _ => "and has no fallback_role".to_owned(),
    };
    let role_names = meta.roles.iter().filter_map(|(name, _)| name.as_str());
    let hint = did_you_mean(role.as_str().unwrap_or_default(), role_names);
    let message = format!("role {role} is not in the meta template (it has {}) {fallback}{hint}", meta.names());
    Error::template(Code::UnknownRole, &*turn.path, message)
}

/// Return the index of the role that speaks for a turn: its own role, else its fallback role.
///
/// # Errors
///
/// `TemplateError` if the meta template has neither.
pub(super) fn speaker(turn: &Turn, meta: &Rounds) -> Result<usize> {
    let role = role_of(turn)?;
    meta.role(role)
        .or_else(|| meta.role(turn.constant(keys::FALLBACK_ROLE).filter(|f| f.truthy())?))
        .ok_or_else(|| unknown_role(turn, meta))
}

/// The position of a turn in the round.
pub(super) enum RoundPosition {
    /// The turn belongs to this item of the meta template's round.
    Item(usize),
    /// The turn has no position, because its role is reserved.
    Reserved,
}

/// Cut a dialogue into rounds: a role at the same or an earlier position starts a new round. Turns for which `position`
/// returns [`RoundPosition::Reserved`] don't count. There is always at least one round, even if it is empty.
///
/// # Errors
///
/// The errors of `position`; `TemplateError` for a section within the dialogue (examples spliced into `round`).
pub(super) fn split(items: &[Item], position: impl Fn(&Turn) -> Result<RoundPosition>) -> Result<Vec<&[Item]>> {
    let mut rounds = Vec::new();
    let (mut start, mut last) = (0, None);
    for (n, item) in items.iter().enumerate() {
        match item {
            Item::Str(_) => {}
            Item::Turn(turn) => {
                if let RoundPosition::Item(index) = position(turn)? {
                    if last.is_some_and(|last| index <= last) {
                        rounds.push(&items[start..n]);
                        start = n;
                    }
                    last = Some(index);
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

/// Return the roles for one round: the meta template's roles, overridden by the dataset's turns.
///
/// # Errors
///
/// `TemplateError` for a turn whose role and fallback role aren't in the meta template.
pub(super) fn overlay(items: &[Item], meta: &Rounds) -> Result<Vec<Turn>> {
    let mut roles: Vec<Turn> = meta.roles.iter().map(|(_, turn)| turn.clone()).collect();
    for item in items {
        if let Item::Turn(turn) = item {
            roles[speaker(turn, meta)?].update(turn);
        }
    }
    Ok(roles)
}

/// Return the string under `key` of a role; an empty one if the key is absent.
///
/// # Errors
///
/// `TemplateError` if it isn't a string, or has a token id without text.
pub(super) fn string(role: &Turn, key: &str) -> Result<Arc<str>> {
    match role.get(key) {
        None => Ok(Arc::default()),
        Some(Entry::Const(Value::Str(s))) => Ok(s.clone()),
        Some(Entry::Const(other)) => Err(Error::template(
            Code::WrongType,
            format!("{}.{key}", role.path),
            format!("expected a str for {key:?}, found {}", other.type_name()),
        )),
        Some(Entry::Bad(error)) => Err(error.clone()),
        Some(Entry::Text(_) | Entry::Media(_)) => Ok(Arc::default()),
    }
}

/// Return true if a role generates.
pub(super) fn generates(role: &Turn) -> bool {
    role.constant(keys::GENERATE).is_some_and(Value::truthy)
}
