//! Which requests a conversation gives.

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
