//! The size of each request: its text, in bytes and in characters.

use super::request_column::RequestColumn;
use crate::render::text_length;
use crate::threads;

/// So many rows are measured by one thread at a time.
pub(super) const CHUNK_ROWS: usize = 1024;

/// The sizes of some requests; None if a row has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The number of bytes of UTF-8.
    pub bytes: Vec<Option<u64>>,
    /// The number of characters: code points, as Python's `len` counts them.
    pub characters: Vec<Option<u64>>,
}

/// Return the sizes of a column's requests.
pub fn sizes(column: &RequestColumn) -> Sizes {
    let measure = |rows: std::ops::Range<usize>| -> Vec<Option<(usize, usize)>> {
        rows.map(|row| (!column.is_null(row)).then(|| column.length(row))).collect()
    };
    let mut out = Sizes::default();
    for sizes_of_chunk in threads::map(threads::chunks(0..column.len, CHUNK_ROWS), measure) {
        out.bytes.extend(sizes_of_chunk.iter().map(|size| size.map(|(bytes, _)| bytes as u64)));
        out.characters.extend(sizes_of_chunk.iter().map(|size| size.map(|(_, characters)| characters as u64)));
    }
    out
}

impl RequestColumn {
    fn length(&self, row: usize) -> (usize, usize) {
        match self.parsed(row) {
            Some(request) => text_length(&request),
            None => self.root.length(row),
        }
    }
}
