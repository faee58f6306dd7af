//! Rendered requests as bytes: a text's UTF-8; of messages, their texts, each after what else its message says.

use arrow_array::ArrayRef;

use crate::error::Result;
use crate::render::{MessageColumn, TextLocation, text_location, value_at};
use crate::statistics::RequestColumn;
use crate::value::Value;

/// Begins what is compared and isn't counted: a role, a type, a key. No text in UTF-8 contains this byte.
const ASIDE: u8 = 0xfe;

/// Ends each text of messages, and what isn't counted.
const END: u8 = 0xff;

/// Writes bytes of a message.
pub(crate) type Write<'a> = &'a dyn Fn(&mut Vec<u8>);

/// A column of requests.
pub struct Requests {
    column: RequestColumn,
    /// The number of requests.
    pub(super) len: usize,
}

/// The fields of messages that say who speaks.
const ROLE: &str = "role";

impl Requests {
    /// Open a column of texts or of messages; `is_json` is true if the texts are messages as JSON.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef, is_json: bool) -> Result<Self> {
        let column = RequestColumn::new(array, is_json)?;
        Ok(Self { len: column.len, column })
    }

    /// Return the bytes of a request, in `written` or where they lie; None if the row has no request.
    pub(super) fn bytes<'a>(&'a self, row: usize, written: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        if self.column.root.is_null(row) {
            return None;
        }
        if self.are_texts() {
            return self.text(row);
        }
        written.clear();
        match self.column.parsed(row) {
            Some(request) => write_value(&request, written),
            None => write(&self.column.root, row, written),
        }
        Some(written)
    }

    /// Return the text of a request; None if the row has none.
    pub(crate) fn text(&self, row: usize) -> Option<&[u8]> {
        match &self.column.root {
            MessageColumn::Text(texts, _) if !self.column.root.is_null(row) => Some(texts.bytes(row)),
            _ => None,
        }
    }

    /// Return the number of requests.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Return true if a row has no request.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.column.root.is_null(row)
    }

    /// Call `each` with each message of a request: its bytes, its role, if it has one, and what writes its words: all
    /// that a model reads of it as text, with calls of tools. A text is a single message.
    pub(crate) fn each_message(
        &self,
        row: usize,
        written: &mut Vec<u8>,
        mut each: impl FnMut(&[u8], Option<&str>, Write),
    ) {
        let root = &self.column.root;
        let mut message = |role: Option<&str>, write: Write, words: Write| {
            written.clear();
            write(written);
            each(written, role, words);
        };
        match (self.column.parsed(row), root) {
            (Some(Value::List(items)), _) => {
                for item in &items {
                    message(role_of(item), &|out| write_value(item, out), &|out| value_words(item, out));
                }
            }
            (Some(request), _) => {
                message(None, &|out| write_value(&request, out), &|out| value_words(&request, out));
            }
            (None, MessageColumn::List(ends, items, _)) => {
                for item in ends[row]..ends[row + 1] {
                    let role = role_in(items, item);
                    message(role.as_deref(), &|out| write(items, item, out), &|out| words(items, item, out));
                }
            }
            (None, root) => message(None, &|out| write(root, row, out), &|out| words(root, row, out)),
        }
    }

    /// Return true if the requests are texts.
    pub(super) fn are_texts(&self) -> bool {
        !self.column.is_json && matches!(self.column.root, MessageColumn::Text(..))
    }
}

/// Return true if the value of a key is no text for a model: what names or sorts something, and media.
fn is_wordless(key: &str) -> bool {
    matches!(key, ROLE | "type" | "id" | "index" | "tool_call_id" | "cache_control")
        || matches!(text_location(key), Some(TextLocation::Within(_)))
}

/// Write the words of a message in a column.
fn words(column: &MessageColumn, row: usize, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return;
    }
    match column {
        MessageColumn::Text(texts, _) => out.extend_from_slice(texts.bytes(row)),
        MessageColumn::List(ends, items, _) => (ends[row]..ends[row + 1]).for_each(|item| words(items, item, out)),
        MessageColumn::Struct(fields, _) => {
            fields.iter().filter(|(name, _)| !is_wordless(name)).for_each(|(_, field)| words(field, row, out));
        }
        MessageColumn::Other(array) => value_words(&value_at(array, row), out),
    }
}

/// Write the words of a message.
fn value_words(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Str(text) => out.extend_from_slice(text.as_bytes()),
        Value::List(items) => items.iter().for_each(|item| value_words(item, out)),
        Value::Dict(items) => {
            let with_words = items.iter().filter(|(key, _)| key.as_str().is_none_or(|key| !is_wordless(key)));
            with_words.for_each(|(_, value)| value_words(value, out));
        }
        _ => {}
    }
}

/// Return the role of a message.
fn role_of(message: &Value) -> Option<&str> {
    let Value::Dict(items) = message else { return None };
    items.iter().find(|(key, _)| key.as_str() == Some(ROLE))?.1.as_str()
}

/// Return the role of a message among items.
fn role_in(items: &MessageColumn, item: usize) -> Option<String> {
    let MessageColumn::Struct(fields, _) = items else { return None };
    match &fields.iter().find(|(name, _)| name == ROLE)?.1 {
        MessageColumn::Text(texts, nulls) if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(item)) => {
            Some(String::from_utf8_lossy(texts.bytes(item)).into_owned())
        }
        _ => None,
    }
}

/// Write the texts that [`MessageColumn::length`] counts, and the rest as asides.
fn write(column: &MessageColumn, row: usize, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return;
    }
    match column {
        MessageColumn::Text(texts, _) => write_text(texts.bytes(row), out),
        MessageColumn::List(ends, items, _) => (ends[row]..ends[row + 1]).for_each(|item| write(items, item, out)),
        MessageColumn::Struct(fields, _) => write_entries(
            fields,
            |(name, _)| text_location(name),
            |(_, field), location, out| match (location, field) {
                (None, _) => aside(out, |out| write(field, row, out)),
                (Some(TextLocation::Within(inner)), MessageColumn::Struct(fields, _)) if !field.is_null(row) => {
                    write_entries(
                        fields,
                        |(name, _)| (name == inner).then_some(TextLocation::Whole),
                        |(_, field), location, out| match location {
                            None => aside(out, |out| write(field, row, out)),
                            Some(_) => write(field, row, out),
                        },
                        out,
                    );
                }
                _ => write(field, row, out),
            },
            out,
        ),
        MessageColumn::Other(array) => write_value(&value_at(array, row), out),
    }
}

/// Write the texts that [`crate::render::text_length`] counts, and the rest as asides.
fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Str(text) => write_text(text.as_bytes(), out),
        Value::List(items) => items.iter().for_each(|item| write_value(item, out)),
        Value::Dict(items) => write_entries(
            items,
            |(key, _)| key.as_str().and_then(text_location),
            |(key, value), location, out| match (location, value) {
                (None, _) => aside(out, |out| out.extend_from_slice(format!("{key}: {value}").as_bytes())),
                (Some(TextLocation::Within(inner)), Value::Dict(items)) => write_entries(
                    items,
                    |(key, _)| (key.as_str() == Some(inner)).then_some(TextLocation::Whole),
                    |(key, value), location, out| match location {
                        None => aside(out, |out| out.extend_from_slice(format!("{key}: {value}").as_bytes())),
                        Some(_) => write_value(value, out),
                    },
                    out,
                ),
                _ => write_value(value, out),
            },
            out,
        ),
        _ => aside(out, |out| out.extend_from_slice(value.to_string().as_bytes())),
    }
}

/// Write the entries of a message: those without texts first, as a role comes before what it says.
fn write_entries<T>(
    entries: &[T],
    location: impl Fn(&T) -> Option<TextLocation>,
    write: impl Fn(&T, Option<TextLocation>, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    for has_text in [false, true] {
        for entry in entries {
            let location = location(entry);
            if location.is_some() == has_text {
                write(entry, location, out);
            }
        }
    }
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(END);
}

/// Write something whose bytes aren't counted.
fn aside(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(ASIDE);
    write(out);
    // What was written ends where the aside ends, so that no end of a text is within it.
    out[start + 1..].iter_mut().filter(|byte| **byte >= ASIDE).for_each(|byte| *byte = b'\0');
    out.push(END);
}

/// Return the number of bytes of texts, without what isn't counted.
pub(super) fn text_bytes(bytes: &[u8], is_text: bool) -> u64 {
    if is_text {
        return bytes.len() as u64;
    }
    let of_text = |text: &[u8]| memchr::memchr(ASIDE, text).unwrap_or(text.len()) as u64;
    bytes.split(|byte| *byte == END).map(of_text).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;
    use crate::statistics::sizes;

    #[test]
    fn the_bytes_of_messages_are_those_that_sizes_count() {
        let requests = [
            r#"[{"role": "system", "content": "abc"}, {"role": "user", "content": "é"}]"#,
            r#"[{"role": "HUMAN", "prompt": "x"}, "plain", 3, null, {"content": null, "n": 1.5}]"#,
            r#"[{"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u",
               "detail": "high"}}, {"type": "file", "file": "whole", "name": "no"}]}]"#,
            r#""a text""#,
            "no JSON",
        ];
        let array = Arc::new(StringArray::from(requests.to_vec())) as ArrayRef;
        let (column, mut written) = (Requests::new(&array, true).unwrap(), Vec::new());
        let counted: Vec<_> =
            (0..requests.len()).map(|row| Some(text_bytes(column.bytes(row, &mut written).unwrap(), false))).collect();
        assert_eq!(counted, sizes(&RequestColumn::new(&array, true).unwrap()).bytes);
    }
}
