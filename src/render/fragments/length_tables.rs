//! Precomputed lengths of fragments.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::store::FragmentStores;
use crate::template::FragmentSet;

/// A length for each fragment.
pub type Table = Arc<Vec<usize>>;

/// Parts of a set's fragments.
type Parts = (FragmentSet, Vec<u32>);

/// The lengths of parts of fragments, for each choice of parts that some program shows.
pub struct LengthTables<'a> {
    stores: FragmentStores<'a>,
    /// The number of fragments up to which a table for all of them pays.
    pays_up_to: usize,
    tables: RefCell<HashMap<Parts, Option<Table>>>,
}

impl<'a> LengthTables<'a> {
    /// Make tables for fragments that `requests` requests choose among.
    pub fn new(stores: FragmentStores<'a>, requests: usize) -> Self {
        Self { stores, pays_up_to: requests.saturating_mul(4), tables: RefCell::default() }
    }

    /// Return true if enough fragments of a set are read that precomputing a value for each of them pays.
    pub fn pays(&self, set: FragmentSet) -> bool {
        self.stores.of(set).len() <= self.pays_up_to
    }

    /// Return the sum of the lengths of the chosen parts, for each fragment.
    pub fn of(&self, set: FragmentSet, parts: Vec<u32>) -> Option<Table> {
        if !self.pays(set) {
            return None;
        }
        // This borrow lasts while threads share the work. None of them can borrow again, because the cell belongs to
        // this thread.
        let mut tables = self.tables.borrow_mut();
        if let Some(cached) = tables.get(&(set, parts.clone())) {
            return cached.clone();
        }
        let table: Option<Table> = self.stores.of(set).lengths(&parts).map(Arc::new);
        tables.insert((set, parts), table.clone());
        table
    }
}
