//! The text of a missing value.

use arrow_buffer::NullBuffer;

/// The text of a missing value.
pub const NONE: &[u8] = b"None";

/// Whether row `row` is null; if so its text is appended.
#[inline]
pub(super) fn is_none(nulls: Option<&NullBuffer>, row: usize, out: &mut Vec<u8>) -> bool {
    let null = nulls.is_some_and(|nulls| nulls.is_null(row));
    if null {
        out.extend_from_slice(NONE);
    }
    null
}
