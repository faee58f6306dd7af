//! Work side by side: on all threads of the rayon pool that the caller is at work in, and in turn where it is in none.
//!
//! Nothing here starts a pool. rayon's own global one would outlive a fork without its threads, and for a few rows
//! waking another thread takes longer than the rows. Who wants threads calls from within a pool: `pool.install(...)`.

use std::ops::Range;
use std::sync::OnceLock;

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

/// Both results, found side by side where that pays.
pub fn join<A: Send, B: Send>(pays: bool, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
    if pays && several() { rayon::join(one, other) } else { (one(), other()) }
}

/// What a cell holds, made by whoever asks before it holds anything.
///
/// `make` may share its work among threads, so it doesn't run under the cell's lock, as `get_or_init` would have it: a thread
/// that waits for others takes up whatever work there is, be it a task that asks for the same, and would wait for itself.
/// Several that ask at once each make it, and one of them is kept.
pub fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(made) => made,
        None => {
            let own = make();
            cell.get_or_init(|| own)
        }
    }
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

    #[test]
    fn what_is_made_by_several_threads_is_never_waited_for_by_one_of_them() {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            let nap = |microseconds| std::thread::sleep(std::time::Duration::from_micros(microseconds));
            for _ in 0..100 {
                let cell = OnceLock::new();
                let make = || map(vec![200; 8], nap).len();
                let ask = || pool.install(|| *made(&cell, make));
                std::thread::scope(|scope| {
                    let first = scope.spawn(ask);
                    nap(300); // Both of the pool's threads are at it, and the one that is done first looks for more to do.
                    assert_eq!((ask(), first.join().unwrap()), (8, 8));
                });
            }
            done.send(()).unwrap();
        });
        assert_eq!(is_done.recv_timeout(std::time::Duration::from_secs(60)), Ok(()), "threads wait for themselves");
    }
}
