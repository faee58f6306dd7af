//! Which ids have been there before, in a few bytes a row however long the ids are.

use std::hash::{BuildHasher as _, RandomState};

use arrow_array::{Array as _, LargeBinaryArray};

/// A place of the table that no row has taken.
const FREE: u64 = 0;

/// The ids of rows, by hashes of 128 bits: two rows that differ have one hash by chance once in far more rows than
/// there are. The keys are drawn when it is made, so nobody can make such rows on purpose.
pub struct SeenIds {
    keys: [RandomState; 2],
    /// The hash of each row.
    hashes: Vec<u128>,
    /// An open table of row numbers, each plus one; at most half of it is taken.
    table: Vec<u64>,
}

impl Default for SeenIds {
    fn default() -> Self {
        Self { keys: [RandomState::new(), RandomState::new()], hashes: Vec::new(), table: vec![FREE; 1024] }
    }
}

impl SeenIds {
    /// Takes the ids of the next rows; if one has been there, its row and that of the one before it.
    ///
    /// Rows count from the first that was ever taken. What comes behind a repeated one isn't taken.
    pub fn add(&mut self, ids: &LargeBinaryArray) -> Option<(usize, usize)> {
        (0..ids.len()).find_map(|row| {
            let id = ids.value(row);
            let hash = u128::from(self.keys[0].hash_one(id)) << 64 | u128::from(self.keys[1].hash_one(id));
            self.add_hash(hash).map(|before| (self.hashes.len(), before))
        })
    }

    fn add_hash(&mut self, hash: u128) -> Option<usize> {
        if self.hashes.len() * 2 >= self.table.len() {
            self.grow();
        }
        let place = self.place(hash);
        if self.table[place] != FREE {
            return Some(self.table[place] as usize - 1);
        }
        self.hashes.push(hash);
        self.table[place] = self.hashes.len() as u64;
        None
    }

    /// Where a hash stands in the table, or would.
    fn place(&self, hash: u128) -> usize {
        let last = self.table.len() - 1;
        let mut place = hash as usize & last;
        while self.table[place] != FREE && self.hashes[self.table[place] as usize - 1] != hash {
            place = (place + 1) & last;
        }
        place
    }

    fn grow(&mut self) {
        self.table = vec![FREE; self.table.len() * 2];
        for row in 0..self.hashes.len() {
            let place = self.place(self.hashes[row]);
            self.table[place] = row as u64 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_id_is_told_with_both_rows_wherever_they_are() {
        let ids = |range: std::ops::Range<usize>| LargeBinaryArray::from_iter_values(range.map(|n| n.to_string()));
        let mut seen = SeenIds::default();
        assert_eq!(seen.add(&ids(0..5000)), None);
        assert_eq!(seen.add(&ids(5000..9000)), None);
        assert_eq!(seen.add(&LargeBinaryArray::from_iter_values(["new", "4321", "more"])), Some((9001, 4321)));
    }
}
