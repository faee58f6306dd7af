//! Examples drawn with Python's random numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::detach::detached_rows;
use crate::fewshot_sampling::{self, Groups, Random, TooFew};

/// The groups of the pool's documents, and of the evaluated documents, as int64. A number below 0 means no group.
type Given = Option<(Imported<ArrayRef>, Imported<ArrayRef>)>;

/// The number of documents whose examples are drawn in the time that rendering a row takes. Unlucky draws are allowed
/// for.
const FASTER: usize = 256;

/// Draw `shots` of `pool` documents for each of `count` documents, with a generator in the given state.
///
/// Return row numbers (int32), and the new state of the generator. Raise `ValueError` if the pool is too small.
#[pyfunction]
#[pyo3(signature = (state, pool, shots, count, groups=None))]
pub(super) fn drawn_rows<'py>(
    py: Python<'py>,
    state: Vec<u32>,
    pool: i32,
    shots: usize,
    count: usize,
    groups: Given,
) -> PyResult<(Bound<'py, PyAny>, Vec<u32>)> {
    let mut random = Random::from_state(state).ok_or_else(|| PyValueError::new_err("it is no generator's state"))?;
    let groups = groups.map(arrays);
    let groups = groups.as_ref().map(|arrays| checked(arrays, pool as usize, count)).transpose()?;
    let work = || fewshot_sampling::random_rows(&mut random, pool as u32, shots, count, groups.as_ref());
    let rows = detached_rows(py, None, count / FASTER, work)?.map_err(|few| too_few(shots, &few))?;
    Ok((export(py, Arc::new(Int32Array::from(rows)))?, random.into_state()))
}

/// Return the row numbers (int32) of the first `shots` documents of a pool for each evaluated document, without the
/// document itself.
///
/// Raise `ValueError` if the pool is too small.
#[pyfunction]
pub(super) fn first_rows<'py>(
    py: Python<'py>,
    shots: usize,
    pool: Imported<ArrayRef>,
    documents: Imported<ArrayRef>,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = arrays((pool, documents));
    let groups = checked(&arrays, arrays.0.len(), arrays.1.len())?;
    let rows =
        detached_rows(py, None, groups.documents.len() / FASTER, || fewshot_sampling::first_rows(shots, &groups))?;
    export(py, Arc::new(Int32Array::from(rows.map_err(|few| too_few(shots, &few))?)))
}

fn arrays((pool, documents): (Imported<ArrayRef>, Imported<ArrayRef>)) -> (ArrayRef, ArrayRef) {
    (pool.0, documents.0)
}

fn checked((pool, documents): &(ArrayRef, ArrayRef), rows: usize, count: usize) -> PyResult<Groups<'_>> {
    let numbers = |array: &ArrayRef| array.as_primitive_opt::<Int64Type>().is_some_and(|a| a.null_count() == 0);
    if !numbers(pool) || !numbers(documents) || pool.len() != rows || documents.len() != count {
        return Err(PyValueError::new_err("the groups are int64, one for each document"));
    }
    Ok(Groups {
        pool: pool.as_primitive::<Int64Type>().values(),
        documents: documents.as_primitive::<Int64Type>().values(),
    })
}

fn too_few(shots: usize, few: &TooFew) -> PyErr {
    PyValueError::new_err(format!("{shots} shots are asked for, and there are {}", few.available))
}
