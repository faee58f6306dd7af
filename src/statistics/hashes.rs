//! A fingerprint of each request: equal contents have equal fingerprints, whatever Arrow array holds them.
//!
//! The fingerprint of a text is the BLAKE3 hash of its UTF-8, cut to 16 bytes, so that any implementation can check it.
//! Messages are serialised first in a canonical form. Keys are sorted by name, and null keys are left out, since an
//! Arrow struct has every field in every row. Texts, lists and dicts begin with their lengths, so that different
//! requests have different serialisations.

use std::sync::{Arc, LazyLock};

use arrow_array::ArrayRef;
use arrow_array::builder::FixedSizeBinaryBuilder;

use super::request_column::RequestColumn;
use super::sizes::CHUNK_ROWS;
use crate::error::{Code, Error, Result};
use crate::render::{MessageColumn, value_at};
use crate::template::keys;
use crate::threads;
use crate::value::Value;

/// The size of a fingerprint in bytes.
pub const HASH_BYTES: usize = 16;

/// A fingerprint.
pub type RequestHash = [u8; HASH_BYTES];

/// The key for hashes of messages, so that no message has the fingerprint of a text. If the serialisation changes, the
/// name has to change.
static MESSAGES_KEY: LazyLock<[u8; 32]> = LazyLock::new(|| blake3::derive_key("promptpress request messages 1", &[]));

/// Return the hashes of a column of requests as an array; null if a row has no request.
///
/// # Errors
///
/// `RenderError` for an array whose offsets or bytes are wrong.
pub fn hash_array(requests: &ArrayRef, is_json: bool) -> Result<ArrayRef> {
    let column = RequestColumn::new(requests, is_json)?;
    let mut out = FixedSizeBinaryBuilder::with_capacity(column.len, HASH_BYTES as i32);
    for hash in hashes(&column) {
        match hash {
            Some(hash) => {
                out.append_value(hash).map_err(|error| Error::render(Code::InternalError, error.to_string()))?;
            }
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Return the fingerprints of a column's requests; None if a row has none.
fn hashes(column: &RequestColumn) -> Vec<Option<RequestHash>> {
    let chunk = |rows: std::ops::Range<usize>| -> Vec<Option<RequestHash>> {
        let mut written = Vec::new();
        rows.map(|row| (!column.is_null(row)).then(|| column.hash(row, &mut written))).collect()
    };
    threads::map(threads::chunks(0..column.len, CHUNK_ROWS), chunk).concat()
}

impl RequestColumn {
    fn hash(&self, row: usize, written: &mut Vec<u8>) -> RequestHash {
        let hash = match self.content(row, written) {
            Content::Text(text) => blake3::hash(text),
            Content::Messages(written) => blake3::keyed_hash(&MESSAGES_KEY, written),
        };
        let mut out = [0; HASH_BYTES];
        out.copy_from_slice(&hash.as_bytes()[..HASH_BYTES]);
        out
    }

    /// Return what is hashed of a row's request; `written` holds it unless it is the column's.
    pub(super) fn content<'a>(&'a self, row: usize, written: &'a mut Vec<u8>) -> Content<'a> {
        written.clear();
        match (&self.root, self.parsed(row)) {
            (_, Some(Value::Str(text))) => {
                written.extend_from_slice(text.as_bytes());
                Content::Text(written)
            }
            (_, Some(request)) => {
                write_value(&request, unchanged, written);
                Content::Messages(written)
            }
            (MessageColumn::Text(texts, _), None) => Content::Text(texts.bytes(row)),
            (root, None) => {
                write(root, row, unchanged, written);
                Content::Messages(written)
            }
        }
    }
}

/// The bytes of a request that are hashed.
pub(super) enum Content<'a> {
    /// A text.
    Text(&'a [u8]),
    /// Messages in canonical form.
    Messages(&'a [u8]),
}

/// Appends the serialised form of a text.
pub(crate) type TextTransform = fn(&[u8], &mut Vec<u8>);

/// Append the text itself.
pub(crate) fn unchanged(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
}

/// Serialise a row of a column. The result equals that of [`write_value`] for its value.
pub(crate) fn write(column: &MessageColumn, row: usize, of_text: TextTransform, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return out.push(b'n');
    }
    match column {
        MessageColumn::Text(texts, _) => text(b's', texts.bytes(row), of_text, out),
        MessageColumn::List(ends, items, _) => {
            count(b'l', ends[row + 1] - ends[row], out);
            (ends[row]..ends[row + 1]).for_each(|item| write(items, item, of_text, out));
        }
        MessageColumn::Struct(fields, _) => {
            let present = || fields.iter().filter(|(_, field)| !field.is_null(row));
            if let (Some((name, MessageColumn::Text(prompt, _))), 1) = (present().next(), present().count())
                && name == keys::PROMPT
            {
                return text(b's', prompt.bytes(row), of_text, out);
            }
            count(b'd', present().count(), out);
            for (name, field) in present() {
                text(b's', name.as_bytes(), unchanged, out);
                write(field, row, of_text, out);
            }
        }
        MessageColumn::Other(array) => write_value(&value_at(array, row), of_text, out),
    }
}

/// Serialise a value in canonical form.
fn write_value(value: &Value, of_text: TextTransform, out: &mut Vec<u8>) {
    match value {
        Value::None => out.push(b'n'),
        Value::Bool(flag) => out.extend([b'b', u8::from(*flag)]),
        Value::Int(number) => text(b'i', number.to_string().as_bytes(), unchanged, out),
        Value::Big(digits) => text(b'i', digits.as_bytes(), unchanged, out),
        Value::Float(number) => {
            out.push(b'f');
            let bits = if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() };
            out.extend(bits.to_le_bytes());
        }
        Value::Str(string) => text(b's', string.as_bytes(), of_text, out),
        Value::List(items) => {
            count(b'l', items.len(), out);
            for item in items {
                write_value(item, of_text, out);
            }
        }
        Value::Dict(entries) => {
            let mut present: Vec<(std::sync::Arc<str>, &Value)> = entries
                .iter()
                .filter(|(_, value)| *value != Value::None)
                .map(|(key, value)| (key.key(), value))
                .collect();
            present.sort_by(|a, b| a.0.cmp(&b.0));
            // In Arrow, a bare string among messages is a struct.
            if let [(name, Value::Str(prompt))] = &present[..]
                && &**name == keys::PROMPT
            {
                return text(b's', prompt.as_bytes(), of_text, out);
            }
            count(b'd', present.len(), out);
            for (key, value) in present {
                text(b's', key.as_bytes(), unchanged, out);
                write_value(value, of_text, out);
            }
        }
        Value::Other(repr) => text(b'o', repr.as_bytes(), unchanged, out),
    }
}

/// Write the number of items or bytes that follow.
fn count(tag: u8, items: usize, out: &mut Vec<u8>) {
    out.push(tag);
    out.extend((items as u64).to_le_bytes());
}

/// Write a text, with its length before it.
fn text(tag: u8, text: &[u8], of_text: TextTransform, out: &mut Vec<u8>) {
    count(tag, text.len(), out);
    let start = out.len();
    of_text(text, out);
    let length = (out.len() - start) as u64;
    out[start - size_of::<u64>()..start].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};

    use super::*;

    fn of(array: impl Array + 'static, is_json: bool) -> Vec<Option<RequestHash>> {
        hashes(&RequestColumn::new(&(Arc::new(array) as ArrayRef), is_json).unwrap())
    }

    #[test]
    fn a_text_has_the_fingerprint_that_anyone_would_compute() {
        let texts = [Some(""), None, Some("é")];
        let hashes_of_texts = of(StringArray::from(texts.to_vec()), false);
        let empty = [0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49];
        assert_eq!(hashes_of_texts[..2], [Some(empty), None]);
        assert_eq!(hashes_of_texts, of(LargeStringArray::from(texts.to_vec()), false));
        assert_eq!(hashes_of_texts, of(StringViewArray::from(texts.to_vec()), false));
        assert_eq!(hashes_of_texts[2], of(StringArray::from(vec!["\"é\""]), true)[0]);
    }

    #[test]
    fn messages_are_the_same_whatever_their_keys_order_and_nulls() {
        let json = |text: &str| of(StringArray::from(vec![text]), true)[0];
        let expected = json(r#"[{"role": "user", "content": "a", "name": null}, "b"]"#);
        assert_eq!(expected, json(r#"[{"content": "a", "role": "user"}, {"prompt": "b", "role": null}]"#));
        for other in [r#"[{"content": "a", "role": "user"}]"#, r#"["ab"]"#, r#"[["a", "b"]]"#, r#""[]""#, "[]"] {
            assert_ne!(expected, json(other), "{other}");
        }
        assert_ne!(json(r#"["ab", ""]"#), json(r#"["a", "b"]"#));
    }
}
