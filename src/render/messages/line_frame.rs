//! The text around requests that are written as lines.

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePiece {
    /// The same text in each line.
    Literal(String),
    /// The request as JSON.
    Request,
    /// The number of the row.
    Row,
}

/// The pieces of a line around a request, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFrame {
    /// The pieces.
    pub pieces: Vec<FramePiece>,
}

impl LineFrame {
    /// Return true if lines show the number of their row.
    pub fn shows_row(&self) -> bool {
        self.pieces.contains(&FramePiece::Row)
    }
}
