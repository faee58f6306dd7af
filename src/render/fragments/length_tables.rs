//! The lengths of fragments, ready to be added up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::store::FragmentStores;
use crate::template::FragmentSet;

/// A length for each fragment.
pub type Table = Arc<Vec<usize>>;

/// Parts of a set's fragments.
type Parts = (FragmentSet, Vec<u32>);

/// The lengths of parts of fragments, for each choice of parts that is shown somewhere.
pub struct LengthTables<'a> {
    stores: FragmentStores<'a>,
    /// Fragments up to which it pays to have something ready for each: so many are looked at.
    pays_up_to: usize,
    made: RefCell<HashMap<Parts, Option<Table>>>,
}

impl<'a> LengthTables<'a> {
    /// Of fragments that `requests` requests choose among.
    pub fn new(stores: FragmentStores<'a>, requests: usize) -> Self {
        Self { stores, pays_up_to: requests.saturating_mul(4), made: RefCell::default() }
    }

    /// Whether so many fragments of a set are looked at that it pays to make something of all of them.
    pub fn pays(&self, set: FragmentSet) -> bool {
        self.stores.of(set).len() <= self.pays_up_to
    }

    /// The lengths of a choice of parts, added up for each fragment.
    pub fn of(&self, set: FragmentSet, parts: Vec<u32>) -> Option<Table> {
        if !self.pays(set) {
            return None;
        }
        // Borrowed while threads share the work: none of them can ask, for it is no other thread's.
        let mut made = self.made.borrow_mut();
        if let Some(known) = made.get(&(set, parts.clone())) {
            return known.clone();
        }
        let table: Option<Table> = self.stores.of(set).lengths(&parts).map(Arc::new);
        made.insert((set, parts), table.clone());
        table
    }
}
