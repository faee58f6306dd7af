//! Parallel work on all threads of the caller's rayon pool, or sequential work outside a pool.
//!
//! Nothing here starts a pool. rayon's global pool would lose its threads in a fork, and waking another thread takes
//! longer than a few rows. To get threads, call from within a pool: `pool.install(...)`.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

/// Return true if there are threads to share work with.
pub fn several() -> bool {
    rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1
}

/// Return the number of threads that share the work.
pub fn count() -> usize {
    if several() { rayon::current_num_threads() } else { 1 }
}

/// Apply `work` to each item, and return the results in the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if items.len() < 2 || !several() {
        return items.into_iter().map(work).collect();
    }
    let slots = Slots::new(items);
    each(slots.0.len(), &|index| slots.fill(index, &work, |_| true));
    slots.results().collect()
}

/// Do the same as [`map`] for work that can fail. It stops after a failure.
///
/// # Errors
///
/// An error of `work`; the first one if the work is sequential.
pub fn try_map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<R, E> + Send + Sync,
) -> Result<Vec<R>, E> {
    if items.len() < 2 || !several() {
        return items.into_iter().map(work).collect();
    }
    let slots = Slots::new(items);
    each(slots.0.len(), &|index| slots.fill(index, &work, Result::is_ok));
    // After a failure some items have no result, and at least one has an error.
    let (results, mut errors) = (Vec::with_capacity(slots.0.len()), Vec::new());
    let results = slots.results().fold(results, |mut results, result| {
        match result {
            Ok(result) => results.push(result),
            Err(error) => errors.push(error),
        }
        results
    });
    errors.into_iter().next().map_or(Ok(results), Err)
}

/// Return true if `what` is true for each item. It stops at the first item for which it is false.
pub fn all<T: Send>(items: Vec<T>, holds: impl Fn(T) -> bool + Send + Sync) -> bool {
    if items.len() < 2 || !several() {
        return items.into_iter().all(holds);
    }
    let slots = Slots::new(items);
    each(slots.0.len(), &|index| slots.fill(index, &holds, |holds| *holds))
}

/// Call `work` with each number below `count` on all threads, until it returns false. Return true if it never did.
///
/// Numbers are taken in order, so that what is done when the work ends early is mostly its beginning. It isn't generic,
/// because rayon's code would be compiled for each kind of items and results.
fn each(count: usize, work: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    let next = AtomicUsize::new(0);
    let take = |_| {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                number if number >= count => return true,
                number if work(number) => {}
                _ => {
                    next.store(count, Ordering::Relaxed);
                    return false;
                }
            }
        }
    };
    (0..self::count().min(count)).into_par_iter().with_max_len(1).all(take)
}

/// Items, each of which gives way to its result. A slot is locked by one thread, and once.
struct Slots<T, R>(Vec<Mutex<(Option<T>, Option<R>)>>);

impl<T, R> Slots<T, R> {
    fn new(items: Vec<T>) -> Self {
        Self(items.into_iter().map(|item| Mutex::new((Some(item), None))).collect())
    }

    /// Put the result of `work` in the place of an item, and return what `goes_on` says of it.
    fn fill(&self, index: usize, work: impl FnOnce(T) -> R, goes_on: impl FnOnce(&R) -> bool) -> bool {
        let mut slot = self.0[index].lock().unwrap_or_else(PoisonError::into_inner);
        let result = slot.0.take().map(work);
        let goes_on = result.as_ref().is_none_or(goes_on);
        slot.1 = result;
        goes_on
    }

    /// Return the results in the order of the items. Items that weren't reached have none.
    fn results(self) -> impl Iterator<Item = R> {
        self.0.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1)
    }
}

/// Return both results, computed in parallel if that pays.
pub fn join<A: Send, B: Send>(
    pays: bool,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if pays && several() { rayon::join(first, second) } else { (first(), second()) }
}

/// Return the content of a cell. If the cell is empty, make the content first.
///
/// `make` may share its work among threads, so it doesn't run under the cell's lock as it would with `get_or_init`. A
/// thread that waits for others takes up any work there is. If that work needed the same cell, the thread would wait
/// for itself. If several threads need the content at once, each makes it, and one result is kept.
pub fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(made) => made,
        None => {
            let content = make();
            cell.get_or_init(|| content)
        }
    }
}

/// Sort items; equal items may end up in any order.
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    if several() { items.par_sort_unstable() } else { items.sort_unstable() }
}

/// Split a range into ranges of `size`; the last one may be shorter.
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
                let ask = || pool.install(|| *get_or_make(&cell, make));
                std::thread::scope(|scope| {
                    let first = scope.spawn(ask);
                    nap(300); // Both threads of the pool are busy, and the one that finishes first looks for more work.
                    assert_eq!((ask(), first.join().unwrap()), (8, 8));
                });
            }
            done.send(()).unwrap();
        });
        assert_eq!(is_done.recv_timeout(std::time::Duration::from_secs(60)), Ok(()), "threads wait for themselves");
    }
}
