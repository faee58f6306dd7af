//! Builds the requests of a conversation, before the sample is known.
//!
//! A pair of question and answer is to a conversation what an example is to a prompt: texts in a frame, rendered once
//! for all requests that contain them. So a request has one fragment for each pair, and after them one for each reply.

use std::sync::Arc;

use super::config::Config;
use super::infer_mode::InferMode;
use super::to_request::to_request;
use crate::error::Result;
use crate::output::Prompt;
use crate::role::Request;
use crate::template::{Entry, FragmentSet, Item, Text, Turn, Turns, keys};
use crate::value::Value;

/// The end of a request: the pair, and the item of its round that the model has to write. None for whole conversations.
pub type Cut = Option<(usize, usize)>;

/// Build the request of `pairs` pairs up to `cut`. With `replies`, the model's replies replace its turns before the
/// cut, as the fragments `pairs`, `pairs + 1`, …
///
/// # Errors
///
/// `TemplateError` for a value that the parser refuses.
pub fn build_turn_request(turns: &Turns, config: &Config, pairs: usize, cut: Cut, replies: bool) -> Result<Request> {
    let finished = |item: &Item| match item {
        Item::Turn(turn) => {
            let mut part = 0;
            Item::Turn(with_texts(turn, &mut part, |_, old| old.clone().finalized()))
        }
        other => other.clone(),
    };
    let mut items = Vec::new();
    for (section, section_items) in turns.dialogue.sections() {
        if section == "round" {
            Item::section(section, pair_turns(turns, pairs, cut, replies), &mut items);
        } else {
            Item::section(section, section_items.iter().map(finished).collect(), &mut items);
        }
    }
    to_request(config, Prompt::Dialogue(items, true))
}

/// Return the turns of the pairs up to the cut.
fn pair_turns(turns: &Turns, pairs: usize, cut: Cut, replies: bool) -> Vec<Item> {
    let mut out = Vec::new();
    let mut reply = pairs as u32;
    for pair in 0..pairs {
        let mut part = 0;
        for (n, item) in turns.dialogue.round.iter().enumerate() {
            if cut == Some((pair, n)) {
                break;
            }
            let Item::Turn(turn) = item else { continue };
            let slot = pair as u32;
            let mut turn = with_texts(turn, &mut part, |part, old| fragment(slot, part, old.speaker()));
            if replies && turns.bots.contains(&n) {
                let speaker = turn.constant(keys::ROLE).and_then(Value::as_text).cloned();
                set_prompt(&mut turn, fragment(reply, 0, speaker.as_ref()));
                reply += 1;
            }
            out.push(Item::Turn(turn));
        }
    }
    out
}

/// Return requests that together have everything that a conversation's requests can have: no turns, the first pairs cut
/// after each item, and the whole conversation. Later pairs repeat the second one.
pub fn turn_request_shapes(turns: &Turns, config: &Config) -> Vec<Request> {
    let cuts = (0..2).flat_map(|pair| (0..turns.dialogue.round.len()).map(move |item| (pair + 1, Some((pair, item)))));
    let shapes = [(0, None), (2, None)].into_iter().chain(cuts);
    let replies = config.infer_mode == InferMode::Every;
    // A request that the parser refuses is reported when it is needed.
    shapes.filter_map(|(pairs, cut)| build_turn_request(turns, config, pairs, cut, replies).ok()).collect()
}

fn fragment(slot: u32, part: u32, speaker: Option<&Arc<str>>) -> Text {
    Text::fragment(FragmentSet::Batch, slot, part).spoken_by(speaker).finalized()
}

fn with_texts(turn: &Turn, part: &mut u32, mut text: impl FnMut(u32, &Text) -> Text) -> Turn {
    let mut turn = turn.clone();
    for (name, entry) in &mut turn.keys {
        if let (true, Entry::Text(old)) = (&**name == keys::PROMPT, entry) {
            *old = text(*part, old);
            *part += 1;
        }
    }
    turn
}

fn set_prompt(turn: &mut Turn, text: Text) {
    match turn.keys.iter_mut().find(|(name, _)| &**name == keys::PROMPT) {
        Some((_, entry)) => *entry = Entry::Text(text),
        None => turn.keys.push((keys::PROMPT.into(), Entry::Text(text))),
    }
}
