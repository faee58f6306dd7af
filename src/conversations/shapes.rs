//! Numbers the shapes of conversations, up to a limit.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of a conversation whose shape isn't kept, or that can't be read here.
pub const NO_SHAPE: u32 = u32::MAX;

/// So many shapes that occurred once are remembered, each as a hash of 64 bits.
const REMEMBERED: usize = 1 << 16;

/// A longer skeleton isn't a shape, because hardly any other conversation would have it too.
const MAX_SKELETON_BYTES: usize = 1 << 20;

/// Shapes that occurred at least twice.
///
/// For a shape that occurred once, only a hash is kept: conversations with ids in them would fill any store, and their
/// shapes never occur again.
pub struct Shapes {
    limit: usize,
    bytes: usize,
    /// The texts whose JSON is read as if it stood in their place.
    pub opened: OpenedTexts,
    kept: Mutex<Kept>,
}

/// Texts of messages that are opened: their JSON belongs to the shape as if it stood in their place.
#[derive(Clone, Debug, Default)]
pub struct OpenedTexts {
    /// Roles, in any case, whose content is a call of a tool, or a list of calls.
    pub call_roles: Vec<String>,
    /// True if arguments of calls are opened.
    pub arguments: bool,
}

impl OpenedTexts {
    /// Return true if the content of a message of this role is a call.
    pub fn is_call(&self, role: &[u8]) -> bool {
        self.call_roles.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(role))
    }
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
    /// Begin without shapes; at most `limit` shapes with `bytes` bytes together are kept.
    pub fn new(limit: usize, bytes: usize) -> Self {
        Self { limit: limit.min(NO_SHAPE as usize), bytes, opened: OpenedTexts::default(), kept: Mutex::default() }
    }

    /// Return the number of a shape; [`NO_SHAPE`] for its first occurrence, and if no more shapes may be kept.
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

    /// Return the skeleton of a shape, if there is a shape of this number.
    pub fn skeleton(&self, number: u32) -> Option<Arc<str>> {
        self.lock().skeletons.get(number as usize).cloned()
    }

    /// Return the number of shapes.
    pub fn len(&self) -> usize {
        self.lock().skeletons.len()
    }

    /// Return true if there are no shapes.
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
