//! How far a stream has come, for Python.

use std::sync::Mutex;

use pyo3::prelude::*;

use crate::plan::Draws;

/// How far a stream has come: rows seen, and the state of random draws.
#[pyclass(frozen, module = "promptpress._core")]
#[derive(Default)]
pub(super) struct Position {
    pub(super) inner: Mutex<(usize, Option<Draws>)>,
}

#[pymethods]
impl Position {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The same position, for another run from here on.
    fn copy(&self) -> Self {
        let inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Self { inner: Mutex::new(inner.clone()) }
    }
}
