//! The layout of a line: its segments.

use std::ops::Range;

use crate::render::{FramePiece, LineFrame};

/// A piece of each line. Columns are identified by their index in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The same bytes in each line.
    Literal(String),
    /// A column's value as JSON.
    Value(usize),
    /// A request as JSON: a text, or messages with their own keys.
    Request(usize),
    /// The items of a request that is a list, with a comma after each.
    Items(usize),
    /// Bytes, followed by a column's value; neither is written if the value is null.
    Member(String, usize),
    /// The text of a string column, which is JSON already.
    Json(usize),
    /// The text of a value, within a JSON string.
    Text(usize),
    /// The text of a value as it is, for lines that aren't JSON.
    Plain(usize),
    /// The row's number.
    Row,
}

/// The pieces of a line, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineLayout {
    /// The segments; the columns that they name exist.
    pub segments: Vec<Segment>,
    /// The range of the segments that are the row's id.
    pub id: Range<usize>,
}

impl LineLayout {
    /// Return the layout as a frame around a request; None if it writes any other value of a column.
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
