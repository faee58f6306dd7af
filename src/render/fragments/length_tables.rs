//! The lengths of fragments, ready to be added up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::store::Parts;

/// A length for each example.
pub type Table = Arc<[usize]>;

/// The lengths of parts of the examples, for each choice of parts that is shown somewhere.
pub struct Tables<'a> {
    parts: &'a Parts,
    /// Whether so many examples are looked at that it pays to have their lengths ready.
    pays: bool,
    made: RefCell<HashMap<Vec<u32>, Option<Table>>>,
}

impl<'a> Tables<'a> {
    /// Of examples that `requests` requests choose among.
    pub fn new(parts: &'a Parts, requests: usize) -> Self {
        Self { parts, pays: parts.len() <= requests.saturating_mul(4), made: RefCell::default() }
    }

    /// Whether so many examples are looked at that it pays to make something of all of them.
    pub fn pays(&self) -> bool {
        self.pays
    }

    /// The lengths of a choice of parts, added up for each fragment.
    pub fn of(&self, parts: Vec<u32>) -> Option<Table> {
        if !self.pays {
            return None;
        }
        let mut made = self.made.borrow_mut();
        if let Some(known) = made.get(&parts) {
            return known.clone();
        }
        let table: Option<Table> = self.parts.lengths(&parts).map(Into::into);
        made.insert(parts, table.clone());
        table
    }
}
