//! Draws of examples by Python's random numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::detach::detached_rows;
use crate::draws::{self, Groups, Random, TooFew};

/// The groups of the pool's documents, and those of evaluated ones: int64, below 0 for none.
type Given = Option<(Imported<ArrayRef>, Imported<ArrayRef>)>;

/// Examples of so many documents are drawn while a row is rendered, with room to spare for unlucky draws.
const FASTER: usize = 256;

/// Draw `shots` of `pool` documents for each of `count` by a generator of a state.
///
/// Gives row numbers (int32), and the state that the generator is in then. Raises `ValueError` if the pool is too small.
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
    let work = || draws::drawn(&mut random, pool as u32, shots, count, groups.as_ref());
    let rows = detached_rows(py, None, count / FASTER, work)?.map_err(|few| too_few(shots, &few))?;
    Ok((export(py, Arc::new(Int32Array::from(rows)))?, random.into_state()))
}

/// Take the first `shots` documents of a pool for each evaluated one but the document itself: row numbers (int32).
///
/// Raises `ValueError` if the pool is too small.
#[pyfunction]
pub(super) fn first_rows<'py>(
    py: Python<'py>,
    shots: usize,
    pool: Imported<ArrayRef>,
    documents: Imported<ArrayRef>,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = arrays((pool, documents));
    let groups = checked(&arrays, arrays.0.len(), arrays.1.len())?;
    let rows = detached_rows(py, None, groups.documents.len() / FASTER, || draws::first(shots, &groups))?;
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
    PyValueError::new_err(format!("{shots} shots are asked for, and there are {}", few.found))
}
