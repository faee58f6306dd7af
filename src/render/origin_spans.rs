//! Stretches of a request's messages and where they come from; `explain` and the spans of all requests are made of them.

use super::substitution::Traced;
use super::traced_request::TracedMessage;
use crate::template::Origin;

/// A stretch of one message of a request, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginSpan {
    /// Number of the message; 0 for a text.
    pub message: usize,
    /// Number of the part within the message; None for a text.
    pub part: Option<usize>,
    /// First byte within the message's text.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// Where it comes from.
    pub origin: Origin,
}

/// Return the spans of a request's messages, without gaps.
pub(super) fn spans_of(messages: &[TracedMessage]) -> Vec<OriginSpan> {
    let mut out: Vec<OriginSpan> = Vec::new();
    for (message, said) in messages.iter().enumerate() {
        match said {
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
    let mut at = 0;
    for (piece, origin) in text {
        let end = at + piece.len();
        match out.last_mut() {
            Some(last) if (last.message, last.part) == (message, part) && last.origin == *origin => last.end = end,
            _ => out.push(OriginSpan { message, part, start: at, end, origin: origin.clone() }),
        }
        at = end;
    }
}
