//! Searches of an audit in whole columns, for Python.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use arrow_pyarrow::ToPyArrow;
use arrow_schema::{ArrowError, Field};
use pyo3::prelude::*;

use super::arrow::{Imported, Table, batches, export, unnamed};
use super::detach::detached_rows;
use super::errors::plain;
use crate::audit::{self, Needles, OddCharacter, OddKind, TextMatch, Texts};
use crate::error::{Code, Error, Result};
use crate::statistics::HASH_BYTES;

fn internal(error: &ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}

/// Return the error of texts that aren't UTF-8.
fn not_text(field: &Field, array: &ArrayRef) -> Error {
    let unknown = || Error::render(Code::InternalError, "texts that were looked through are none");
    Texts::new(field, array).err().unwrap_or_else(unknown)
}

/// Make a record batch for pyarrow.
fn exported<'py>(
    py: Python<'py>,
    columns: impl IntoIterator<Item = (&'static str, ArrayRef)>,
) -> PyResult<Bound<'py, PyAny>> {
    let batch = RecordBatch::try_from_iter(columns).map_err(|error| internal(&error));
    plain(py, batch)?.to_pyarrow(py)
}

fn int64<T>(items: &[T], of: fn(&T) -> i64) -> ArrayRef {
    Arc::new(items.iter().map(|item| Some(of(item))).collect::<Int64Array>())
}

/// Searches columns for some texts. The texts are prepared once.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct TextFinder {
    needles: Needles,
}

#[pymethods]
impl TextFinder {
    #[new]
    fn new(py: Python<'_>, needles: Vec<String>) -> PyResult<Self> {
        Ok(Self { needles: plain(py, py.detach(move || Needles::new(&needles)))? })
    }

    /// Return the first occurrence of each needle in each row's text, as a record batch.
    fn find<'py>(&self, py: Python<'py>, texts: Imported<ArrayRef>) -> PyResult<Bound<'py, PyAny>> {
        let (field, array) = unnamed(texts);
        let work = || Texts::bytes_of(&field, &array).map(|texts| audit::find_texts(&texts, &self.needles));
        let matches: Vec<TextMatch> = plain(py, detached_rows(py, None, array.len(), work)?)?;
        let needles = matches.iter().map(|text_match| Some(text_match.needle)).collect::<Int32Array>();
        exported(
            py,
            [
                ("row", int64(&matches, |text_match| text_match.row)),
                ("needle", Arc::new(needles) as ArrayRef),
                ("start", int64(&matches, |text_match| text_match.start)),
                ("end", int64(&matches, |text_match| text_match.end)),
            ],
        )
    }
}

/// Return the first occurrence of each needle in each row's text, as a record batch.
#[pyfunction]
pub(super) fn find_texts<'py>(
    py: Python<'py>,
    texts: Imported<ArrayRef>,
    needles: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    TextFinder::new(py, needles)?.find(py, texts)
}

/// Return the start of the first occurrence of each row's needle in the row's text.
#[pyfunction]
pub(super) fn find_row_texts<'py>(
    py: Python<'py>,
    texts: Imported<ArrayRef>,
    needles: Imported<ArrayRef>,
    whole_words: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (texts, needles) = (unnamed(texts), unnamed(needles));
    let work = || -> Result<Int64Array> {
        audit::find_per_row(&Texts::new(&texts.0, &texts.1)?, &Texts::new(&needles.0, &needles.1)?, whole_words)
    };
    let starts = plain(py, detached_rows(py, None, texts.1.len(), work)?)?;
    export(py, Arc::new(starts))
}

/// Return the rows whose text begins with one of some bytes.
#[pyfunction]
pub(super) fn begin_with<'py>(py: Python<'py>, texts: Imported<ArrayRef>, first: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let ((field, array), first) = (unnamed(texts), first.to_vec());
    let work = || Texts::bytes_of(&field, &array).map(|texts| Int64Array::from(audit::begin_with(&texts, &first)));
    let rows = plain(py, detached_rows(py, None, array.len(), work)?)?;
    export(py, Arc::new(rows))
}

/// Return the first odd character of each kind in each row's text, as a record batch.
#[pyfunction]
pub(super) fn odd_characters<'py>(py: Python<'py>, texts: Imported<ArrayRef>) -> PyResult<Bound<'py, PyAny>> {
    let (field, array) = unnamed(texts);
    let work = || match audit::odd_characters(&Texts::bytes_of(&field, &array)?) {
        Some(characters) => Ok(characters),
        None => Err(not_text(&field, &array)),
    };
    let characters: Vec<OddCharacter> = plain(py, detached_rows(py, None, array.len(), work)?)?;
    let kinds = characters.iter().map(|character| Some(character.kind as i8)).collect::<Int8Array>();
    exported(
        py,
        [
            ("row", int64(&characters, |character| character.row)),
            ("kind", Arc::new(kinds) as ArrayRef),
            ("start", int64(&characters, |character| character.start)),
            ("end", int64(&characters, |character| character.end)),
        ],
    )
}

/// Return the names of the kinds of odd characters, in the order of their numbers.
pub(super) fn odd_kinds() -> Vec<&'static str> {
    OddKind::ALL.map(OddKind::name).to_vec()
}

/// Return a hash of each row's content, 16 bytes each.
#[pyfunction]
pub(super) fn content_hashes<'py>(
    py: Python<'py>,
    rows: Imported<Table>,
    normalised: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let all = batches(rows);
    let count = all.iter().map(RecordBatch::num_rows).sum();
    let work = || -> Result<ArrayRef> {
        let mut out = FixedSizeBinaryBuilder::with_capacity(count, HASH_BYTES as i32);
        let mut done = 0;
        for batch in &all {
            for hash in audit::row_hashes(batch, normalised).map_err(|error| error.shifted(done))? {
                out.append_value(hash).map_err(|error| internal(&error))?;
            }
            done += batch.num_rows();
        }
        Ok(Arc::new(out.finish()))
    };
    let hashes = plain(py, detached_rows(py, None, count, work)?)?;
    export(py, hashes)
}
