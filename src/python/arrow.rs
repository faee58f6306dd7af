//! Arrow in and out by the PyCapsule interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyTable};

use super::guard::Imported;

use crate::error::{Error, Result};
use crate::render::{Host, sound};

/// A table's batches with at least one, so that a table without rows still has a schema.
pub(super) fn batches(Imported(table): Imported<PyTable>) -> Vec<RecordBatch> {
    let (mut batches, schema) = table.into_inner();
    batches.retain(|batch| batch.num_rows() > 0);
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    batches
}

/// All batches as one.
pub(super) fn one_batch(table: Imported<PyTable>) -> Result<RecordBatch> {
    let mut batches = batches(table);
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let schema = batches[0].schema();
    for column in batches.iter().flat_map(RecordBatch::columns) {
        sound(column)?;
    }
    arrow_select::concat::concat_batches(&schema, &batches).map_err(|e| Error::render(e.to_string()))
}

/// An array for pyarrow.
pub(super) fn export<'py>(py: Python<'py>, array: ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArray::from_array_ref(array);
    Ok(array.to_pyarrow(py)?.unbind().into_bound(py))
}

/// Row numbers from `start` on, each `times` times: which row a request belongs to.
#[pyfunction]
pub(super) fn repeated_rows(py: Python<'_>, start: usize, rows: usize, times: usize) -> PyResult<Bound<'_, PyAny>> {
    let numbers = (start..start + rows).flat_map(|row| std::iter::repeat_n(row as i64, times));
    export(py, Arc::new(numbers.collect::<Int64Array>()))
}

/// Metadata of a column of row numbers: whose rows they are.
const TABLE: &str = "ARROW:extension:metadata";

/// The interpreter, as rendering asks it for things.
///
/// `lower(column, row numbers) -> texts` gives the texts of columns that the core only has the row numbers of. The samples
/// and the examples have one each, and a column says whose it is, whichever of them is being rendered.
pub(super) struct Interpreter<'r> {
    samples: Option<Py<PyAny>>,
    examples: Option<&'r Py<PyAny>>,
    /// The exception that stopped the work.
    failure: Mutex<Option<PyErr>>,
    /// Whether to stop at the next look.
    interrupted: AtomicBool,
}

impl<'r> Interpreter<'r> {
    pub(super) fn new(samples: Option<Py<PyAny>>, examples: Option<&'r Py<PyAny>>) -> Self {
        Self { samples, examples, failure: Mutex::new(None), interrupted: AtomicBool::new(false) }
    }

    pub(super) fn failure(&self) -> Option<PyErr> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// Let the work stop with this exception.
    pub(super) fn interrupt(&self, error: PyErr) {
        self.stop(error);
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn stop(&self, error: PyErr) -> Error {
        *self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        Error::stopped()
    }
}

impl Host for Interpreter<'_> {
    fn lower(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef> {
        let of_examples = field.metadata().get(TABLE).is_some_and(|of| of == "examples");
        let lower = if of_examples { self.examples } else { self.samples.as_ref() };
        let Some(lower) = lower else {
            return Err(Error::render("the column's values are not at hand").in_column(field.name()));
        };
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let texts = lower.bind(py).call1((field.name(), rows))?;
            Ok(texts.extract::<Imported<PyArray>>()?.0.into_inner().0)
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn check(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) { Err(Error::stopped()) } else { Ok(()) }
    }
}
