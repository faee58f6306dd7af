//! How long each request is: what it says, in bytes and in characters.

use super::request_column::{Node, RequestColumn};
use crate::render::{Said, said_length, said_under, value_at};
use crate::threads;

/// Rows that one thread takes at a time.
pub(super) const CHUNK_ROWS: usize = 1024;

/// The lengths of some requests; None where a row has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of UTF-8.
    pub bytes: Vec<Option<u64>>,
    /// Characters: code points, as Python's `len` counts them.
    pub characters: Vec<Option<u64>>,
}

/// How long the requests of a column are.
pub fn sizes(column: &RequestColumn) -> Sizes {
    let measure = |rows: std::ops::Range<usize>| -> Vec<Option<(usize, usize)>> {
        rows.map(|row| (!column.is_null(row)).then(|| column.length(row))).collect()
    };
    let mut out = Sizes::default();
    for own in threads::map(threads::chunks(0..column.len, CHUNK_ROWS), measure) {
        out.bytes.extend(own.iter().map(|size| size.map(|(bytes, _)| bytes as u64)));
        out.characters.extend(own.iter().map(|size| size.map(|(_, characters)| characters as u64)));
    }
    out
}

impl RequestColumn {
    fn length(&self, row: usize) -> (usize, usize) {
        match self.parsed(row) {
            Some(request) => said_length(&request),
            None => self.root.length(row),
        }
    }
}

impl Node {
    /// How many bytes and characters of a value are said: [`said_length`] of it.
    fn length(&self, row: usize) -> (usize, usize) {
        if self.is_null(row) {
            return (0, 0);
        }
        let add = |all: (usize, usize), one: (usize, usize)| (all.0 + one.0, all.1 + one.1);
        match self {
            Self::Text(texts, _) => {
                let text = texts.bytes(row);
                // What goes on a character begins with the bits 10.
                (text.len(), text.iter().filter(|byte| **byte & 0xc0 != 0x80).count())
            }
            Self::List(ends, items, _) => (ends[row]..ends[row + 1]).map(|item| items.length(item)).fold((0, 0), add),
            Self::Struct(fields, _) => {
                let said = |(name, field): &(String, Self)| match (said_under(name)?, field) {
                    (Said::Within(inner), Self::Struct(own, _)) if !field.is_null(row) => {
                        own.iter().find(|(name, _)| name == inner).map(|(_, text)| text.length(row))
                    }
                    _ => Some(field.length(row)),
                };
                fields.iter().filter_map(said).fold((0, 0), add)
            }
            Self::Other(array) => said_length(&value_at(array, row)),
        }
    }
}
