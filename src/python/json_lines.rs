//! Lines of JSON for Python.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array as _, LargeBinaryArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyTable};

use super::arrow::{Imported, batches, export};
use super::detach::detached_rows;
use super::errors::to_python;
use super::interpreter::Interpreter;
use crate::error::{Code, Error};
use crate::json_lines::{LineLayout, SeenIds, Segment, write};

/// What each line of an export is made of.
#[pyclass(frozen, name = "LineLayout", module = "promptpress._core")]
pub(super) struct PyLineLayout(LineLayout);

#[pymethods]
impl PyLineLayout {
    /// Read the pieces of a line: what kind each is, its text, and its column, as far as it has them.
    #[new]
    fn new(segments: Vec<(String, String, usize)>) -> PyResult<Self> {
        let segments = segments.into_iter().map(|(kind, text, column)| {
            Ok(match &*kind {
                "literal" => Segment::Literal(text),
                "value" => Segment::Value(column),
                "request" => Segment::Request(column),
                "items" => Segment::Items(column),
                "member" => Segment::Member(text, column),
                "json" => Segment::Json(column),
                "text" => Segment::Text(column),
                "plain" => Segment::Plain(column),
                "row" => Segment::Row,
                _ => return Err(PyValueError::new_err(format!("a line has no {kind}"))),
            })
        });
        Ok(Self(LineLayout { segments: segments.collect::<PyResult<_>>()? }))
    }

    /// Write the rows of a table as lines, in arrays of large binary; `first_row` is the number of the first.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        table: Imported<PyTable>,
        first_row: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let host = Interpreter::new(None, None);
        let mut done = first_row;
        let mut out = Vec::new();
        for batch in batches(table) {
            let rows = batch.num_rows();
            let lines = detached_rows(py, Some(&host), rows, || write(&batch, &self.0, done, &host))?;
            for lines in lines.map_err(|error| to_python(py, &error, host.failure()))? {
                out.push(export(py, std::sync::Arc::new(lines))?);
            }
            done += rows;
        }
        Ok(out)
    }
}

/// The ids that rows have had so far.
#[pyclass(frozen, name = "SeenIds", module = "promptpress._core")]
#[derive(Default)]
pub(super) struct PySeenIds(Mutex<SeenIds>);

#[pymethods]
impl PySeenIds {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Take the ids of the next rows, an array of large binary; the row of a repeated one and the row before it.
    fn add(&self, py: Python<'_>, ids: Imported<PyArray>) -> PyResult<Option<(usize, usize)>> {
        let ids = ids.0.into_inner().0;
        let Some(ids) = ids.as_any().downcast_ref::<LargeBinaryArray>() else {
            let message = format!("ids are large_binary, found {}", ids.data_type());
            return Err(to_python(py, &Error::render(Code::WrongColumnType, message), None));
        };
        Ok(py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).add(ids)))
    }
}
