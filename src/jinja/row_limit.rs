//! The largest length of a row's text. It is the length that Jinja2 may render; Jinja2 gets the rows with longer texts.

use super::value::Value;

/// The number of bytes that any row's text may have. It is a power of two, see [`may_be_too_long`].
const MAX_TEXT_BYTES: usize = 1 << 24;
/// The number of further bytes for each byte of the row's values.
const BYTES_PER_INPUT_BYTE: usize = 4;
/// The number of bytes that a value counts in addition to its text.
pub(super) const BYTES_OF_VALUE: usize = 256;

/// Return true if one of some lengths may be too long. It examines all of them together, because few are too long.
pub(super) fn may_be_too_long(lengths: &[usize]) -> bool {
    lengths.iter().fold(0, |all, length| all | length) >= MAX_TEXT_BYTES
}

/// Return true if a text is too long for a row whose values have so many bytes.
pub(super) fn is_too_long(length: usize, input: impl FnOnce() -> usize) -> bool {
    length >= MAX_TEXT_BYTES && length - MAX_TEXT_BYTES >= input().saturating_mul(BYTES_PER_INPUT_BYTE)
}

/// Return the number of bytes of a value's texts, and some more for each value in it.
pub(super) fn input_bytes(value: Value) -> usize {
    BYTES_OF_VALUE
        + match value {
            Value::Str(text) => text.len(),
            Value::Record(record, row) => record.fields().iter().map(|field| input_bytes(field.value(row))).sum(),
            other => other.list().map_or(0, |items| items.iter().map(input_bytes).sum()),
        }
}
