//! The fragments that each row shows.

use std::ops::Range;

/// The fragments of each row.
#[derive(Debug, Default)]
pub struct RowFragments {
    /// The start and end of each row's fragments in `fragments`; empty if all fragments are part of the plans.
    pub bounds: Vec<(usize, usize)>,
    /// Indices of fragments.
    pub fragments: Vec<u32>,
}

impl RowFragments {
    /// The value for rows without fragments.
    pub const NONE: &'static Self = &Self { bounds: Vec::new(), fragments: Vec::new() };

    /// Return the fragments of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        match self.bounds.get(row) {
            Some((start, end)) => &self.fragments[*start..*end],
            None => &[],
        }
    }

    /// Return the number of fragments that some rows show, with repetitions.
    pub fn count(&self, rows: Range<usize>) -> usize {
        self.bounds.get(rows).unwrap_or_default().iter().map(|(start, end)| end - start).sum()
    }
}
