//! Import and export of Arrow data through the C data interface, by pyarrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_pyarrow::{FromPyArrow, PyArrowException, ToPyArrow};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::errors::{plain, to_python};
use super::guard::{caught, raise};
use crate::error::{Code, Error};
use crate::render::{array_of, imported, joined};

/// An argument that is imported through Arrow's C interface. The code that imports it trusts the exporter.
pub(super) struct Imported<T>(pub(super) T);

/// A type that can be imported.
pub(super) trait Import: Sized {
    /// Import the data that a Python object exports.
    ///
    /// # Errors
    ///
    /// The exception of the Python object, if it doesn't export such data.
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl Import for ArrayRef {
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut array = FFI_ArrowArray::empty();
        let mut schema = FFI_ArrowSchema::empty();
        let addresses = (&raw mut array as usize, &raw mut schema as usize);
        object.call_method1(intern!(object.py(), "_export_to_c"), addresses)?;
        let data = imported(array, &schema).map_err(|error| PyArrowException::new_err(error.to_string()))?;
        plain(object.py(), array_of(data))
    }
}

impl Import for SchemaRef {
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Schema::from_pyarrow_bound(object).map(Arc::new)
    }
}

/// The record batches of a table. There is at least one, so that a table without rows still has a schema.
pub(super) struct Table(Vec<RecordBatch>);

impl Import for Table {
    /// The batches are imported as data. As a stream of Arrow's C interface, they would become arrays before
    /// [`array_of`] checks them.
    fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let schema = SchemaRef::import(&object.getattr(intern!(py, "schema"))?)?;
        let mut batches = Vec::new();
        let parts = match object.getattr_opt(intern!(py, "to_batches"))? {
            Some(to_batches) => to_batches.call0()?,
            None => PyList::new(py, [object])?.into_any(),
        };
        for part in parts.try_iter()? {
            let rows = ArrayRef::import(&part?)?;
            if rows.is_empty() {
                continue;
            }
            let columns = rows.as_struct().columns().to_vec();
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options);
            batches.push(batch.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok(Self(batches))
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

/// Return an array, with a field without a name.
pub(super) fn unnamed(Imported(array): Imported<ArrayRef>) -> (Field, ArrayRef) {
    (Field::new("", array.data_type().clone(), true), array)
}

/// Return the batches of a table, at least one.
pub(super) fn batches(Imported(Table(batches)): Imported<Table>) -> Vec<RecordBatch> {
    batches
}

/// Return all batches of a table as one.
pub(super) fn one_batch(py: Python<'_>, table: Imported<Table>) -> PyResult<RecordBatch> {
    let mut batches = batches(table);
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let joined = caught(|| joined(&batches)).map_err(|panic| raise(&panic))?;
    joined.map_err(|error| to_python(py, &error, None))
}

/// Export an array to pyarrow.
#[allow(clippy::needless_pass_by_value, reason = "most callers have just made it")]
pub(super) fn export<'py>(py: Python<'py>, array: ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    array.to_data().to_pyarrow(py)
}

/// Return true if each column of a record batch begins within its buffers, and the buffers are aligned to 8 bytes.
/// Asking pyarrow for the same, array by array, takes longer than rendering ten rows.
#[pyfunction]
pub(super) fn is_aligned(batch: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut exported = FFI_ArrowArray::empty();
    batch.call_method1(intern!(batch.py(), "_export_to_c"), (&raw mut exported as usize,))?;
    let aligned = |column: &FFI_ArrowArray| {
        // A negative offset becomes one beyond all memory.
        isize::try_from(column.offset()).is_ok()
            && (0..column.num_buffers()).all(|n| (column.buffer(n) as usize).is_multiple_of(8))
    };
    Ok((0..exported.num_children()).all(|n| aligned(exported.child(n))))
}

/// Return true if the core prints the values of a type itself. The names of extension types and what follows a NUL in a
/// field's name can't be seen here.
#[pyfunction]
pub(super) fn is_native(data_type: &Bound<'_, PyAny>) -> bool {
    DataType::from_pyarrow_bound(data_type).is_ok_and(|data_type| crate::python_text::is_native(&data_type))
}

/// Return the row numbers from `start` on, each of them `times` times: the row of each request.
#[pyfunction]
pub(super) fn repeated_rows(py: Python<'_>, start: usize, rows: usize, times: usize) -> PyResult<Bound<'_, PyAny>> {
    let numbers = (start..start + rows).flat_map(|row| std::iter::repeat_n(row as i64, times));
    export(py, Arc::new(numbers.collect::<Int64Array>()))
}
