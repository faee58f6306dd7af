//! Walks through a dialogue's sections, for both parsers.

use super::meta::Rounds;
use super::rounds::{Mark, RoundPosition, mark, speaker, split};
use crate::error::{Code, Error, Result};
use crate::template::{Item, Text, Turn};

/// A parser that receives the parts of a dialogue from the walk.
pub(super) trait Parser {
    /// Return the position of a turn in the meta template's round.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a role without a position.
    fn position(&self, turn: &Turn) -> Result<RoundPosition>;

    /// Process one round of a dialogue. With `stop`, the prompt ends at a generating role. Returns true if the prompt
    /// goes on.
    ///
    /// # Errors
    ///
    /// `TemplateError` for an item that can't be rendered.
    fn round(&mut self, items: &[Item], stop: bool) -> Result<bool>;

    /// Process a dialogue's turns if the meta template has no round; otherwise the same as [`Self::round`].
    ///
    /// # Errors
    ///
    /// `TemplateError` for an item that can't be rendered.
    fn without_round(&mut self, items: &[Item], stop: bool) -> Result<bool>;

    /// Process a turn of `begin` or `end`, with the role that speaks it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a turn that can't be rendered.
    fn turn_outside_round(&mut self, turn: &Turn, role: &Turn) -> Result<()>;

    /// Process a bare string; `in_round` is true if it is among rounds.
    fn string(&mut self, text: &Text, in_round: bool);
}

/// Walk through a dialogue's items. Returns true if the prompt goes on after them.
///
/// # Errors
///
/// The errors of the parser; `TemplateError` for a turn outside all sections, and for a section that ends without a
/// begin.
pub(super) fn walk(items: &[Item], meta: &Rounds, generation: bool, parser: &mut impl Parser) -> Result<bool> {
    let mut sections: Vec<(&str, usize)> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        match mark(item)? {
            Some(Mark::Opens(section)) => sections.push((section, n + 1)),
            Some(Mark::Closes(section)) => {
                let Some((name, start)) = sections.pop().filter(|(name, _)| *name == section) else {
                    let message = format!("section {section:?} ends but never began");
                    return Err(Error::template(Code::InvalidSection, "prompt_template", message));
                };
                if is_rounds(name) && !section_goes_on(&items[start..n], meta, generation && name == "round", parser)? {
                    return Ok(false);
                }
            }
            None => match item {
                Item::Str(text) => parser.string(text, sections.last().is_some_and(|(name, _)| is_rounds(name))),
                Item::Turn(turn) => match sections.last() {
                    Some(("begin" | "end", _)) => parser.turn_outside_round(turn, &role(turn, meta)?)?,
                    Some(_) => {}
                    None => {
                        let message = "the turn stands outside every section";
                        return Err(Error::template(Code::InvalidSection, &*turn.path, message));
                    }
                },
                Item::Bad(error) => return Err(error.clone()),
                Item::Marker { .. } => {}
            },
        }
    }
    Ok(true)
}

/// Return true if a section is cut into rounds: the dialogue's rounds, and examples spliced into it.
fn is_rounds(section: &str) -> bool {
    section == "round" || section == "ice"
}

/// Process a section of rounds. The last round may stop where the model generates.
fn section_goes_on(items: &[Item], meta: &Rounds, stop: bool, parser: &mut impl Parser) -> Result<bool> {
    if meta.has_no_round {
        return parser.without_round(items, stop);
    }
    let rounds = split(items, |turn| parser.position(turn))?;
    let last = rounds.len() - 1;
    let mut going = true;
    for (n, round) in rounds.into_iter().enumerate() {
        going = parser.round(round, stop && n == last)?;
    }
    Ok(going)
}

/// Return the role that speaks a turn outside rounds.
fn role(turn: &Turn, meta: &Rounds) -> Result<Turn> {
    if meta.has_no_round {
        return Ok(meta.turn_as_role(turn));
    }
    let mut role = meta.roles[speaker(turn, meta)?].1.clone();
    role.update(turn);
    Ok(role)
}
