//! Samples in the order of equal beginnings, and what rendered requests share.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, Table, batches, export};
use super::detach::detached_rows;
use super::errors::plain;
use crate::error::{Code, Error, Result};
use crate::prefix_order::{self as core, Part, Requests};
use crate::threads;

/// Return the chunks of each column of a table.
fn columns(batches: &[RecordBatch]) -> Vec<Vec<ArrayRef>> {
    let columns = batches.first().map_or(0, RecordBatch::num_columns);
    (0..columns).map(|n| batches.iter().map(|batch| batch.column(n).clone()).collect()).collect()
}

/// An order, the groups in it, and whether any sample moves.
type Order<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, bool);

/// Return the order (int64) in which samples with equal parts follow each other; with `groups` the number of each
/// sample's group in this order; and whether it differs from the samples' own order. The columns of `parts` are what
/// requests begin with, from the first to the last.
#[pyfunction]
pub(super) fn prefix_order<'py>(py: Python<'py>, parts: Imported<Table>, groups: bool) -> PyResult<Order<'py>> {
    let batches = batches(parts);
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let work = || -> Result<core::PrefixOrder> {
        let parts = columns(&batches).iter().map(|chunks| Part::new(chunks)).collect::<Result<Vec<_>>>()?;
        let too_many = || Error::render(Code::LimitExceeded, "more than 4,294,967,295 rows can't be put in order");
        core::prefix_order(&parts, rows, groups).ok_or_else(too_many)
    };
    let order = plain(py, detached_rows(py, None, rows, work)?)?;
    let groups = order.groups.map(|groups| export(py, Arc::new(Int64Array::from(groups)))).transpose()?;
    Ok((export(py, Arc::new(Int64Array::from(order.rows)))?, groups, order.moves))
}

/// A table whose rows are arrays in any order.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct RowSource {
    columns: Vec<Vec<ArrayRef>>,
}

#[pymethods]
impl RowSource {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn new(table: Imported<Table>) -> Self {
        Self { columns: columns(&batches(table)) }
    }

    /// Return the rows of these numbers (int64), an array for each column. Texts come as binaries.
    fn take<'py>(&self, py: Python<'py>, rows: Imported<ArrayRef>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let rows = rows.0;
        let Some(rows) = rows.as_primitive_opt::<Int64Type>() else {
            return Err(PyValueError::new_err("row numbers are int64"));
        };
        // Columns are read in parallel, because most of the time is spent waiting for memory.
        let work = || threads::try_map(self.columns.iter().collect(), |chunks| core::take(chunks, rows.values()));
        let arrays = plain(py, detached_rows(py, None, rows.values().len(), work)?)?;
        arrays.into_iter().map(|array| export(py, array)).collect()
    }
}

/// Counts the bytes that each request shares with the request before it, batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct SharedBytes {
    inner: Mutex<core::SharedBytes>,
}

#[pymethods]
impl SharedBytes {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Return the number of shared bytes (int64) of each of the next requests, which may be messages as JSON.
    fn add<'py>(&self, py: Python<'py>, requests: Imported<ArrayRef>, json: bool) -> PyResult<Bound<'py, PyAny>> {
        let requests = requests.0;
        let work = || -> Result<Vec<i64>> {
            let requests = Requests::new(&requests, json)?;
            Ok(self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(&requests))
        };
        let shared = plain(py, detached_rows(py, None, requests.len(), work)?)?;
        export(py, Arc::new(Int64Array::from(shared)))
    }
}
