//! Rendered requests as bytes: a text's UTF-8, or the texts of messages one after the other.

use arrow_array::{Array, ArrayRef};

use crate::error::Result;
use crate::render::{MessageColumn, value_at};

/// Ends each text of messages. No text in UTF-8 contains this byte.
const END: u8 = 0xff;

/// A column of requests.
pub struct Requests {
    root: MessageColumn,
    /// The number of requests.
    pub(super) len: usize,
}

impl Requests {
    /// Open a column of texts or of messages. Requests as JSON are texts.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef) -> Result<Self> {
        Ok(Self { root: MessageColumn::new(array)?, len: array.len() })
    }

    /// Return the bytes of a request, in `written` or where they lie; None if the row has no request.
    pub(super) fn bytes<'a>(&'a self, row: usize, written: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        if self.root.is_null(row) {
            return None;
        }
        if self.are_texts() {
            return self.text(row);
        }
        written.clear();
        write(&self.root, row, written);
        Some(written)
    }

    /// Return the text of a request; None if the row has none.
    pub(super) fn text(&self, row: usize) -> Option<&[u8]> {
        match &self.root {
            MessageColumn::Text(texts, _) if !self.root.is_null(row) => Some(texts.bytes(row)),
            _ => None,
        }
    }

    /// Return true if the requests are texts.
    pub(super) fn are_texts(&self) -> bool {
        matches!(self.root, MessageColumn::Text(..))
    }
}

fn write(column: &MessageColumn, row: usize, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return;
    }
    match column {
        MessageColumn::Text(texts, _) => {
            out.extend_from_slice(texts.bytes(row));
            out.push(END);
        }
        MessageColumn::List(ends, items, _) => (ends[row]..ends[row + 1]).for_each(|item| write(items, item, out)),
        MessageColumn::Struct(fields, _) => {
            // Fields are in the order of their names, and a role comes before its content in every request.
            fields.iter().rev().for_each(|(_, field)| write(field, row, out));
        }
        MessageColumn::Other(array) => {
            out.extend_from_slice(value_at(array, row).to_string().as_bytes());
            out.push(END);
        }
    }
}

/// Return the number of bytes of texts, without the ends of texts.
pub(super) fn text_bytes(bytes: &[u8], is_text: bool) -> u64 {
    let ends = if is_text { 0 } else { memchr::memchr_iter(END, bytes).count() };
    (bytes.len() - ends) as u64
}
