//! The state of a stream, for Python.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::plan::Draws;
use crate::render::Divergence;

/// The rows whose values were filled in or took part in a placeholder.
#[derive(Clone, Default)]
pub(super) struct FilledRows {
    /// The number of rows.
    pub(super) count: usize,
    /// The first row, with the columns whose values did so.
    pub(super) first: Option<Divergence>,
    /// True if every row has to be compared; None if that isn't known yet.
    pub(super) compares_all: Option<bool>,
    /// True if a text that isn't a copy differs from that of the other rule; None if that isn't known yet.
    pub(super) compares_copies: Option<bool>,
    /// The shapes whose plans are the same under both rules.
    pub(super) same_shapes: HashSet<Vec<u32>>,
    /// True if some rows couldn't be compared.
    pub(super) is_partial: bool,
}

/// The state of a stream: the number of rows so far, the state of random draws, and the rows with filled values.
#[pyclass(frozen, module = "promptpress._core")]
#[derive(Default)]
pub(super) struct StreamState {
    pub(super) inner: Mutex<(usize, Option<Draws>)>,
    /// None if nobody asks for them.
    pub(super) filled: Option<Mutex<FilledRows>>,
}

#[pymethods]
impl StreamState {
    /// Make the state at the beginning of a stream; `counts` asks for the rows with filled values.
    #[new]
    #[pyo3(signature = (counts=false))]
    fn new(counts: bool) -> Self {
        Self { filled: counts.then(Mutex::default), ..Self::default() }
    }

    /// Return a copy of the state, which doesn't count rows with filled values.
    fn copy(&self) -> Self {
        Self { inner: Mutex::new(self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()), filled: None }
    }

    /// The number of rows so far.
    #[getter]
    fn rows(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// The number of rows with filled values, the first of them with its columns, and whether some rows are unknown.
    #[getter]
    fn filled(&self) -> (usize, Option<(usize, Vec<String>)>, bool) {
        let Some(filled) = &self.filled else { return (0, None, false) };
        let filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
        let first = filled.first.as_ref();
        let first = first.map(|first| (first.row, first.columns.iter().map(ToString::to_string).collect()));
        (filled.count, first, filled.is_partial)
    }
}
