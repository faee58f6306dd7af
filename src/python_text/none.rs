//! The text of a missing value.

use arrow_buffer::NullBuffer;

use super::conversion::Conversion;

/// The text of a missing value.
pub const NONE: &[u8] = b"None";

/// Return true if row `row` is null, and append its text if it is.
#[inline]
pub(super) fn is_none(nulls: Option<&NullBuffer>, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> bool {
    let null = nulls.is_some_and(|nulls| nulls.is_null(row));
    if null {
        none(conversion, out);
    }
    null
}

/// Append the text of a missing value.
pub(super) fn none(conversion: Conversion, out: &mut Vec<u8>) {
    out.extend_from_slice(if conversion.is_json() { b"null" } else { NONE });
}
