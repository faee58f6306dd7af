//! Statistics of rendered requests, for Python to put together and to show.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::arrow::{Imported, Table, batches, export};
use super::compiled_renderer::{CompiledRenderer, labels, raised};
use super::detach::{detached, detached_rows};
use super::errors::plain;
use super::position::Position;
use crate::error::{Code, Error, Result};
use crate::render::{self, Origin, OriginTotals};
use crate::statistics::{self, HASH_BYTES, RequestColumn};

/// How long the requests of a column are: bytes and characters, null where there is no request. `json` says that its
/// texts are requests as JSON.
#[pyfunction]
pub(super) fn request_sizes<'py>(
    py: Python<'py>,
    requests: Imported<ArrayRef>,
    json: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let array = requests.0;
    let work = || RequestColumn::new(&array, json).map(|column| statistics::sizes(&column));
    let sizes = plain(py, detached_rows(py, None, array.len(), work)?)?;
    Ok((
        export(py, Arc::new(UInt64Array::from(sizes.bytes)))?,
        export(py, Arc::new(UInt64Array::from(sizes.characters)))?,
    ))
}

/// Fingerprints of a column's requests, 16 bytes each; null where there is no request.
#[pyfunction]
pub(super) fn request_hashes<'py>(
    py: Python<'py>,
    requests: Imported<ArrayRef>,
    json: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let array = requests.0;
    let work = || RequestColumn::new(&array, json).map(|column| statistics::hashes(&column));
    let hashes = plain(py, detached_rows(py, None, array.len(), work)?)?;
    let mut out = FixedSizeBinaryBuilder::with_capacity(hashes.len(), HASH_BYTES as i32);
    for hash in hashes {
        match hash {
            Some(hash) => plain(py, out.append_value(hash).map_err(|e| internal(&e)))?,
            None => out.append_null(),
        }
    }
    export(py, Arc::new(out.finish()))
}

fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}

fn wrong_type(found: &ArrayRef) -> Error {
    Error::render(Code::InternalError, format!("an array of type {} is no result of the core's", found.data_type()))
}

/// Lengths, added up batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct Lengths {
    inner: Mutex<statistics::Lengths>,
}

#[pymethods]
impl Lengths {
    /// No lengths yet; so many of the longest and of the shortest requests are kept.
    #[new]
    fn new(kept: usize) -> Self {
        Self { inner: Mutex::new(statistics::Lengths::new(kept)) }
    }

    /// Add the lengths of requests from number `first` on: uint64, null for what is no request.
    fn add(&self, py: Python<'_>, first: u64, lengths: Imported<ArrayRef>) -> PyResult<()> {
        let array = lengths.0;
        let Some(own) = array.as_primitive_opt::<UInt64Type>() else { return plain(py, Err(wrong_type(&array))) };
        detached_rows(py, None, own.len(), || {
            self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(first, own.iter());
        })
    }

    /// What is known of the lengths: these percentiles, and a histogram of at most so many bins.
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn summary<'py>(&self, py: Python<'py>, percentages: Vec<u32>, bins: u64) -> PyResult<Bound<'py, PyDict>> {
        let work = || self.inner.lock().unwrap_or_else(PoisonError::into_inner).summary(&percentages, bins);
        let own = detached_rows(py, None, 0, work)?;
        let out = PyDict::new(py);
        out.set_item("requests", own.requests)?;
        out.set_item("sum", own.sum)?;
        out.set_item("min", own.min)?;
        out.set_item("max", own.max)?;
        out.set_item("percentiles", own.percentiles)?;
        let bins: Vec<_> = own.histogram.iter().map(|bin| (bin.start, bin.end, bin.requests)).collect();
        out.set_item("histogram", bins)?;
        out.set_item("longest", own.longest)?;
        out.set_item("shortest", own.shortest)?;
        Ok(out)
    }
}

/// Requests that are all the same: how many, and the numbers of the first.
type SameRequests = (u64, Vec<u64>);

/// Fingerprints, kept batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct Duplicates {
    inner: Mutex<statistics::Duplicates>,
}

#[pymethods]
impl Duplicates {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::default() }
    }

    /// Add the fingerprints of requests from number `first` on, as `request_hashes` gives them.
    fn add(&self, py: Python<'_>, first: u64, hashes: Imported<ArrayRef>) -> PyResult<()> {
        let array = hashes.0;
        let Some(own) = array.as_fixed_size_binary_opt().filter(|own| own.value_length() == HASH_BYTES as i32) else {
            return plain(py, Err(wrong_type(&array)));
        };
        let hashes = own.iter().map(|hash| hash.and_then(|hash| hash.try_into().ok())).collect();
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(first, hashes);
        Ok(())
    }

    /// How many requests repeat an earlier one, how many contents several have, and the largest groups of these: how
    /// many requests, and the numbers of the first.
    fn summary(&self, py: Python<'_>, groups: usize, rows: usize) -> PyResult<(u64, u64, Vec<SameRequests>)> {
        let work = || self.inner.lock().unwrap_or_else(PoisonError::into_inner).summary(groups, rows);
        let own = detached(py, None, work)?;
        Ok((own.repeated, own.groups, own.largest.into_iter().map(|group| (group.requests, group.first)).collect()))
    }
}

/// How many bytes of a table's requests, from `position` on, come from where, as a record batch.
#[pyfunction]
#[pyo3(signature = (renderer, samples, labels, position, lower))]
pub(super) fn origin_totals<'py>(
    py: Python<'py>,
    renderer: &CompiledRenderer,
    samples: Imported<Table>,
    labels: Option<&Bound<'py, PyList>>,
    position: &Position,
    lower: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let host = renderer.host(lower);
    let samples = batches(samples);
    let labels = self::labels(labels)?;
    let rows = samples.iter().map(RecordBatch::num_rows).sum::<usize>().max(renderer.core.pending_examples());
    let _work = renderer.work();
    let totals = detached_rows(py, Some(&host), rows, || -> Result<OriginTotals> {
        let mut position = position.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, draws) = &mut *position;
        let mut all = OriginTotals::new();
        for batch in &samples {
            for (origin, bytes) in render::origin_totals(&renderer.core, batch, *start, &labels, draws, &host)? {
                *all.entry(origin).or_default() += bytes;
            }
            *start += batch.num_rows();
        }
        Ok(all)
    })?;
    let totals: Vec<(Origin, u64)> = raised(py, &host, totals)?.into_iter().collect();
    let strings = |of: fn(&Origin) -> Option<&str>| {
        Arc::new(totals.iter().map(|(origin, _)| of(origin)).collect::<StringArray>()) as ArrayRef
    };
    let examples = totals.iter().map(|(origin, _)| origin.example.map(i64::from)).collect::<Int64Array>();
    let bytes = totals.iter().map(|(_, bytes)| Some(*bytes as i64)).collect::<Int64Array>();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("source", strings(|origin| Some(origin.source.name())), true),
        ("column", strings(|origin| origin.column.as_deref()), true),
        ("example", Arc::new(examples) as ArrayRef, true),
        ("role", strings(|origin| origin.role.as_deref()), true),
        ("bytes", Arc::new(bytes) as ArrayRef, true),
    ]);
    plain(py, batch.map_err(|e| internal(&e)))?.to_pyarrow(py)
}
