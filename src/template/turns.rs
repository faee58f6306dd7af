//! `MultiTurnPromptTemplate`: one dialogue template, filled once for each pair of question and answer.

use super::keys;
use super::prompt::{Dialogue, PromptTemplate, only_dialogue};
use super::text::Text;
use super::turn::Item;
use crate::error::{Code, Error, Result};
use crate::value::Value;

/// A conversation's dialogue template.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Its sections.
    pub dialogue: Dialogue,
    /// The indices of the round's items that the model speaks.
    pub bots: Vec<usize>,
    /// Its ICE token. Examples are ignored, but the harness requires the token if there is an ICE template.
    pub ice_token: Option<String>,
    /// The path in the configuration.
    pub path: String,
}

impl Turns {
    /// Check a template for conversations.
    ///
    /// # Errors
    ///
    /// `TemplateError` if it isn't a dialogue, or if one of its items isn't a turn: the harness looks for sections in
    /// each.
    pub fn new(template: PromptTemplate) -> Result<Self> {
        let PromptTemplate { sections, ice_token, path, .. } = template;
        let dialogue = only_dialogue(sections, &path, "a conversation needs a dialogue template with a round")?;
        for (name, items) in dialogue.sections() {
            for item in items {
                match item {
                    Item::Bad(error) => return Err(error.clone()),
                    Item::Str(_) => {
                        return Err(Error::template(
                            Code::StringWithoutRole,
                            format!("{path}.{name}"),
                            "a conversation is made of turns (dicts with a role); a bare str has no place in it",
                        ));
                    }
                    Item::Turn(turn) if name == "round" && turn.get(keys::ROLE).is_none() => {
                        return Err(turn.lacks(keys::ROLE));
                    }
                    _ => {}
                }
            }
        }
        let speaks = |item: &Item| matches!(item, Item::Turn(t) if t.constant(keys::ROLE).and_then(Value::as_str) == Some("BOT"));
        let bots = dialogue.round.iter().enumerate().filter(|(_, item)| speaks(item)).map(|(n, _)| n).collect();
        Ok(Self { dialogue, bots, ice_token, path })
    }

    /// Return the texts of the round that question and answer are filled into, in order: a pair's parts.
    pub fn parts(&self) -> Vec<&Text> {
        self.dialogue.round.iter().filter_map(|i| if let Item::Turn(t) = i { t.prompt() } else { None }).collect()
    }

    /// Return the number of turns in a conversation of `pairs` pairs.
    pub fn count(&self, pairs: usize) -> usize {
        pairs * self.bots.len()
    }

    /// Return the end of the request for turn `turn`: its pair, and the index of the round's item.
    pub fn cut(&self, turn: usize) -> (usize, usize) {
        (turn / self.bots.len(), self.bots[turn % self.bots.len()])
    }
}
