//! Arrow in and out by the PyCapsule interface.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PySchema, PyTable};

use super::errors::to_python;
use super::guard::{caught, raise};
use crate::error::{Code, Error};

/// An argument that is taken over from Arrow's C interface, by code that trusts what it is told.
pub(super) struct Imported<T>(pub(super) T);

macro_rules! imported {
    ($($kind:ty),+) => {$(
        impl<'py> FromPyObject<'_, 'py> for Imported<$kind> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                caught(|| object.extract::<$kind>()).map_err(|panic| raise(&panic))?.map(Self).map_err(|error| {
                    let message = format!("the Arrow data can't be taken over: {error}");
                    let fault = to_python(object.py(), &Error::render(Code::MalformedArray, message), None);
                    fault.set_cause(object.py(), Some(error));
                    fault
                })
            }
        }
    )+};
}

imported!(PyArray, PySchema, PyTable);

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
pub(super) fn one_batch(py: Python<'_>, table: Imported<PyTable>) -> PyResult<RecordBatch> {
    let mut batches = batches(table);
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let schema = batches[0].schema();
    let joined = caught(|| arrow_select::concat::concat_batches(&schema, &batches)).map_err(|panic| raise(&panic))?;
    joined.map_err(|e| to_python(py, &Error::render(Code::OffsetOverflow, e.to_string()), None))
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
