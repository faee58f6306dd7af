//! How long each request is: what it says, in bytes and in characters.

use super::request_column::RequestColumn;
use crate::render::said_length;
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
