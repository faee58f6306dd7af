//! What rendering gave, as a Python object.

use arrow_array::ArrayRef;
use pyo3::prelude::*;

use super::arrow::export;
use crate::render;

/// The output columns of some rows, one value a request.
#[pyclass(frozen, name = "Outcome", module = "promptpress._core")]
pub(super) struct PyOutcome(pub(super) render::Outcome);

impl PyOutcome {
    fn array<'py>(py: Python<'py>, array: Option<&ArrayRef>) -> PyResult<Option<Bound<'py, PyAny>>> {
        array.map(|array| export(py, array.clone())).transpose()
    }
}

#[pymethods]
impl PyOutcome {
    /// First row that the requests are of.
    #[getter]
    fn start(&self) -> usize {
        self.0.start
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.0.rows
    }

    /// The label column; None in gen mode.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.0.labels.as_ref())
    }

    /// The turn column; None where requests are no turns.
    #[getter]
    fn turns<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.0.turns.as_ref())
    }

    /// The prompts, or lines of them.
    #[getter]
    fn prompts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export(py, self.0.prompts.clone())
    }

    /// Bytes of the requests' texts, where the prompts are lines of them; else None.
    #[getter]
    fn text_bytes(&self) -> Option<usize> {
        self.0.text_bytes
    }

    /// Where each request's bytes come from; None where that wasn't asked for.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.0.spans.as_ref())
    }

    /// The sample of each request; None where each sample has as many.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::array(py, self.0.samples.as_ref())
    }
}
