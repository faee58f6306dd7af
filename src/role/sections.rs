//! The walk through a dialogue's sections, which both parsers take.

use super::meta::Rounds;
use super::rounds::{Mark, RoundPlace, mark, speaker, split};
use crate::error::{Code, Error, Result};
use crate::template::{Item, Text, Turn};

/// What a parser makes of what the walk passes.
pub(super) trait Parser {
    /// Where a turn counts in the meta template's round.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a role that has no place.
    fn place(&self, turn: &Turn) -> Result<RoundPlace>;

    /// One round of a dialogue; `stop`: where a generating role comes, it ends. Returns whether the prompt goes on.
    ///
    /// # Errors
    ///
    /// `TemplateError` for what can't be rendered.
    fn round(&mut self, items: &[Item], stop: bool) -> Result<bool>;

    /// A dialogue's own turns, where the meta template has no round; as [`Self::round`].
    ///
    /// # Errors
    ///
    /// `TemplateError` for what can't be rendered.
    fn without_round(&mut self, items: &[Item], stop: bool) -> Result<bool>;

    /// A turn of `begin` or `end`, with the role that speaks it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for what can't be rendered.
    fn turn_outside_round(&mut self, turn: &Turn, role: &Turn) -> Result<()>;

    /// A bare string, and whether it stands among rounds.
    fn string(&mut self, text: &Text, in_round: bool);
}

/// Walk through a dialogue's items. Returns whether the prompt goes on behind them.
///
/// # Errors
///
/// What the parser returns; `TemplateError` for a turn outside every section, and for a section that ends unbegun.
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
                        return Err(Error::template(Code::InvalidSection, &*turn.place, message));
                    }
                },
                Item::Bad(error) => return Err(error.clone()),
                Item::Marker { .. } => {}
            },
        }
    }
    Ok(true)
}

/// Whether a section is cut into rounds: the dialogue's, and examples spliced into it.
fn is_rounds(section: &str) -> bool {
    section == "round" || section == "ice"
}

/// A section of rounds; the last one may stop where the model writes on.
fn section_goes_on(items: &[Item], meta: &Rounds, stop: bool, parser: &mut impl Parser) -> Result<bool> {
    if meta.has_no_round {
        return parser.without_round(items, stop);
    }
    let rounds = split(items, |turn| parser.place(turn))?;
    let last = rounds.len() - 1;
    let mut going = true;
    for (n, round) in rounds.into_iter().enumerate() {
        going = parser.round(round, stop && n == last)?;
    }
    Ok(going)
}

/// The role that speaks a turn outside rounds.
fn role(turn: &Turn, meta: &Rounds) -> Result<Turn> {
    if meta.has_no_round {
        return Ok(meta.turn_as_role(turn));
    }
    let mut role = meta.roles[speaker(turn, meta)?].1.clone();
    role.update(turn);
    Ok(role)
}
