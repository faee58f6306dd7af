//! Largest length of a row's text: as long as one that Jinja2 is allowed to render; it has the rows of longer ones.

use super::value::Value;

/// Bytes that any row's text may have. A power of two, see [`may_be_too_long`].
const MAX_TEXT_BYTES: usize = 1 << 24;
/// Further bytes for each byte of the row's own values.
const BYTES_PER_INPUT_BYTE: usize = 4;
/// Bytes that a value counts beside its text.
pub(super) const BYTES_OF_VALUE: usize = 256;

/// Whether one of some lengths may be too long. All of them are looked at together, since hardly any is.
pub(super) fn may_be_too_long(lengths: &[usize]) -> bool {
    lengths.iter().fold(0, |all, length| all | length) >= MAX_TEXT_BYTES
}

/// Return true if a text is too long for a row of so many bytes.
pub(super) fn is_too_long(length: usize, input: impl FnOnce() -> usize) -> bool {
    length >= MAX_TEXT_BYTES && length - MAX_TEXT_BYTES >= input().saturating_mul(BYTES_PER_INPUT_BYTE)
}

/// How many bytes a value's texts have, and some more for each value in it.
pub(super) fn input_bytes(value: Value) -> usize {
    BYTES_OF_VALUE
        + match value {
            Value::Str(text) => text.len(),
            Value::Record(record, row) => record.fields().iter().map(|field| input_bytes(field.value(row))).sum(),
            other => other.list().map_or(0, |items| items.iter().map(input_bytes).sum()),
        }
}
