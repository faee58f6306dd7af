//! Pieces of texts with their ids, so that a piece that comes again isn't encoded again.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use foldhash::fast::RandomState;

/// A longer piece isn't kept.
const MAX_PIECE: usize = 1 << 16;

/// The bytes of all pieces that are kept, with their ids. With more, all are dropped.
const MAX_BYTES: usize = 1 << 25;

/// Hashes of pieces that came once.
const MAX_SEEN: usize = 1 << 15;

/// Keeps pieces that have come twice: most of what data brings comes once.
#[derive(Default)]
pub(super) struct Memory {
    /// The ids of pieces, keyed by their hashes. Of two pieces with one hash, the first is kept.
    pieces: HashMap<u64, Kept, BuildHasherDefault<Itself>>,
    bytes: usize,
    seen: Vec<u64>,
    hasher: RandomState,
}

struct Kept {
    text: Box<str>,
    is_first: bool,
    ids: Box<[i32]>,
}

/// The hash of a hash.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Memory {
    /// Return the hash of a piece. The ids of one at the beginning of a text may differ from those of others.
    #[inline]
    pub(super) fn hash(&self, piece: &str, is_first: bool) -> u64 {
        self.hasher.hash_one(piece) ^ u64::from(is_first)
    }

    /// Return the ids of a piece with this hash, if it is kept.
    #[inline]
    pub(super) fn get(&self, hash: u64, piece: &str, is_first: bool) -> Option<&[i32]> {
        let kept = self.pieces.get(&hash)?;
        (kept.is_first == is_first && *kept.text == *piece).then_some(&kept.ids)
    }

    /// Keep the ids of a piece with this hash, if it isn't new.
    pub(super) fn note(&mut self, hash: u64, piece: &str, is_first: bool, ids: &[i32]) {
        if piece.len() > MAX_PIECE {
            return;
        }
        if self.seen.is_empty() {
            self.seen = vec![0; MAX_SEEN];
        }
        let seen = &mut self.seen[hash as usize % MAX_SEEN];
        if *seen != hash {
            *seen = hash;
            return;
        }
        self.bytes += piece.len() + size_of_val(ids);
        if self.bytes > MAX_BYTES {
            self.pieces.clear();
            self.bytes = 0;
            return;
        }
        self.pieces.entry(hash).or_insert_with(|| Kept { text: piece.into(), is_first, ids: ids.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_kept_when_it_has_come_twice() {
        let mut memory = Memory::default();
        let hash = memory.hash("ab", true);
        for _ in 0..2 {
            assert_eq!(memory.get(hash, "ab", true), None);
            memory.note(hash, "ab", true, &[1, 2]);
        }
        assert_eq!(memory.get(hash, "ab", true), Some(&[1, 2][..]));
        assert_eq!(memory.get(hash, "ab", false), None);
        assert_eq!(memory.get(hash, "abc", true), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        let text = "x".repeat(MAX_PIECE - 8);
        for number in 0..(MAX_BYTES / MAX_PIECE + 4) {
            let piece = format!("{number:8}{text}");
            let hash = memory.hash(&piece, false);
            (0..2).for_each(|_| memory.note(hash, &piece, false, &[1]));
        }
        assert!(memory.bytes <= MAX_BYTES && memory.pieces.len() < 8);
    }
}
