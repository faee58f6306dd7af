//! What slices of one table have in common, made for the first of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;

/// What slices of a table have in common.
#[derive(Default)]
pub struct SliceCache {
    /// The same constants in as many rows, by key and number of rows.
    pub constants: RefCell<HashMap<(Arc<str>, usize), ArrayRef>>,
    /// The labels of the requests of the longest slice so far.
    pub labels: RefCell<Option<ArrayRef>>,
}
