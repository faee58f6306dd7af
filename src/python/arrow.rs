//! Arrow in and out by the PyCapsule interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyTable};

use super::value;
use crate::error::{Error, Result};
use crate::render::Host;
use crate::value::Value;

/// A table's batches with at least one, so that a table without rows still has a schema.
pub(super) fn batches(table: PyTable) -> Vec<RecordBatch> {
    let (mut batches, schema) = table.into_inner();
    batches.retain(|batch| batch.num_rows() > 0);
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    batches
}

/// All batches as one.
pub(super) fn one_batch(table: PyTable) -> Result<RecordBatch> {
    let mut batches = batches(table);
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let schema = batches[0].schema();
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

/// The interpreter, as rendering asks it for things.
pub(super) struct Interpreter {
    /// `lower(column, row numbers) -> texts`, for columns that the core only has the row numbers of; with True behind
    /// them, their values as Python has them.
    lower: Py<PyAny>,
    /// The exception that stopped the work.
    failure: Mutex<Option<PyErr>>,
    /// Whether to stop at the next look.
    interrupted: AtomicBool,
    /// The thread that asked for the work, which nobody looks at signals for while it does the work itself.
    thread: ThreadId,
    /// When it looked last.
    looked: Mutex<Instant>,
}

/// How often the thread that asked for the work looks at signals.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

impl Interpreter {
    pub(super) fn new(lower: Py<PyAny>) -> Self {
        Self {
            lower,
            failure: Mutex::new(None),
            interrupted: AtomicBool::new(false),
            thread: std::thread::current().id(),
            looked: Mutex::new(Instant::now()),
        }
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

impl Host for Interpreter {
    fn lower(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef> {
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let texts = self.lower.bind(py).call1((field.name(), rows))?;
            Ok(texts.extract::<PyArray>()?.into_inner().0)
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn values(&self, field: &Field, array: &ArrayRef) -> Result<Vec<Value>> {
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let values = self.lower.bind(py).call1((field.name(), rows, true))?;
            values.try_iter()?.map(|value| value::from_python(&value?)).collect::<PyResult<Vec<_>>>()
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn check(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::stopped());
        }
        if std::thread::current().id() == self.thread {
            let mut looked = self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if looked.elapsed() >= PATIENCE {
                *looked = Instant::now();
                Python::attach(|py| py.check_signals()).map_err(|e| self.stop(e))?;
            }
        }
        Ok(())
    }
}
