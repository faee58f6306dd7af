//! Caches runs that were put together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The pieces of a run, in order.
pub type RunKey = Vec<RunPiece>;

/// A piece of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunPiece {
    /// A part of the fragment.
    Part(u32),
    /// A literal between parts.
    Lit(Box<[u8]>),
}

/// A run of each fragment, one after the other.
#[derive(Debug)]
pub struct Run {
    /// The start of each fragment's run, then the end of the last run.
    pub offsets: Vec<i32>,
    /// The bytes of all runs.
    pub bytes: Vec<u8>,
}

/// The requested runs; None for a run that couldn't be put together.
#[derive(Default)]
pub struct RunCache(Mutex<HashMap<RunKey, Option<Arc<Run>>>>);

impl RunCache {
    /// Return the run of a key, and make it on first use.
    pub fn get(&self, key: &RunKey, make: impl FnOnce() -> Option<Run>) -> Option<Arc<Run>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = lock().get(key) {
            return cached.clone();
        }
        // The lock isn't held here: a thread that waits for others may take up work that needs a run too.
        let run = make().map(Arc::new);
        lock().entry(key.clone()).or_insert(run).clone()
    }
}
