//! The one door for long work: detached from the interpreter, on threads that survive a fork.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

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
pub(super) fn set_threads(n: Option<usize>) -> PyResult<()> {
    if n == Some(0) {
        return Err(PyValueError::new_err("expected at least one thread, found 0"));
    }
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

/// Run `work` on the pool while other Python threads go on.
pub(super) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool()?;
    Ok(py.detach(|| pool.install(work)))
}
