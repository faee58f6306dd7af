//! The shapes that were met, numbered; as many as may be.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of a conversation whose shape isn't kept, or that can't be read here.
pub const NO_SHAPE: u32 = u32::MAX;

/// So many shapes that were met once are remembered, by a number of 64 bits each.
const REMEMBERED: usize = 1 << 16;

/// A skeleton of more bytes is no shape: nothing else would have it too.
const MAX_SKELETON_BYTES: usize = 1 << 20;

/// Shapes that were met at least twice.
///
/// What is met once is known to have been there, and not kept: conversations that carry ids of their own would fill any
/// store, and for none of them a second one would come.
pub struct Shapes {
    limit: usize,
    bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    numbers: HashMap<Arc<str>, u32>,
    skeletons: Vec<Arc<str>>,
    bytes: usize,
    met: HashSet<u64>,
    hasher: RandomState,
}

impl Shapes {
    /// No shapes yet; at most `limit` of them, of `bytes` bytes, will be kept.
    pub fn new(limit: usize, bytes: usize) -> Self {
        Self { limit: limit.min(NO_SHAPE as usize), bytes, kept: Mutex::default() }
    }

    /// The number of a shape; [`NO_SHAPE`] when it is met for the first time, and where no more may be kept.
    pub fn number(&self, skeleton: &str) -> u32 {
        if skeleton.len() > MAX_SKELETON_BYTES {
            return NO_SHAPE;
        }
        let mut kept = self.lock();
        if let Some(number) = kept.numbers.get(skeleton) {
            return *number;
        }
        let hash = kept.hasher.hash_one(skeleton);
        if !kept.met.contains(&hash) {
            if kept.met.len() == REMEMBERED {
                kept.met.clear();
            }
            kept.met.insert(hash);
            return NO_SHAPE;
        }
        if kept.skeletons.len() == self.limit || kept.bytes + skeleton.len() > self.bytes {
            return NO_SHAPE;
        }
        let number = kept.skeletons.len() as u32;
        let skeleton: Arc<str> = Arc::from(skeleton);
        kept.met.remove(&hash);
        kept.bytes += skeleton.len();
        kept.skeletons.push(Arc::clone(&skeleton));
        kept.numbers.insert(skeleton, number);
        number
    }

    /// The skeleton of a shape, if there is one of this number.
    pub fn skeleton(&self, number: u32) -> Option<Arc<str>> {
        self.lock().skeletons.get(number as usize).cloned()
    }

    /// How many shapes are kept.
    pub fn len(&self) -> usize {
        self.lock().skeletons.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_a_number_from_the_second_time_on_as_long_as_there_is_room() {
        let shapes = Shapes::new(2, 100);
        let numbers = ["a", "b", "a", "a", "c", "c", "b", "b", "a"].map(|text| shapes.number(text));
        assert_eq!(numbers, [NO_SHAPE, NO_SHAPE, 0, 0, NO_SHAPE, 1, NO_SHAPE, NO_SHAPE, 0]);
        assert_eq!(shapes.skeleton(1).as_deref(), Some("c"));
        assert_eq!((shapes.skeleton(2), shapes.len()), (None, 2));
        let small = Shapes::new(9, 3);
        assert_eq!(["abcd", "abcd", "abc", "abc"].map(|text| small.number(text)), [NO_SHAPE, NO_SHAPE, NO_SHAPE, 0]);
    }

    #[test]
    fn shapes_that_are_met_once_take_no_room_for_ever() {
        let shapes = Shapes::new(10, 1000);
        for n in 0..3 * REMEMBERED {
            assert_eq!(shapes.number(&n.to_string()), NO_SHAPE);
        }
        assert!(shapes.is_empty() && shapes.lock().met.len() <= REMEMBERED);
    }
}
