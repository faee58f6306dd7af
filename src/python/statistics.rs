//! Statistics of rendered requests. The Python package combines and shows them.

use std::sync::{Arc, Mutex, PoisonError};

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
use super::stream_state::StreamState;
use crate::error::{Code, Error, Result};
use crate::render::{self, Origin, OriginTotals};
use crate::statistics::{self, HASH_BYTES, RequestColumn};

/// Return the lengths of a column's requests in bytes and in characters, null for rows without a request. If `json` is
/// true, the texts are requests as JSON.
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

/// Return the fingerprints of a column's requests, 16 bytes each, null for rows without a request.
#[pyfunction]
pub(super) fn request_hashes<'py>(
    py: Python<'py>,
    requests: Imported<ArrayRef>,
    json: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let requests = requests.0;
    let hashes = detached_rows(py, None, requests.len(), || statistics::hash_array(&requests, json))?;
    export(py, plain(py, hashes)?)
}

/// One hash for the requests of a run, which are added batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct RequestsHash {
    inner: Mutex<statistics::StreamHash>,
    is_json: bool,
}

#[pymethods]
impl RequestsHash {
    /// Start without requests. If `json` is true, the texts are requests as JSON.
    #[new]
    #[pyo3(signature = (json = false))]
    fn new(json: bool) -> Self {
        Self { inner: Mutex::default(), is_json: json }
    }

    /// Add the requests that come next.
    fn update(&self, py: Python<'_>, requests: Imported<ArrayRef>) -> PyResult<()> {
        let requests = requests.0;
        let work = || {
            let column = RequestColumn::new(&requests, self.is_json)?;
            self.inner.lock().unwrap_or_else(PoisonError::into_inner).update(&column);
            Ok(())
        };
        let added = detached_rows(py, None, requests.len(), work)?;
        plain(py, added)
    }

    /// Return the hash of all requests so far: 64 hexadecimal digits.
    fn hexdigest(&self) -> String {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).hex_digits()
    }
}

fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}

fn wrong_type(array: &ArrayRef) -> Error {
    Error::render(Code::InternalError, format!("an array of type {} is no result of the core's", array.data_type()))
}

/// The lengths of requests, which are added batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct Lengths {
    inner: Mutex<statistics::Lengths>,
}

#[pymethods]
impl Lengths {
    /// Start without lengths. `kept` is the number of the longest and of the shortest requests that are kept.
    #[new]
    fn new(kept: usize) -> Self {
        Self { inner: Mutex::new(statistics::Lengths::new(kept)) }
    }

    /// Add the lengths of requests from number `first` on, as uint64. A length is null if there is no request.
    fn add(&self, py: Python<'_>, first: u64, lengths: Imported<ArrayRef>) -> PyResult<()> {
        let array = lengths.0;
        let Some(lengths) = array.as_primitive_opt::<UInt64Type>() else { return plain(py, Err(wrong_type(&array))) };
        detached_rows(py, None, lengths.len(), || {
            self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(first, lengths.iter());
        })
    }

    /// Return statistics of the lengths, with some percentiles and a histogram of at most `bins` bins.
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn summary<'py>(&self, py: Python<'py>, percentages: Vec<u32>, bins: u64) -> PyResult<Bound<'py, PyDict>> {
        let work = || self.inner.lock().unwrap_or_else(PoisonError::into_inner).summary(&percentages, bins);
        let summary = detached_rows(py, None, 0, work)?;
        let out = PyDict::new(py);
        out.set_item("requests", summary.requests)?;
        out.set_item("sum", summary.sum)?;
        out.set_item("min", summary.min)?;
        out.set_item("max", summary.max)?;
        out.set_item("percentiles", summary.percentiles)?;
        let bins: Vec<_> = summary.histogram.iter().map(|bin| (bin.start, bin.end, bin.requests)).collect();
        out.set_item("histogram", bins)?;
        out.set_item("longest", summary.longest)?;
        out.set_item("shortest", summary.shortest)?;
        Ok(out)
    }
}

/// Equal requests: their number, and the numbers of the first ones.
type SameRequests = (u64, Vec<u64>);

/// The fingerprints of requests, which are added batch by batch.
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

    /// Add the fingerprints of requests from number `first` on, in the form of `request_hashes`.
    fn add(&self, py: Python<'_>, first: u64, hashes: Imported<ArrayRef>) -> PyResult<()> {
        let array = hashes.0;
        let Some(binaries) =
            array.as_fixed_size_binary_opt().filter(|binaries| binaries.value_length() == HASH_BYTES as i32)
        else {
            return plain(py, Err(wrong_type(&array)));
        };
        let hashes = binaries.iter().map(|hash| hash.and_then(|hash| hash.try_into().ok())).collect();
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(first, hashes);
        Ok(())
    }

    /// Return the number of requests that repeat an earlier one, the number of groups of equal requests, and the
    /// largest groups. A group has its number of requests, and the numbers of the first ones.
    fn summary(&self, py: Python<'_>, groups: usize, rows: usize) -> PyResult<(u64, u64, Vec<SameRequests>)> {
        let work = || self.inner.lock().unwrap_or_else(PoisonError::into_inner).summary(groups, rows);
        let summary = detached(py, None, work)?;
        Ok((
            summary.repeated,
            summary.groups,
            summary.largest.into_iter().map(|group| (group.requests, group.first)).collect(),
        ))
    }
}

/// Return the number of bytes from each origin in a table's requests, from `position` on, as a record batch.
#[pyfunction]
#[pyo3(signature = (renderer, samples, labels, position, python_text))]
pub(super) fn origin_totals<'py>(
    py: Python<'py>,
    renderer: &CompiledRenderer,
    samples: Imported<Table>,
    labels: Option<&Bound<'py, PyList>>,
    position: &StreamState,
    python_text: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let host = renderer.host(python_text);
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
