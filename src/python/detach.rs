//! The one door for long work: detached from the interpreter, on threads that survive a fork.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::arrow::{Interpreter, PATIENCE};

struct Shared {
    /// The process that the pool's threads live in: a forked child has none of them.
    process: u32,
    threads: Option<usize>,
    pool: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Shared> = Mutex::new(Shared { process: 0, threads: None, pool: None });

/// Threads that `PROMPTPRESS_THREADS` asks for, else all cores that the process may use.
fn default_threads() -> usize {
    let asked = std::env::var("PROMPTPRESS_THREADS").ok().and_then(|s| s.trim().parse::<usize>().ok());
    asked.filter(|n| *n > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Set the number of threads that rendering uses; None for the default.
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(super) fn set_threads(n: Option<i64>) -> PyResult<()> {
    if let Some(n) = n
        && n < 1
    {
        return Err(PyValueError::new_err(format!("expected at least one thread, found {n}")));
    }
    let n = n.map(|n| n as usize);
    let mut shared = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.threads != n {
        shared.threads = n;
        forget(&mut shared);
    }
    Ok(())
}

/// The number of threads that rendering uses.
#[pyfunction]
pub(super) fn threads() -> usize {
    POOL.lock().unwrap_or_else(PoisonError::into_inner).threads.unwrap_or_else(default_threads)
}

/// Give up the pool. In a forked child its threads don't exist, and waiting for them would never end.
fn forget(shared: &mut Shared) {
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

/// Rows that are rendered faster than another thread wakes up.
const FEW: usize = 64;

/// [`detached`] for `rows` rows: a few of them on the thread that asks, which looks at signals as the work lets it: values
/// may be gigantic.
pub(super) fn detached_rows<T: Send>(
    py: Python<'_>,
    host: &Interpreter,
    rows: usize,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if rows <= FEW { Ok(py.detach(work)) } else { detached(py, Some(host), work) }
}

/// Run `work` on the pool while other Python threads go on.
///
/// Python handles signals on the thread that it runs on, so that thread waits here and looks; the work is told by `host`.
pub(super) fn detached<T: Send>(
    py: Python<'_>,
    host: Option<&Interpreter>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let pool = pool()?;
    let done = py.detach(|| {
        let (send, receive) = mpsc::channel();
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // Nobody is left to tell only if the receiver panicked.
                let _ = send.send(catch_unwind(AssertUnwindSafe(work)));
            });
            loop {
                match receive.recv_timeout(PATIENCE) {
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
        Some(Ok(value)) => Ok(value),
        Some(Err(panic)) => resume_unwind(panic),
        None => Err(PyRuntimeError::new_err("the work was lost")),
    }
}
