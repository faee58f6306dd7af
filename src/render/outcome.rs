//! What rendering some rows gives.

use arrow_array::ArrayRef;

/// The output columns of some rows, one value a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// First row that the requests are of.
    pub start: usize,
    /// Number of rows.
    pub rows: usize,
    /// The sample of each request, where a sample has none or several (conversations).
    pub samples: Option<ArrayRef>,
    /// The turn column of conversations.
    pub turns: Option<ArrayRef>,
    /// The label column, in ppl mode.
    pub labels: Option<ArrayRef>,
    /// The prompts.
    pub prompts: ArrayRef,
}
