//! Stretches of a request's messages and their origins; `explain` and the spans of all requests consist of them.

use crate::render::substitution::Traced;
use crate::render::traces::TracedMessage;
use crate::template::Origin;

/// A stretch of a message of a request, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginSpan {
    /// The number of the message; 0 for a text.
    pub message: usize,
    /// The number of the part within the message; None for a text.
    pub part: Option<usize>,
    /// The index of the first byte within the message's text.
    pub start: usize,
    /// The index after the last byte.
    pub end: usize,
    /// The origin of the bytes.
    pub origin: Origin,
}

/// Return the spans of a request's messages, without gaps.
pub(in crate::render) fn spans_of(messages: &[TracedMessage]) -> Vec<OriginSpan> {
    let mut out: Vec<OriginSpan> = Vec::new();
    for (message, content) in messages.iter().enumerate() {
        match content {
            TracedMessage::Text(text) => spans(message, None, text, &mut out),
            TracedMessage::Parts(parts) => {
                for (part, text) in parts.iter().enumerate() {
                    spans(message, Some(part), text, &mut out);
                }
            }
        }
    }
    out
}

fn spans(message: usize, part: Option<usize>, text: &Traced, out: &mut Vec<OriginSpan>) {
    let mut position = 0;
    for (piece, origin) in text {
        let end = position + piece.len();
        match out.last_mut() {
            Some(last) if (last.message, last.part) == (message, part) && last.origin == *origin => last.end = end,
            _ => out.push(OriginSpan { message, part, start: position, end, origin: origin.clone() }),
        }
        position = end;
    }
}
