//! Which ids have been there before, in a few bytes a row however long the ids are.

use std::hash::{BuildHasher as _, RandomState};

/// A place of the table that no row has taken.
const FREE: u64 = 0;

/// The bytes of an id that is kept as it is: all of a hash but one, which has their number.
const MAX_WHOLE_BYTES: usize = size_of::<u128>() - 1;
/// What that byte is of others.
const HASHED: u8 = u8::MAX;

/// Hashes ids with keys that are drawn when it is made, so nobody can make ids on purpose that have one hash. A short one
/// is its own hash.
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

    /// Where a hash should stand in a table: short ids can be made on purpose so that their bytes agree.
    fn place(&self, hash: u128) -> usize {
        self.0[0].hash_one(hash) as usize
    }
}

/// The ids of some rows in a row, as far as it takes to compare them with others.
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

/// An order in which ids stand that end with a number that counts up.
fn is_below(a: &[u8], b: &[u8]) -> bool {
    (a.len(), a) < (b.len(), b)
}

/// What has been found of the ids of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundIds {
    /// The bytes of the shortest one; the largest number where there are no rows.
    pub shortest: usize,
    /// The bytes of the longest one.
    pub longest: usize,
    /// The first row whose id has been there, and the row that had it; counted from the first that was ever taken.
    pub repeated: Option<(usize, usize)>,
}

/// The ids of rows, by hashes of 120 bits: two rows that differ have one hash by chance once in far more rows than
/// there are.
///
/// Ids that rise from row to row, as row numbers do, differ; only when one doesn't, all are put into the table.
pub struct SeenIds {
    keys: Keys,
    /// The hash of each row.
    hashes: Vec<u128>,
    /// The last id, while all have risen.
    last: Option<Vec<u8>>,
    /// An open table of row numbers, each plus one; at most half of it is taken. It has the first `placed` rows.
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
    /// What hashes ids that are to be added.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Takes the ids of the next rows. What comes behind a repeated one isn't taken.
    pub fn add(&mut self, parts: &[Ids]) -> FoundIds {
        let mut found = FoundIds { shortest: usize::MAX, longest: 0, repeated: None };
        for ids in parts {
            found.shortest = found.shortest.min(ids.shortest);
            found.longest = found.longest.max(ids.longest);
            let before = self.hashes.len();
            self.hashes.extend_from_slice(&ids.hashes);
            self.last = match self.last.take() {
                Some(last) if ids.is_rising && (before == 0 || is_below(&last, &ids.first)) => Some(ids.last.clone()),
                _ => None,
            };
            if self.last.is_none() {
                found.repeated = self.place_all();
            }
            if found.repeated.is_some() {
                break;
            }
        }
        found
    }

    /// Puts the rows into the table that it doesn't have yet, up to a repeated one.
    fn place_all(&mut self) -> Option<(usize, usize)> {
        if self.hashes.len() * 2 > self.table.len() {
            self.table = vec![FREE; (self.hashes.len() * 4).next_power_of_two()];
            self.placed = 0;
        }
        while self.placed < self.hashes.len() {
            let place = self.place(self.hashes[self.placed]);
            if self.table[place] != FREE {
                let repeated = (self.placed, self.table[place] as usize - 1);
                self.hashes.truncate(self.placed);
                return Some(repeated);
            }
            self.placed += 1;
            self.table[place] = self.placed as u64;
        }
        None
    }

    /// Where a hash stands in the table, or would.
    fn place(&self, hash: u128) -> usize {
        let last = self.table.len() - 1;
        let mut place = self.keys.place(hash) & last;
        while self.table[place] != FREE && self.hashes[self.table[place] as usize - 1] != hash {
            place = (place + 1) & last;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(seen: &mut SeenIds, ids: impl IntoIterator<Item = String>) -> FoundIds {
        let keys = seen.keys();
        let mut taken = Ids::new(&keys, 0);
        ids.into_iter().for_each(|id| taken.push(id.as_bytes()));
        seen.add(&[taken])
    }

    fn numbers(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
        range.map(|n| n.to_string())
    }

    #[test]
    fn a_repeated_id_is_told_with_both_rows_wherever_they_are() {
        for is_rising in [true, false] {
            let mut seen = SeenIds::default();
            assert_eq!(add(&mut seen, numbers(0..5000)), FoundIds { shortest: 1, longest: 4, repeated: None });
            if !is_rising {
                assert_eq!(add(&mut seen, numbers(8000..9000)).repeated, None);
            }
            assert_eq!(add(&mut seen, numbers(5000..8000)).repeated, None);
            assert_eq!(seen.last.is_some(), is_rising);
            let rows = seen.hashes.len();
            let found = add(&mut seen, ["new", "4321", "more"].map(str::to_owned));
            assert_eq!(found, FoundIds { shortest: 3, longest: 4, repeated: Some((rows + 1, 4321)) });
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
