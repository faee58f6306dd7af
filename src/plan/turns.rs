//! Requests of a conversation, before the sample is known.
//!
//! A pair of question and answer is to a conversation what an example is to a prompt: texts in a frame, rendered once
//! for all requests that hold them. So a request has as many places as pairs, and after them one for each reply.

use super::config::Config;
use super::recipe::dialogue_request;
use crate::error::Result;
use crate::role::Request;
use crate::template::{Entry, Item, Text, Turn, Turns};

/// Which requests a conversation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InferMode {
    /// The whole conversation at once: an inferencer that knows no turns.
    Whole,
    /// One a turn, with the true answers before it.
    EveryWithGt,
    /// The last turn's.
    Last,
    /// One a turn, with the model's own replies before it.
    Every,
}

/// The end of a request: the pair and the item of its round that the model is to write; None for whole conversations.
pub type Cut = Option<(usize, usize)>;

/// The request of `pairs` pairs up to `cut`. With `replies`, the model's replies stand in its turns before the cut:
/// in places `pairs`, `pairs + 1`, …
///
/// # Errors
///
/// `TemplateError` for whatever the parser refuses.
pub fn turn_recipe(turns: &Turns, config: &Config, pairs: usize, cut: Cut, replies: bool) -> Result<Request> {
    let mut items = Vec::new();
    let finished = |item: &Item| match item {
        Item::Turn(turn) => {
            let mut part = 0;
            Item::Turn(with_texts(turn, &mut part, |_, old| old.clone().finished()))
        }
        other => other.clone(),
    };
    let open = |section, items: &mut Vec<Item>| items.push(Item::Marker { section, opens: true });
    let close = |section, items: &mut Vec<Item>| items.push(Item::Marker { section, opens: false });
    if let Some(begin) = &turns.dialogue.begin {
        open("begin", &mut items);
        items.extend(begin.iter().map(finished));
        close("begin", &mut items);
    }
    open("round", &mut items);
    let mut reply = pairs as u32;
    for pair in 0..pairs {
        let mut part = 0;
        for (n, item) in turns.dialogue.round.iter().enumerate() {
            if cut == Some((pair, n)) {
                break;
            }
            let Item::Turn(turn) = item else { continue };
            let slot = pair as u32;
            let mut turn = with_texts(turn, &mut part, |part, _| example(slot, part));
            if replies && turns.bots.contains(&n) {
                set_prompt(&mut turn, example(reply, 0));
                reply += 1;
            }
            items.push(Item::Turn(turn));
        }
    }
    close("round", &mut items);
    if let Some(end) = &turns.dialogue.end {
        open("end", &mut items);
        items.extend(end.iter().map(finished));
        close("end", &mut items);
    }
    dialogue_request(config, items, true)
}

/// Requests that have all that a conversation's requests can have: none of its turns, the first pairs of it cut behind each
/// item, and whole. Later pairs repeat the second one.
pub fn turn_shapes(turns: &Turns, config: &Config) -> Vec<Request> {
    let cuts = (0..2).flat_map(|pair| (0..turns.dialogue.round.len()).map(move |item| (pair + 1, Some((pair, item)))));
    let shapes = [(0, None), (2, None)].into_iter().chain(cuts);
    let replies = config.infer_mode == InferMode::Every;
    // What the parser refuses is said when it is asked for.
    shapes.filter_map(|(pairs, cut)| turn_recipe(turns, config, pairs, cut, replies).ok()).collect()
}

fn example(slot: u32, part: u32) -> Text {
    Text::example(slot, part).finished()
}

fn with_texts(turn: &Turn, part: &mut u32, mut text: impl FnMut(u32, &Text) -> Text) -> Turn {
    let mut turn = turn.clone();
    for (name, entry) in &mut turn.keys {
        if let (true, Entry::Text(old)) = (&**name == "prompt", entry) {
            *old = text(*part, old);
            *part += 1;
        }
    }
    turn
}

fn set_prompt(turn: &mut Turn, text: Text) {
    match turn.keys.iter_mut().find(|(name, _)| &**name == "prompt") {
        Some((_, entry)) => *entry = Entry::Text(text),
        None => turn.keys.push(("prompt".into(), Entry::Text(text))),
    }
}
