//! The requests of a conversation.

/// The requests of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InferMode {
    /// One for the whole conversation: the inferencer doesn't use turns.
    Whole,
    /// One for each turn, with the true answers before it.
    EveryWithGt,
    /// One for the last turn.
    Last,
    /// One for each turn, with the model's replies before it.
    Every,
}

impl InferMode {
    /// The modes that users can give, by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("every", Self::Every), ("last", Self::Last), ("every_with_gt", Self::EveryWithGt)];

    /// Return the name of the mode; None if the inferencer knows no turns.
    pub fn name(self) -> Option<&'static str> {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map(|(name, _)| *name)
    }
}
