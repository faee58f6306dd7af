//! Work side by side: on all threads of the rayon pool that the caller is at work in, and in turn where it is in none.
//!
//! Nothing here starts a pool. rayon's own global one would outlive a fork without its threads, and for a few rows
//! waking another thread takes longer than the rows. Who wants threads calls from within a pool: `pool.install(...)`.

use std::ops::Range;

use rayon::prelude::*;

/// Whether there are threads to share work with.
pub fn several() -> bool {
    rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1
}

/// How many threads there are to share work among.
pub fn count() -> usize {
    if several() { rayon::current_num_threads() } else { 1 }
}

/// What `work` makes of each item, in their order.
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if items.len() > 1 && several() {
        items.into_par_iter().map(work).collect()
    } else {
        items.into_iter().map(work).collect()
    }
}

/// [`map`] of what can fail: stops as soon as one has failed.
///
/// # Errors
///
/// One that `work` returned; the first where the work is done in turn.
pub fn try_map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<R, E> + Send + Sync,
) -> Result<Vec<R>, E> {
    if items.len() > 1 && several() {
        items.into_par_iter().map(work).collect()
    } else {
        items.into_iter().map(work).collect()
    }
}

/// Whether `what` holds of each item; stops at the first of which it doesn't.
pub fn all<T: Send>(items: Vec<T>, what: impl Fn(T) -> bool + Send + Sync) -> bool {
    if items.len() > 1 && several() { items.into_par_iter().all(what) } else { items.into_iter().all(what) }
}

/// Both results, found side by side.
pub fn join<A: Send, B: Send>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
    if several() { rayon::join(one, other) } else { (one(), other()) }
}

/// Sort, equal items in any order.
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    if several() { items.par_sort_unstable() } else { items.sort_unstable() }
}

/// A range in ranges of `size`, the last one maybe shorter.
pub fn chunks(all: Range<usize>, size: usize) -> Vec<Range<usize>> {
    all.clone().step_by(size).map(|start| start..(start + size).min(all.end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_items() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let all: Vec<usize> = (0..1000).collect();
        assert_eq!(pool.install(|| map(all.clone(), |n| n * 2)), map(all, |n| n * 2));
    }
}
