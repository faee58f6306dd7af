//! Caches the data that slices of one table share.

use std::cell::RefCell;

use arrow_array::ArrayRef;

use super::repeated::RepeatedColumns;

/// The data that slices of a table share, made for the first slice.
pub struct SliceCache<'c> {
    /// Constants that are repeated for many rows.
    pub constants: &'c RepeatedColumns,
    /// The labels of the requests of the longest slice so far.
    pub labels: RefCell<Option<ArrayRef>>,
}

impl<'c> SliceCache<'c> {
    /// Make a cache that holds only the columns that batches share.
    pub fn new(constants: &'c RepeatedColumns) -> Self {
        Self { constants, labels: RefCell::default() }
    }
}
