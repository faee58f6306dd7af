//! Token ids of columns of texts.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::detach::detached_rows;
use super::errors::plain;
use crate::token_ids as core;

/// A tokenizer that encodes columns of texts.
///
/// It is made of a `tokenizer.json`, as text; the added tokens, each with its id if texts can be cut at it, and whether
/// the library treats it in a way of its own; an added token with its id that has to stand before pieces; and the name of the family of places to cut.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct TextEncoder {
    inner: core::Encoder,
}

#[pymethods]
impl TextEncoder {
    #[new]
    fn new(
        py: Python<'_>,
        json: &str,
        added: Vec<(String, Option<i32>, bool)>,
        context: Option<(String, i32)>,
        cuts: Option<&str>,
    ) -> PyResult<Self> {
        let engine = py.detach(|| core::load(json)).map_err(PyValueError::new_err)?;
        let token = |(text, anchor, is_special): (String, Option<i32>, bool)| {
            let other = if is_special { core::TokenKind::Special } else { core::TokenKind::Plain };
            core::AddedToken { text, kind: anchor.map_or(other, core::TokenKind::Anchor) }
        };
        let added: Vec<_> = added.into_iter().map(token).collect();
        let added = plain(py, core::AddedTokens::new(&added))?;
        let cuts = cuts.and_then(core::Cuts::of).filter(|_| context.is_none());
        let parts = core::Parts { engine, added, context, cuts };
        Ok(Self { inner: core::Encoder::new(parts) })
    }

    /// Tell the number of bytes of each token, and whether texts are brought into the normal form NFC.
    fn set_lengths(&self, lengths: Vec<u32>, has_normal_form: bool) {
        self.inner.set_lengths(lengths, has_normal_form);
    }

    /// Return the tokens of texts; rows whose tokens aren't certain here are open.
    fn encode(&self, py: Python<'_>, texts: Imported<ArrayRef>, offsets: bool) -> PyResult<TokenRows> {
        let texts = texts.0;
        let rows = detached_rows(py, None, texts.len(), || self.inner.encode(&texts, offsets))?;
        Ok(TokenRows { inner: Mutex::new(plain(py, rows)?) })
    }
}

/// The tokens of some rows.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct TokenRows {
    inner: Mutex<core::TokenRows>,
}

/// The Arrow columns of some rows: those that were asked for, the rows that are too long with the number of their
/// tokens, and how many rows train nothing.
#[pyclass(frozen, get_all, module = "promptpress._core")]
pub(super) struct TokenColumns {
    input_ids: Py<PyAny>,
    n_tokens: Py<PyAny>,
    assistant_masks: Option<Py<PyAny>>,
    labels: Option<Py<PyAny>>,
    offsets: Option<Py<PyAny>>,
    truncated: Py<PyAny>,
    too_long: Vec<(usize, usize)>,
    untrained: usize,
}

#[pymethods]
impl TokenRows {
    /// Return rows for texts, all of them open.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn open(texts: Imported<ArrayRef>, offsets: bool) -> Self {
        Self { inner: Mutex::new(core::TokenRows::open(texts.0.nulls(), texts.0.len(), offsets)) }
    }

    /// The numbers of the open rows.
    #[getter]
    fn open_rows(&self) -> Vec<usize> {
        self.lock().open_rows()
    }

    /// Return the ids of a row, without special tokens around them; None if it is open or null.
    fn ids(&self, row: usize) -> Option<Vec<i32>> {
        self.lock().ids(row).map(<[i32]>::to_vec)
    }

    /// Return the bytes of each token of a row: the first, and the one after the last. None if they aren't known.
    fn spans(&self, row: usize) -> Option<Vec<(u32, u32)>> {
        Some(self.lock().spans(row)?.iter().map(|[start, end]| (*start, *end)).collect())
    }

    /// Set the ids of a row; the first byte of each token, and the one after its last.
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn fill(&self, py: Python<'_>, row: usize, ids: Vec<i32>, starts: Vec<u32>, ends: Vec<u32>) -> PyResult<()> {
        plain(py, self.lock().fill(row, &ids, &starts, &ends))
    }

    /// Put special tokens around each row; around those that begin with the first of them only if `always` is true.
    fn surround(&self, before: Vec<i32>, after: Vec<i32>, always: bool) {
        self.lock().surround(before, after, always);
    }

    /// Return the columns, and give up the rows.
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn columns(
        &self,
        py: Python<'_>,
        trained: Option<Imported<ArrayRef>>,
        labels: bool,
        most: Option<usize>,
        truncation: &str,
        failed: Vec<usize>,
    ) -> PyResult<TokenColumns> {
        let cut = match truncation {
            "left" => core::Cut::Left,
            "right" => core::Cut::Right,
            "middle" => core::Cut::Middle,
            _ => core::Cut::Refuse,
        };
        let rows = std::mem::take(&mut *self.lock());
        let trained = trained.map(|array| array.0);
        let count = rows.row_count();
        let work = || rows.columns(trained.as_ref(), labels, most, cut, &failed);
        let columns = plain(py, detached_rows(py, None, count, work)?)?;
        let column = |array: ArrayRef| export(py, array).map(Bound::unbind);
        Ok(TokenColumns {
            input_ids: column(columns.ids)?,
            n_tokens: column(columns.counts)?,
            assistant_masks: columns.mask.map(column).transpose()?,
            labels: columns.labels.map(column).transpose()?,
            offsets: columns.offsets.map(column).transpose()?,
            truncated: column(columns.truncated)?,
            too_long: columns.too_long,
            untrained: columns.untrained,
        })
    }
}

impl TokenRows {
    fn lock(&self) -> std::sync::MutexGuard<'_, core::TokenRows> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
