//! Rendered texts, one after the other.

use super::pages::Bytes;
use super::text_offsets::TextOffsets;

/// The texts of some requests, one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    /// Where each text starts; one more than there are texts.
    pub offsets: TextOffsets,
    /// All texts.
    pub bytes: Bytes,
    /// Whether all of them are known to be copies, as rows are of which nothing was looked at one by one.
    pub is_plain: bool,
}
