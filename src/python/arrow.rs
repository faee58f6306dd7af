//! Arrow in and out by the PyCapsule interface.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, make_array};
use arrow_data::ArrayData;
use arrow_pyarrow::{FromPyArrow, Table, ToPyArrow};
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::intern;
use pyo3::prelude::*;

use super::errors::to_python;
use super::guard::{caught, raise};
use crate::error::{Code, Error};
use crate::render::joined;

/// An argument that is taken over from Arrow's C interface, by code that trusts what it is told.
pub(super) struct Imported<T>(pub(super) T);

/// What can be taken over.
pub(super) trait Import: Sized {
    /// Take over what a Python object exports.
    ///
    /// # Errors
    ///
    /// Python's, where it exports nothing like that.
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl Import for ArrayRef {
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        ArrayData::from_pyarrow_bound(object).map(make_array)
    }
}

impl Import for SchemaRef {
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Schema::from_pyarrow_bound(object).map(Arc::new)
    }
}

impl Import for Table {
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::from_pyarrow_bound(object)
    }
}

impl<'py, T: Import> FromPyObject<'_, 'py> for Imported<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        caught(|| T::import(&object)).map_err(|panic| raise(&panic))?.map(Self).map_err(|error| {
            let message = format!("the Arrow data can't be taken over: {error}");
            let fault = to_python(object.py(), &Error::render(Code::MalformedArray, message), None);
            fault.set_cause(object.py(), Some(error));
            fault
        })
    }
}

/// An array with the field of a column that has no name.
pub(super) fn unnamed(Imported(array): Imported<ArrayRef>) -> (Field, ArrayRef) {
    (Field::new("", array.data_type().clone(), true), array)
}

/// A table's batches with at least one, so that a table without rows still has a schema.
pub(super) fn batches(Imported(table): Imported<Table>) -> Vec<RecordBatch> {
    let (mut batches, schema) = table.into_inner();
    batches.retain(|batch| batch.num_rows() > 0);
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    batches
}

/// All batches as one.
pub(super) fn one_batch(py: Python<'_>, table: Imported<Table>) -> PyResult<RecordBatch> {
    let mut batches = batches(table);
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let joined = caught(|| joined(&batches)).map_err(|panic| raise(&panic))?;
    joined.map_err(|error| to_python(py, &error, None))
}

/// An array for pyarrow.
#[allow(clippy::needless_pass_by_value, reason = "most callers have just made it")]
pub(super) fn export<'py>(py: Python<'py>, array: ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    array.to_data().to_pyarrow(py)
}

/// Whether each column of a record batch begins within its buffers, and those at multiples of 8: what pyarrow tells of one
/// array after the other takes longer than ten rows do.
#[pyfunction]
pub(super) fn is_aligned(batch: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut exported = FFI_ArrowArray::empty();
    batch.call_method1(intern!(batch.py(), "_export_to_c"), (&raw mut exported as usize,))?;
    let aligned = |column: &FFI_ArrowArray| {
        // An offset below 0 comes as one beyond all memory.
        isize::try_from(column.offset()).is_ok()
            && (0..column.num_buffers()).all(|n| (column.buffer(n) as usize).is_multiple_of(8))
    };
    Ok((0..exported.num_children()).all(|n| aligned(exported.child(n))))
}

/// Row numbers from `start` on, each `times` times: which row a request belongs to.
#[pyfunction]
pub(super) fn repeated_rows(py: Python<'_>, start: usize, rows: usize, times: usize) -> PyResult<Bound<'_, PyAny>> {
    let numbers = (start..start + rows).flat_map(|row| std::iter::repeat_n(row as i64, times));
    export(py, Arc::new(numbers.collect::<Int64Array>()))
}
