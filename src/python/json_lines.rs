//! Lines of JSON for Python.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, Table, batches, export};
use super::detach::detached_rows;
use super::errors::{plain, to_python};
use super::interpreter::Interpreter;
use crate::json_lines::{self, Ids, Keys, LineLayout, SeenIds, Segment, write};

/// What each line of an export is made of.
#[pyclass(frozen, name = "LineLayout", module = "promptpress._core")]
pub(super) struct PyLineLayout(pub(super) LineLayout);

#[pymethods]
impl PyLineLayout {
    /// Read the pieces of a line: what kind each is, its text, and its column, as far as it has them; and from where to
    /// where they are the row's id.
    #[new]
    fn new(segments: Vec<(String, String, usize)>, ids: (usize, usize)) -> PyResult<Self> {
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
        Ok(Self(LineLayout { segments: segments.collect::<PyResult<_>>()?, id: ids.0..ids.1 }))
    }

    /// Write the rows of a table as lines, in arrays of large binary; `first_row` is the number of the first.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        table: Imported<Table>,
        first_row: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(written(py, &self.0, table, first_row, None)?.0)
    }
}

/// Lines of a table, and the ids in them if there are `keys`.
fn written<'py, 'a>(
    py: Python<'py>,
    layout: &LineLayout,
    table: Imported<Table>,
    first_row: usize,
    keys: Option<&'a Keys>,
) -> PyResult<(Vec<Bound<'py, PyAny>>, Vec<Ids<'a>>)> {
    let host = Interpreter::new(None, None);
    let mut done = first_row;
    let (mut out, mut ids) = (Vec::new(), Vec::new());
    for batch in batches(table) {
        let rows = batch.num_rows();
        let lines = detached_rows(py, Some(&host), rows, || write(&batch, layout, done, keys, &host))?;
        let (lines, own) = lines.map_err(|error| to_python(py, &error, host.failure()))?;
        for lines in lines {
            out.push(export(py, std::sync::Arc::new(lines))?);
        }
        ids.extend(own);
        done += rows;
    }
    Ok((out, ids))
}

/// The ids that rows have had so far.
#[pyclass(frozen, name = "SeenIds", module = "promptpress._core")]
#[derive(Default)]
pub(super) struct PySeenIds(Mutex<SeenIds>);

/// Lines; the bytes of the shortest and of the longest id; the row of a repeated one and the row before it.
type LinesWithIds<'py> = (Vec<Bound<'py, PyAny>>, usize, usize, Option<(usize, usize)>);

#[pymethods]
impl PySeenIds {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Write the next rows as lines, and take the ids in them; they are counted from the first row that was ever taken.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        layout: &PyLineLayout,
        table: Imported<Table>,
        first_row: usize,
    ) -> PyResult<LinesWithIds<'py>> {
        let seen = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = seen().keys();
        let (lines, ids) = written(py, &layout.0, table, first_row, Some(&keys))?;
        let found = py.detach(|| seen().add(&ids));
        Ok((lines, found.shortest, found.longest, found.repeated))
    }
}

/// Whether the messages of a table's only column are what every chat API takes: each of a role in `roles`, and each with
/// a `content`.
#[pyfunction]
pub(super) fn are_plain_chats(
    py: Python<'_>,
    table: Imported<Table>,
    roles: Vec<String>,
    content: &str,
) -> PyResult<bool> {
    let work = move || {
        let mut all = batches(table).into_iter();
        all.try_fold(true, |plain, batch| Ok(plain && json_lines::are_plain_chats(batch.column(0), &roles, content)?))
    };
    // As if there were few rows: on the pool they would wait for longer than they take.
    plain(py, detached_rows(py, None, 0, work)?)
}
