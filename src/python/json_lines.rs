//! Lines of JSON, for Python.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, Table, batches, export};
use super::detach::detached_rows;
use super::errors::{plain, to_python};
use super::interpreter::Interpreter;
use crate::json_lines::{self, Ids, Keys, LineLayout, SeenIds, Segment, write};
use crate::python_text::field_texts as field_texts_of;

/// The parts of an export's lines.
#[pyclass(frozen, name = "LineLayout", module = "promptpress._core")]
pub(super) struct PyLineLayout(pub(super) LineLayout);

#[pymethods]
impl PyLineLayout {
    /// Read the segments of a line: the kind, the text and the column of each; the text or the column may be unused.
    /// `ids` is the range of the segments that form the row's id.
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

    /// Write the rows of a table as lines, in arrays of large binary. `first_row` is the number of the first row.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        table: Imported<Table>,
        first_row: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(written(py, &self.0, table, first_row, None)?.0)
    }
}

/// Return the lines of a table. If there are `keys`, return the ids in the lines too.
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
        let (lines, ids_of_batch) = lines.map_err(|error| to_python(py, &error, host.failure()))?;
        for lines in lines {
            out.push(export(py, std::sync::Arc::new(lines))?);
        }
        ids.extend(ids_of_batch);
        done += rows;
    }
    Ok((out, ids))
}

/// The ids of all rows so far.
#[pyclass(frozen, name = "SeenIds", module = "promptpress._core")]
#[derive(Default)]
pub(super) struct PySeenIds(Mutex<SeenIds>);

/// The lines; the length of the shortest and of the longest id in bytes; a row with a repeated id, and the earlier row.
type LinesWithIds<'py> = (Vec<Bound<'py, PyAny>>, usize, usize, Option<(usize, usize)>);

#[pymethods]
impl PySeenIds {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Write the next rows as lines, and add their ids. `first_row` is the number of the first of these rows.
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
        let summary = py.detach(|| seen().add(&ids));
        Ok((lines, summary.shortest, summary.longest, summary.repeated))
    }
}

/// Return the texts of a table's only column, in arrays of strings, or its values as JSON: its field says which of its
/// texts are JSON. Errors count rows from 0.
#[pyfunction]
#[pyo3(signature = (table, as_json=false))]
pub(super) fn field_texts<'py>(
    py: Python<'py>,
    table: Imported<Table>,
    as_json: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let work = move || {
        let mut done = 0;
        let texts = batches(table).into_iter().map(|batch| {
            let texts =
                field_texts_of(batch.schema_ref().field(0), batch.column(0), as_json).map_err(|e| e.shifted(done));
            done += batch.num_rows();
            texts
        });
        texts.collect::<Result<Vec<_>, _>>()
    };
    // The work stays on this thread: it may be one of the pool, which others wait for.
    let texts = plain(py, detached_rows(py, None, 0, work)?)?;
    texts.into_iter().map(|texts| export(py, std::sync::Arc::new(texts))).collect()
}

/// Return true if every chat API accepts the messages of a table's only column: each role is in `roles`, and each
/// message has a `content`.
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
    // The work stays on this thread, because waiting for the pool would take longer than the work.
    plain(py, detached_rows(py, None, 0, work)?)
}
