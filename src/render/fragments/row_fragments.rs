//! Which fragments each row shows.

use std::ops::Range;

/// The fragments of each row.
#[derive(Debug, Default)]
pub struct RowFragments {
    /// Where each row's begin and end in `fragments`; empty if no row has any that is not part of the plan.
    pub bounds: Vec<(usize, usize)>,
    /// Places among the fragments.
    pub fragments: Vec<u32>,
}

impl RowFragments {
    /// No row has any.
    pub const NONE: &'static Self = &Self { bounds: Vec::new(), fragments: Vec::new() };

    /// The fragments of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        match self.bounds.get(row) {
            Some((start, end)) => &self.fragments[*start..*end],
            None => &[],
        }
    }

    /// How many fragments some rows show, one as often as it is shown.
    pub fn count(&self, rows: Range<usize>) -> usize {
        self.bounds.get(rows).unwrap_or_default().iter().map(|(start, end)| end - start).sum()
    }
}
