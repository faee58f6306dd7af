//! Finds repeated ids. A row takes a few bytes, however long its id is.

use std::hash::{BuildHasher as _, RandomState};

/// A slot of the table without a row.
const FREE: u64 = 0;

/// An id of at most so many bytes is kept as it is: in all bytes of a hash but the last, which has the length.
const MAX_WHOLE_BYTES: usize = size_of::<u128>() - 1;
/// The last byte for longer ids.
const HASHED: u8 = u8::MAX;

/// Hashes ids with random keys, so nobody can construct different ids with one hash. A short id is its own hash.
#[derive(Clone)]
pub struct Keys([RandomState; 2]);

impl Keys {
    fn hash(&self, id: &[u8]) -> u128 {
        let mut whole = [0; size_of::<u128>()];
        if let Some(bytes) = whole.get_mut(..id.len()).filter(|_| id.len() <= MAX_WHOLE_BYTES) {
            bytes.copy_from_slice(id);
            whole[MAX_WHOLE_BYTES] = id.len() as u8;
        } else {
            whole[..8].copy_from_slice(&self.0[0].hash_one(id).to_le_bytes());
            whole[8..].copy_from_slice(&self.0[1].hash_one(id).to_le_bytes());
            whole[MAX_WHOLE_BYTES] = HASHED;
        }
        u128::from_le_bytes(whole)
    }

    /// Return the first slot for a hash in a table. The hash is hashed again, because anyone can construct short ids
    /// that have bytes in common.
    fn first_slot(&self, hash: u128) -> usize {
        self.0[0].hash_one(hash) as usize
    }
}

/// The ids of some adjacent rows, with what is needed to compare them with others.
pub struct Ids<'a> {
    keys: &'a Keys,
    hashes: Vec<u128>,
    first: Vec<u8>,
    last: Vec<u8>,
    is_rising: bool,
    shortest: usize,
    longest: usize,
}

impl<'a> Ids<'a> {
    pub(super) fn new(keys: &'a Keys, rows: usize) -> Self {
        let hashes = Vec::with_capacity(rows);
        let (first, last) = (Vec::new(), Vec::new());
        Self { keys, hashes, first, last, is_rising: true, shortest: usize::MAX, longest: 0 }
    }

    pub(super) fn push(&mut self, id: &[u8]) {
        if self.hashes.is_empty() {
            self.first.extend_from_slice(id);
        } else {
            self.is_rising &= is_below(&self.last, id);
        }
        self.last.clear();
        self.last.extend_from_slice(id);
        self.hashes.push(self.keys.hash(id));
        self.shortest = self.shortest.min(id.len());
        self.longest = self.longest.max(id.len());
    }
}

/// Compare ids in an order that is ascending if they end with a counter.
fn is_below(a: &[u8], b: &[u8]) -> bool {
    (a.len(), a) < (b.len(), b)
}

/// Facts about the ids of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdFacts {
    /// The length in bytes of the shortest id; the largest number if there are no rows.
    pub shortest: usize,
    /// The length in bytes of the longest id.
    pub longest: usize,
    /// The first row whose id occurred before, and the row where it occurred. Rows are counted from the first one that
    /// was added.
    pub repeated: Option<(usize, usize)>,
}

/// The ids of rows, as hashes of 120 bits. A collision is improbable for any realistic number of rows.
///
/// If ids ascend from row to row, as row numbers do, they are all different. The table is used only when an id doesn't
/// ascend.
pub struct SeenIds {
    keys: Keys,
    /// The hash of each row.
    hashes: Vec<u128>,
    /// The last id, as long as all ids ascend.
    last: Option<Vec<u8>>,
    /// An open-addressing table of row numbers, each plus one. It is at most half full and has the first `placed` rows.
    table: Vec<u64>,
    placed: usize,
}

impl Default for SeenIds {
    fn default() -> Self {
        let keys = Keys([RandomState::new(), RandomState::new()]);
        Self { keys, hashes: Vec::new(), last: Some(Vec::new()), table: Vec::new(), placed: 0 }
    }
}

impl SeenIds {
    /// Return the keys that hash the ids to be added.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Add the ids of the next rows. Ids after a repeated one aren't added.
    pub fn add(&mut self, parts: &[Ids]) -> IdFacts {
        let mut facts = IdFacts { shortest: usize::MAX, longest: 0, repeated: None };
        for ids in parts {
            facts.shortest = facts.shortest.min(ids.shortest);
            facts.longest = facts.longest.max(ids.longest);
            let before = self.hashes.len();
            self.hashes.extend_from_slice(&ids.hashes);
            self.last = match self.last.take() {
                Some(last) if ids.is_rising && (before == 0 || is_below(&last, &ids.first)) => Some(ids.last.clone()),
                _ => None,
            };
            if self.last.is_none() {
                facts.repeated = self.place_all();
            }
            if facts.repeated.is_some() {
                break;
            }
        }
        facts
    }

    /// Put the rows that the table lacks into it, up to a repeated id.
    fn place_all(&mut self) -> Option<(usize, usize)> {
        if self.hashes.len() * 2 > self.table.len() {
            self.table = vec![FREE; (self.hashes.len() * 4).next_power_of_two()];
            self.placed = 0;
        }
        while self.placed < self.hashes.len() {
            let slot = self.slot_of(self.hashes[self.placed]);
            if self.table[slot] != FREE {
                let repeated = (self.placed, self.table[slot] as usize - 1);
                self.hashes.truncate(self.placed);
                return Some(repeated);
            }
            self.placed += 1;
            self.table[slot] = self.placed as u64;
        }
        None
    }

    /// Return the slot of a hash in the table, or the free one where it belongs.
    fn slot_of(&self, hash: u128) -> usize {
        let last = self.table.len() - 1;
        let mut slot = self.keys.first_slot(hash) & last;
        while self.table[slot] != FREE && self.hashes[self.table[slot] as usize - 1] != hash {
            slot = (slot + 1) & last;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(seen: &mut SeenIds, ids: impl IntoIterator<Item = String>) -> IdFacts {
        let keys = seen.keys();
        let mut new = Ids::new(&keys, 0);
        ids.into_iter().for_each(|id| new.push(id.as_bytes()));
        seen.add(&[new])
    }

    fn numbers(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
        range.map(|n| n.to_string())
    }

    #[test]
    fn a_repeated_id_is_reported_with_both_rows_wherever_they_are() {
        for is_rising in [true, false] {
            let mut seen = SeenIds::default();
            assert_eq!(add(&mut seen, numbers(0..5000)), IdFacts { shortest: 1, longest: 4, repeated: None });
            if !is_rising {
                assert_eq!(add(&mut seen, numbers(8000..9000)).repeated, None);
            }
            assert_eq!(add(&mut seen, numbers(5000..8000)).repeated, None);
            assert_eq!(seen.last.is_some(), is_rising);
            let rows = seen.hashes.len();
            let facts = add(&mut seen, ["new", "4321", "more"].map(str::to_owned));
            assert_eq!(facts, IdFacts { shortest: 3, longest: 4, repeated: Some((rows + 1, 4321)) });
        }
    }

    #[test]
    fn ids_around_the_length_that_is_kept_whole_differ_from_one_another() {
        let ids = |byte: char| (0..40).rev().map(move |len| String::from(byte).repeat(len));
        let mut seen = SeenIds::default();
        assert_eq!(add(&mut seen, ids('a')).repeated, None);
        assert_eq!(add(&mut seen, ids('\0').take(39)).repeated, None);
        assert_eq!(add(&mut seen, ids('\u{ff}').take(39)).repeated, None);
        for len in [0, 1, 14, 15, 16, 17, 39] {
            let mut again = SeenIds::default();
            assert_eq!(add(&mut again, ids('a')).repeated, None);
            assert_eq!(add(&mut again, ["a".repeat(len)]).repeated, Some((40, 39 - len)));
        }
    }

    #[test]
    fn an_id_twice_in_a_row_is_repeated() {
        for ids in [["7", "7"], ["", ""], ["a name of more than 15 bytes"; 2]] {
            let mut seen = SeenIds::default();
            assert_eq!(add(&mut seen, ids.map(str::to_owned)).repeated, Some((1, 0)));
            let mut seen = SeenIds::default();
            assert_eq!(add(&mut seen, [ids[0].to_owned()]).repeated, None);
            assert_eq!(add(&mut seen, [ids[0].to_owned()]).repeated, Some((1, 0)));
        }
    }
}
