//! A fingerprint of each request: the same for the same content, whatever Arrow array holds it.
//!
//! Of a text it is BLAKE3 of its UTF-8, cut to 16 bytes, so that any implementation can check it. Messages are written
//! down in one way first: keys in the order of their names, without those that are null, since an Arrow struct has every
//! field in every row; texts, lists and dicts with their lengths before them, so that no two requests are written alike.

use std::sync::LazyLock;

use super::request_column::RequestColumn;
use super::sizes::CHUNK_ROWS;
use crate::render::{SaidColumn, value_at};
use crate::template::keys;
use crate::threads;
use crate::value::Value;

/// Bytes of a fingerprint.
pub const HASH_BYTES: usize = 16;

/// A fingerprint.
pub type RequestHash = [u8; HASH_BYTES];

/// What messages are hashed under, so that none has the fingerprint of a text. A new way to write them is a new name.
static MESSAGES_KEY: LazyLock<[u8; 32]> = LazyLock::new(|| blake3::derive_key("promptpress request messages 1", &[]));

/// The fingerprints of a column's requests; None where a row has none.
pub fn hashes(column: &RequestColumn) -> Vec<Option<RequestHash>> {
    let chunk = |rows: std::ops::Range<usize>| -> Vec<Option<RequestHash>> {
        let mut written = Vec::new();
        rows.map(|row| (!column.is_null(row)).then(|| column.hash(row, &mut written))).collect()
    };
    threads::map(threads::chunks(0..column.len, CHUNK_ROWS), chunk).concat()
}

impl RequestColumn {
    fn hash(&self, row: usize, written: &mut Vec<u8>) -> RequestHash {
        let parsed = self.parsed(row);
        let hash = match (&self.root, &parsed) {
            (_, Some(Value::Str(text))) => blake3::hash(text.as_bytes()),
            (SaidColumn::Text(texts, _), None) => blake3::hash(texts.bytes(row)),
            (root, parsed) => {
                written.clear();
                match parsed {
                    Some(request) => write_value(request, as_it_is, written),
                    None => write(root, row, as_it_is, written),
                }
                blake3::keyed_hash(&MESSAGES_KEY, written)
            }
        };
        let mut out = [0; HASH_BYTES];
        out.copy_from_slice(&hash.as_bytes()[..HASH_BYTES]);
        out
    }
}

/// What is written of a text: appended.
pub(crate) type WrittenText = fn(&[u8], &mut Vec<u8>);

/// The text itself.
pub(crate) fn as_it_is(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
}

/// Write a row of a column as [`write_value`] would its value.
pub(crate) fn write(column: &SaidColumn, row: usize, of_text: WrittenText, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return out.push(b'n');
    }
    match column {
        SaidColumn::Text(texts, _) => text(b's', texts.bytes(row), of_text, out),
        SaidColumn::List(ends, items, _) => {
            count(b'l', ends[row + 1] - ends[row], out);
            (ends[row]..ends[row + 1]).for_each(|item| write(items, item, of_text, out));
        }
        SaidColumn::Struct(fields, _) => {
            let shown = || fields.iter().filter(|(_, field)| !field.is_null(row));
            if let (Some((name, SaidColumn::Text(own, _))), 1) = (shown().next(), shown().count())
                && name == keys::PROMPT
            {
                return text(b's', own.bytes(row), of_text, out);
            }
            count(b'd', shown().count(), out);
            for (name, field) in shown() {
                text(b's', name.as_bytes(), as_it_is, out);
                write(field, row, of_text, out);
            }
        }
        SaidColumn::Other(array) => write_value(&value_at(array, row), of_text, out),
    }
}

/// Write a value down, in the one way that there is.
fn write_value(value: &Value, of_text: WrittenText, out: &mut Vec<u8>) {
    match value {
        Value::None => out.push(b'n'),
        Value::Bool(own) => out.extend([b'b', u8::from(*own)]),
        Value::Int(number) => text(b'i', number.to_string().as_bytes(), as_it_is, out),
        Value::Big(digits) => text(b'i', digits.as_bytes(), as_it_is, out),
        Value::Float(number) => {
            out.push(b'f');
            let bits = if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() };
            out.extend(bits.to_le_bytes());
        }
        Value::Str(own) => text(b's', own.as_bytes(), of_text, out),
        Value::List(items) => {
            count(b'l', items.len(), out);
            for item in items {
                write_value(item, of_text, out);
            }
        }
        Value::Dict(entries) => {
            let mut shown: Vec<(std::sync::Arc<str>, &Value)> = entries
                .iter()
                .filter(|(_, value)| *value != Value::None)
                .map(|(key, value)| (key.key(), value))
                .collect();
            shown.sort_by(|a, b| a.0.cmp(&b.0));
            // A bare string among messages is a struct in Arrow.
            if let [(name, Value::Str(own))] = &shown[..]
                && &**name == keys::PROMPT
            {
                return text(b's', own.as_bytes(), of_text, out);
            }
            count(b'd', shown.len(), out);
            for (key, value) in shown {
                text(b's', key.as_bytes(), as_it_is, out);
                write_value(value, of_text, out);
            }
        }
        Value::Other(own) => text(b'o', own.as_bytes(), as_it_is, out),
    }
}

/// Write how many items or bytes follow.
fn count(tag: u8, items: usize, out: &mut Vec<u8>) {
    out.push(tag);
    out.extend((items as u64).to_le_bytes());
}

/// Write a text with its length.
fn text(tag: u8, text: &[u8], of_text: WrittenText, out: &mut Vec<u8>) {
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
        let own = of(StringArray::from(texts.to_vec()), false);
        let empty = [0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49];
        assert_eq!(own[..2], [Some(empty), None]);
        assert_eq!(own, of(LargeStringArray::from(texts.to_vec()), false));
        assert_eq!(own, of(StringViewArray::from(texts.to_vec()), false));
        assert_eq!(own[2], of(StringArray::from(vec!["\"é\""]), true)[0]);
    }

    #[test]
    fn messages_are_the_same_whatever_their_keys_order_and_nulls() {
        let json = |text: &str| of(StringArray::from(vec![text]), true)[0];
        let one = json(r#"[{"role": "user", "content": "a", "name": null}, "b"]"#);
        assert_eq!(one, json(r#"[{"content": "a", "role": "user"}, {"prompt": "b", "role": null}]"#));
        for other in [r#"[{"content": "a", "role": "user"}]"#, r#"["ab"]"#, r#"[["a", "b"]]"#, r#""[]""#, "[]"] {
            assert_ne!(one, json(other), "{other}");
        }
        assert_ne!(json(r#"["ab", ""]"#), json(r#"["a", "b"]"#));
    }
}
