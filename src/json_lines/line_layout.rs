//! What a line is made of.

use std::ops::Range;

use crate::render::{FramePiece, LineFrame};

/// A piece of each line. Columns are counted as the table has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The same bytes in each line.
    Literal(String),
    /// A column's value as JSON.
    Value(usize),
    /// A request as JSON: a text, or messages with the keys that they have.
    Request(usize),
    /// The items of a request that is a list, a comma behind each.
    Items(usize),
    /// Bytes and a column's value behind them; neither where the value is null.
    Member(String, usize),
    /// The text of a string column, which is JSON already.
    Json(usize),
    /// The text of a value, within a JSON string.
    Text(usize),
    /// The text of a value as it is, where lines are no JSON.
    Plain(usize),
    /// The number of the row.
    Row,
}

/// The pieces of a line, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineLayout {
    /// They name columns that are there.
    pub segments: Vec<Segment>,
    /// Which of them are the row's id.
    pub id: Range<usize>,
}

impl LineLayout {
    /// The layout as what stands around a request; None if it shows a column otherwise.
    pub fn frame(&self) -> Option<LineFrame> {
        let piece = |segment: &Segment| match segment {
            Segment::Literal(text) => Some(FramePiece::Literal(text.clone())),
            Segment::Request(_) => Some(FramePiece::Request),
            Segment::Row => Some(FramePiece::Row),
            _ => None,
        };
        Some(LineFrame { pieces: self.segments.iter().map(piece).collect::<Option<_>>()? })
    }
}
