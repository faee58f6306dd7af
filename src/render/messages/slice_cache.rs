//! What slices of one table have in common, made for the first of them.

use std::cell::RefCell;

use arrow_array::ArrayRef;

use super::repeated::RepeatedColumns;

/// What slices of a table have in common.
pub struct SliceCache<'c> {
    /// The same constants in as many rows.
    pub constants: &'c RepeatedColumns,
    /// The labels of the requests of the longest slice so far.
    pub labels: RefCell<Option<ArrayRef>>,
}

impl<'c> SliceCache<'c> {
    /// Nothing yet but columns that batches have in common.
    pub fn new(constants: &'c RepeatedColumns) -> Self {
        Self { constants, labels: RefCell::default() }
    }
}
