//! Runs that were put together, kept for those who ask for the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a run shows, in order.
pub type RunKey = Vec<RunPiece>;

/// A piece of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunPiece {
    /// A part of the fragment.
    Part(u32),
    /// What stands between parts.
    Lit(Box<[u8]>),
}

/// A run of each fragment, one after the other.
#[derive(Debug)]
pub struct Run {
    /// Where each begins; one more than there are fragments.
    pub offsets: Vec<i32>,
    /// The bytes of all.
    pub bytes: Vec<u8>,
}

/// The runs that were asked for; None where one couldn't be put together.
#[derive(Default)]
pub struct RunCache(Mutex<HashMap<RunKey, Option<Arc<Run>>>>);

impl RunCache {
    /// The run of a key, made when it is first asked for.
    pub fn get(&self, key: &RunKey, make: impl FnOnce() -> Option<Run>) -> Option<Arc<Run>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = lock().get(key) {
            return made.clone();
        }
        // Not under the lock: a thread that waits for others may take up work that asks for a run too.
        let made = make().map(Arc::new);
        lock().entry(key.clone()).or_insert(made).clone()
    }
}
