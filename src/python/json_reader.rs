//! Files of JSON objects, read block by block, for Python.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrow_pyarrow::ToPyArrow;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::detach::detached;
use crate::json_reader::{self, ColumnType, Columns, Fault, Items, Kinds};

/// The kinds of values, by names for Python.
pub(super) const KINDS: [(&str, Kinds); 5] = [
    ("text", Kinds::TEXT),
    ("bool", Kinds::BOOL),
    ("integer", Kinds::INTEGER),
    ("float", Kinds::FLOAT),
    ("other", Kinds::OTHER),
];

/// A block of lines: bytes, and the range of them that is the block.
type Block = (PyBackedBytes, usize, usize);
/// A line that can't be read: the index of its block, and its range there.
type Line = (usize, usize, usize);

fn slices(blocks: &[Block]) -> PyResult<Vec<&[u8]>> {
    let slice = |(bytes, start, end): &Block| -> Option<Range<usize>> {
        (start <= end && *end <= bytes.len()).then_some(*start..*end)
    };
    let no_range = || PyValueError::new_err("a block is beyond its bytes");
    blocks.iter().map(|block| slice(block).map(|range| &block.0[range]).ok_or_else(no_range)).collect()
}

fn line(fault: &Fault) -> Line {
    (fault.block, fault.line.start, fault.line.end)
}

/// The columns of a file, found by looking at all of its blocks.
#[pyclass(frozen, name = "JsonColumns", module = "promptpress._core")]
#[derive(Default)]
pub(super) struct PyJsonColumns(Mutex<Columns>);

impl PyJsonColumns {
    fn columns(&self) -> std::sync::MutexGuard<'_, Columns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyJsonColumns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Look at the next blocks, which end where lines end. Return the first line that is no row, if there is one.
    #[allow(clippy::needless_pass_by_value, reason = "the bytes are owned while other threads run")]
    fn look(&self, py: Python<'_>, blocks: Vec<Block>) -> PyResult<Option<Line>> {
        let slices = slices(&blocks)?;
        let looked = detached(py, None, || self.columns().look(&slices))?;
        Ok(looked.err().as_ref().map(line))
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.columns().rows
    }

    /// Return the names of the columns in the order in which they first occur, each with the kinds of its values.
    fn kinds(&self) -> Vec<(String, Vec<&'static str>)> {
        let names = |kinds: Kinds| KINDS.iter().filter(|(_, kind)| kinds.has(*kind)).map(|(name, _)| *name).collect();
        self.columns().iter().map(|(name, kinds)| (name.to_owned(), names(kinds))).collect()
    }
}

fn column_types(columns: Vec<(String, String)>) -> PyResult<Vec<(String, ColumnType)>> {
    let typed = |(name, kind): (String, String)| {
        let kind = match &*kind {
            "null" => ColumnType::Null,
            "text" => ColumnType::Text,
            "bool" => ColumnType::Bool,
            "integer" => ColumnType::Integer,
            "float" => ColumnType::Float,
            "json" => ColumnType::Json,
            _ => return Err(PyValueError::new_err(format!("a column has no type {kind}"))),
        };
        Ok((name, kind))
    };
    columns.into_iter().map(typed).collect()
}

/// Return the schema of columns, each with a type: null, text, bool, integer, float or json.
#[pyfunction]
pub(super) fn json_schema(py: Python<'_>, columns: Vec<(String, String)>) -> PyResult<Bound<'_, PyAny>> {
    json_reader::schema(&column_types(columns)?).to_pyarrow(py)
}

/// The record batches of blocks, and the first line that can't be read, if there is one.
type Batches<'py> = (Vec<Bound<'py, PyAny>>, Option<Line>);

/// Return the rows of blocks, which end where lines end, as record batches of at most `batch_rows` rows.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the bytes are owned while other threads run")]
pub(super) fn json_batches(
    py: Python<'_>,
    blocks: Vec<Block>,
    columns: Vec<(String, String)>,
    batch_rows: usize,
) -> PyResult<Batches<'_>> {
    let (slices, columns) = (slices(&blocks)?, column_types(columns)?);
    match detached(py, None, || json_reader::batches(&slices, &columns, batch_rows))? {
        Ok(batches) => Ok((batches.into_iter().map(|batch| batch.to_pyarrow(py)).collect::<PyResult<_>>()?, None)),
        Err(fault) => Ok((Vec::new(), Some(line(&fault)))),
    }
}

/// The items of a JSON array, turned into lines.
#[pyclass(frozen, name = "JsonItems", module = "promptpress._core")]
pub(super) struct PyJsonItems(Mutex<Items>);

/// The line of a fault, from 1, and what is wrong.
type ItemsFault = (usize, &'static str);

#[pymethods]
impl PyJsonItems {
    /// Read an array, or the one under a key of an object.
    #[new]
    #[pyo3(signature = (key))]
    fn new(key: Option<String>) -> Self {
        Self(Mutex::new(Items::new(key)))
    }

    /// Return the lines of the next piece of the file, and what is wrong with the piece, if anything is. The last line
    /// may be incomplete.
    #[allow(clippy::needless_pass_by_value, reason = "the bytes are owned while other threads run")]
    fn feed<'py>(&self, py: Python<'py>, piece: PyBackedBytes) -> (Bound<'py, PyBytes>, Option<ItemsFault>) {
        let (out, fault) = py.detach(|| {
            let mut out = Vec::with_capacity(piece.len() + 1);
            let fed = self.items().feed(&piece, &mut out);
            (out, fed.err().map(|fault| (fault.line, fault.what)))
        });
        (PyBytes::new(py, &out), fault)
    }

    /// Return what is wrong if the file ends here.
    fn finish(&self) -> Option<ItemsFault> {
        self.items().finish().err().map(|fault| (fault.line, fault.what))
    }
}

impl PyJsonItems {
    fn items(&self) -> std::sync::MutexGuard<'_, Items> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
