//! The engine that encodes texts.

/// Encodes texts, in which added tokens may stand that aren't [`super::TokenKind::Special`].
///
/// The ids are to be those of the library `tokenizers`. Compare an engine with that library before it is
/// used. Then it may be exchanged for another without a change elsewhere.
pub trait Engine: Send + Sync {
    /// Append the ids of a text, without special tokens around them.
    ///
    /// # Errors
    ///
    /// The engine's message for a text that it can't encode. Ids that it has appended until then don't count.
    fn encode(&self, text: &str, ids: &mut Vec<i32>) -> Result<(), String>;
}
