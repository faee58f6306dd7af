//! Runs long work detached from the interpreter, on threads that survive a fork.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::guard::{raise, run_caught};
use super::interpreter::{Interpreter, SIGNAL_CHECK_INTERVAL};

struct SharedPool {
    /// The process of the pool's threads. A forked child has none of them.
    process: u32,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<SharedPool> = Mutex::new(SharedPool { process: 0, threads: None, pool: None });

/// The maximum number of threads. No machine has more cores, and each thread takes a stack.
const MAX_THREADS: usize = 1024;

/// Return the number of threads in `PROMPTPRESS_THREADS`. Without it, return the number of cores that the process may
/// use.
fn default_threads() -> usize {
    let setting = std::env::var("PROMPTPRESS_THREADS").ok().and_then(|s| s.trim().parse::<usize>().ok());
    let threads = setting.filter(|n| *n > 0);
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).min(MAX_THREADS)
}

/// Set the number of threads that rendering uses, for all of this process.
///
/// Args:
///     n: How many; None for the default: `PROMPTPRESS_THREADS`, else all cores that the process may use.
///
/// Raises:
///     `ValueError`: If it isn't from 1 to 1024.
///
/// >>> from promptpress import set_threads
/// >>> set_threads(2)
/// >>> set_threads(None)
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(super) fn set_threads(n: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
    let count = |n: &Bound<'_, PyInt>| {
        let fits = n.extract::<usize>().ok().filter(|n| (1..=MAX_THREADS).contains(n));
        fits.ok_or_else(|| PyValueError::new_err(format!("expected 1 to {MAX_THREADS} threads, found {n}")))
    };
    let n = n.map(count).transpose()?;
    let mut shared = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.threads != n {
        shared.threads = n;
        forget(&mut shared);
    }
    Ok(())
}

/// Return the number of threads that rendering uses.
#[pyfunction]
pub(super) fn threads() -> usize {
    POOL.lock().unwrap_or_else(PoisonError::into_inner).threads.unwrap_or_else(default_threads)
}

/// Give up the pool. A forked child doesn't have its threads, so waiting for them would never end.
fn forget(shared: &mut SharedPool) {
    if let Some(pool) = shared.pool.take()
        && shared.process != std::process::id()
    {
        std::mem::forget(pool);
    }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut shared = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.process != std::process::id() {
        forget(&mut shared);
        shared.process = std::process::id();
    }
    if let Some(pool) = &shared.pool {
        return Ok(pool.clone());
    }
    let threads = shared.threads.unwrap_or_else(default_threads);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("promptpress-{n}"))
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("can't start {threads} threads: {e}")))?;
    let pool = Arc::new(pool);
    shared.pool = Some(pool.clone());
    Ok(pool)
}

/// The maximum number of rows that are rendered faster than another thread wakes up.
const MAX_ROWS_ON_CALLER: usize = 64;

/// Run `work` for `rows` rows, as [`detached`] does. If there are few rows, the calling thread does the work itself.
/// Their values may be large, so the work checks for signals itself.
pub(super) fn detached_rows<T: Send>(
    py: Python<'_>,
    host: Option<&Interpreter>,
    rows: usize,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    run_detached(py, host, rows, &mut || result = work.take().map(|work| work()))?;
    result.ok_or_else(lost)
}

/// Run `work` on the pool while other Python threads continue.
///
/// Python handles signals on the calling thread, so this thread waits here and checks for them. It stops the work
/// through `host`. A panic in the work becomes an exception here.
pub(super) fn detached<T: Send>(
    py: Python<'_>,
    host: Option<&Interpreter>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    detached_rows(py, host, usize::MAX, work)
}

/// Do the same as [`detached_rows`] for work without a result. It isn't generic, because it would be compiled for each
/// caller.
fn run_detached(
    py: Python<'_>,
    host: Option<&Interpreter>,
    rows: usize,
    work: &mut (dyn FnMut() + Send),
) -> PyResult<()> {
    if rows <= MAX_ROWS_ON_CALLER {
        return py.detach(|| run_caught(work)).map_err(|panic| raise(&panic));
    }
    let pool = pool()?;
    let done = py.detach(|| {
        let (send, receive) = mpsc::channel();
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // Sending fails only if the receiver panicked.
                let _ = send.send(run_caught(work));
            });
            loop {
                match receive.recv_timeout(SIGNAL_CHECK_INTERVAL) {
                    Ok(done) => return Some(done),
                    Err(RecvTimeoutError::Timeout) => {
                        if let (Some(host), Err(error)) = (host, Python::attach(|py| py.check_signals())) {
                            host.interrupt(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
        })
    });
    match done {
        Some(Ok(())) => Ok(()),
        Some(Err(panic)) => Err(raise(&panic)),
        None => Err(lost()),
    }
}

fn lost() -> PyErr {
    PyRuntimeError::new_err("the work was lost")
}

/// Panic on purpose, on the calling thread or on a thread of the pool. This tests the guard.
///
/// # Errors
///
/// It always fails, with the guard's exception.
#[pyfunction]
pub(super) fn panicking(py: Python<'_>, on_pool: bool) -> PyResult<()> {
    detached_rows(py, None, if on_pool { usize::MAX } else { 0 }, || panic!("on purpose"))
}
