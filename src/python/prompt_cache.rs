//! The caches of services: shared beginnings of requests, marks, and what is read and written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{Array, ArrayRef};
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::detach::{detached, detached_rows};
use super::errors::plain;
use crate::prompt_cache as core;

/// The fewest tokens of a beginning, the fewest requests with it, the most marks, whether answers may have some, and
/// whether the service marks the ends of requests by itself.
type Marks = (u64, u32, usize, bool, bool);

/// The beginnings of rendered requests, which are added batch by batch.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct PromptTree {
    inner: Mutex<core::PromptTree>,
}

#[pymethods]
impl PromptTree {
    /// Start without requests. `blocks` are the tokens of the first block and of the others in which a service compares
    /// requests; None: it compares those that have marks.
    #[new]
    #[pyo3(signature = (blocks))]
    fn new(blocks: Option<(usize, usize)>) -> Self {
        let blocks = blocks.map(|(minimum, step)| core::Blocks { minimum, step });
        Self { inner: Mutex::new(core::PromptTree::new(blocks)) }
    }

    /// Begin a batch of requests, of which `tools` are the first part: return the texts whose ids `finish` needs.
    #[pyo3(signature = (requests, json, tools))]
    fn begin<'py>(
        &self,
        py: Python<'py>,
        requests: Imported<ArrayRef>,
        json: bool,
        tools: Option<Imported<ArrayRef>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (requests, tools) = (requests.0, tools.map(|tools| tools.0));
        let work = || self.lock().begin(&requests, json, tools.as_ref());
        let texts = plain(py, detached_rows(py, None, requests.len(), work)?)?;
        export(py, texts)
    }

    /// Add the batch by the token ids of its texts (lists of int32); None: four bytes are a token.
    #[pyo3(signature = (ids))]
    fn finish(&self, py: Python<'_>, ids: Option<Imported<ArrayRef>>) -> PyResult<()> {
        let ids = ids.map(|ids| ids.0);
        let work = || self.lock().finish(ids.as_ref());
        plain(py, detached(py, None, work)?)
    }

    /// Return the numbers of messages in each request's marked beginnings (lists of int32), of so many requests.
    fn marks<'py>(&self, py: Python<'py>, first: usize, count: usize, marks: Marks) -> PyResult<Bound<'py, PyAny>> {
        let mut lists = ListBuilder::new(Int32Builder::new());
        for request in self.lock().marks(first..first + count, &of(marks)) {
            lists.append_value(request.into_iter().map(|messages| Some(messages as i32)));
        }
        export(py, Arc::new(lists.finish()))
    }

    /// Return all tokens, those that are read from the cache, and those that are written to it, of requests in an order
    /// (None: as they were added), where a beginning is kept for so many requests.
    #[pyo3(signature = (order, kept, marks))]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn served(
        &self,
        py: Python<'_>,
        order: Option<Vec<u32>>,
        kept: u64,
        marks: Option<Marks>,
    ) -> PyResult<(u64, u64, u64)> {
        let marks = marks.map(of);
        let work = || self.lock().served(order.as_deref(), kept, marks.as_ref());
        let served = detached(py, None, work)?;
        Ok((served.tokens, served.read, served.written))
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }
}

impl PromptTree {
    fn lock(&self) -> MutexGuard<'_, core::PromptTree> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of((minimum, enough, most, answers, implicit): Marks) -> core::Marks {
    core::Marks { minimum, enough, most, answers, implicit }
}
