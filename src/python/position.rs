//! How far a stream has come, for Python.

use std::sync::{Mutex, PoisonError};

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

    /// Return another position at the same place.
    fn copy(&self) -> Self {
        Self { inner: Mutex::new(self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()) }
    }
}
