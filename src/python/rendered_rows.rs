//! The result of rendering, as a Python object.

use arrow_array::ArrayRef;
use pyo3::prelude::*;

use super::arrow::export;
use crate::render;

/// The output columns of some rows, with one value for each request.
#[pyclass(frozen, name = "RenderedRows", module = "promptpress._core")]
pub(super) struct PyRenderedRows {
    pub(super) rows: render::RenderedRows,
    /// A hash of each request, if the caller wants them.
    pub(super) hashes: Option<ArrayRef>,
}

impl PyRenderedRows {
    fn array<'py>(py: Python<'py>, array: Option<&ArrayRef>) -> PyResult<Option<Bound<'py, PyAny>>> {
        array.map(|array| export(py, array.clone())).transpose()
    }
}

#[pymethods]
impl PyRenderedRows {
    /// Return the first row of the requests.
    #[getter]
    fn start(&self) -> usize {
        self.rows.start
    }

    /// Return the number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.rows.rows
    }

    /// Return the label column, or None in gen mode.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.rows.labels.as_ref())
    }

    /// Return the turn column, or None if the requests aren't turns.
    #[getter]
    fn turns<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.rows.turns.as_ref())
    }

    /// Return the prompts, or lines with the prompts.
    #[getter]
    fn prompts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export(py, self.rows.prompts.clone())
    }

    /// Return the number of bytes of the requests' texts if the prompts are lines, or None otherwise.
    #[getter]
    fn text_bytes(&self) -> Option<usize> {
        self.rows.text_bytes
    }

    /// Return the error of each request that is null, or None if errors are raised.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.rows.errors.as_ref())
    }

    /// Return a hash of each request, or None if the caller doesn't want them.
    #[getter]
    fn hashes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.hashes.as_ref())
    }

    /// Return the origin of each request's bytes, or None if the caller doesn't want it.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.rows.spans.as_ref())
    }

    /// Return the sample of each request, or None if all samples have the same number of requests.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.rows.samples.as_ref())
    }
}
