//! A compiled configuration as a Python class. Conveniences (kept columns, streams, pickling) are Python's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_pyarrow::ToPyArrow;
use arrow_schema::{Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::arrow::{Imported, Table, batches, export, one_batch};
use super::detach::{detached, detached_rows};
use super::errors::{plain, to_python};
use super::guard::{caught, raise};
use super::interpreter::Interpreter;
use super::json_lines::PyLineLayout;
use super::outcome::PyOutcome;
use super::position::Position;
use super::value;
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Config, InferMode, Labels, Settings};
use crate::render::{self, CompiledConfig, Spans, Wanted};
use crate::value::Value;

/// A compiled configuration.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct CompiledRenderer {
    pub(super) core: CompiledConfig,
    /// The texts of the examples' foreign columns.
    examples: Option<Py<PyAny>>,
    /// The process that it was made in.
    process: u32,
    /// How many threads are at work with it, each detached from the interpreter.
    at_work: AtomicUsize,
}

pub(super) fn settings(dict: &Bound<'_, PyDict>) -> PyResult<Settings> {
    Settings::of(|key| match dict.get_item(key)? {
        Some(found) => value::from_python(&found),
        None => Ok(Value::None),
    })
}

/// A thread at work with a renderer; whoever forks holds the interpreter, and so sees it whole.
pub(super) struct RunningWork<'r>(&'r AtomicUsize);

impl Drop for RunningWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CompiledRenderer {
    pub(super) fn work(&self) -> RunningWork<'_> {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        RunningWork(&self.at_work)
    }

    /// Samples rendered from `position` on.
    fn rendered(
        &self,
        py: Python<'_>,
        samples: &[RecordBatch],
        labels: &[Option<Value>],
        position: &Position,
        wanted: Wanted,
        host: &Interpreter,
    ) -> PyResult<Vec<PyOutcome>> {
        let rows = samples.iter().map(RecordBatch::num_rows).sum::<usize>().max(self.core.pending_examples());
        let _work = self.work();
        let rendered = detached_rows(py, Some(host), rows, || -> Result<Vec<render::Outcome>> {
            let mut position = position.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (start, draws) = &mut *position;
            let mut out = Vec::new();
            for batch in samples {
                out.extend(render::render(&self.core, batch, *start, labels, draws, wanted, host)?);
                *start += batch.num_rows();
            }
            Ok(out)
        })?;
        Ok(raised(py, host, rendered)?.into_iter().map(PyOutcome).collect())
    }

    /// What rendering samples asks of Python, where `lower` gives the texts of their foreign columns.
    pub(super) fn host(&self, lower: Py<PyAny>) -> Interpreter<'_> {
        Interpreter::new(Some(lower), self.examples.as_ref()).within(self.core.config.limits)
    }
}

/// Labels as Python hands them on; None in gen mode.
pub(super) fn labels(labels: Option<&Bound<'_, PyList>>) -> PyResult<Vec<Option<Value>>> {
    match labels {
        Some(list) => list.iter().map(|l| value::from_python(&l).map(Some)).collect(),
        None => Ok(vec![None]),
    }
}

fn spans_of(detailed: Option<bool>) -> Spans {
    match detailed {
        None => Spans::None,
        Some(false) => Spans::Sources,
        Some(true) => Spans::Detailed,
    }
}

/// A result of the core as Python's.
pub(super) fn raised<T>(py: Python<'_>, host: &Interpreter, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error, host.failure()))
}

#[pymethods]
impl CompiledRenderer {
    /// Compile `settings`; `tokens(id)` gives a token's text or None, `lower` the texts of the examples' foreign columns.
    #[new]
    #[pyo3(signature = (settings, examples, tokens, lower))]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        examples: Option<Imported<Table>>,
        tokens: Option<Py<PyAny>>,
        lower: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = self::settings(settings)?;
        let host = Interpreter::new(None, lower.as_ref());
        let failure = std::cell::RefCell::new(None);
        let text_of = |id: i64| -> Result<Option<String>> {
            let Some(tokens) = &tokens else { return Ok(None) };
            let asked = tokens.bind(py).call1((id,)).and_then(|text| text.extract::<Option<String>>());
            asked.map_err(|e| {
                *failure.borrow_mut() = Some(e);
                Error::stopped()
            })
        };
        let config = caught(|| Config::new(&settings, &text_of)).map_err(|panic| raise(&panic))?;
        let config = config.map_err(|error| to_python(py, &error, failure.borrow_mut().take()))?;
        let host = host.within(config.limits);
        let examples = examples.map(|table| one_batch(py, table)).transpose()?;
        let rows = match &config.retriever.choice {
            Choice::Zero => 0,
            Choice::Fixed(ids) => ids.len(),
            _ => examples.as_ref().map_or(0, RecordBatch::num_rows),
        };
        let made = detached_rows(py, Some(&host), rows, || CompiledConfig::new(config, examples.as_ref(), &host))?;
        let core = raised(py, &host, made)?;
        Ok(Self { core, examples: lower, process: std::process::id(), at_work: AtomicUsize::new(0) })
    }

    /// Render a table's rows from `position` on; `spans` asks for where bytes come from, and says whether in detail.
    #[pyo3(signature = (samples, labels, position, single_chunk, lower, spans=None))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn render(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        labels: Option<&Bound<'_, PyList>>,
        position: &Position,
        single_chunk: bool,
        lower: Py<PyAny>,
        spans: Option<bool>,
    ) -> PyResult<Vec<PyOutcome>> {
        let host = self.host(lower);
        let samples = batches(samples);
        let labels = self::labels(labels)?;
        let wanted = Wanted { single_chunk, spans: spans_of(spans), frame: None };
        self.rendered(py, &samples, &labels, position, wanted, &host)
    }

    /// Render a table's rows from `position` on; what can be comes as the lines of `layout`, whose columns are all that of
    /// the requests.
    fn lines(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        position: &Position,
        lower: Py<PyAny>,
        layout: &PyLineLayout,
    ) -> PyResult<Vec<PyOutcome>> {
        let (host, samples, frame) = (self.host(lower), batches(samples), layout.0.frame());
        let wanted = Wanted { frame: frame.as_ref(), ..Wanted::default() };
        self.rendered(py, &samples, &[None], position, wanted, &host)
    }

    /// Go on by `rows` samples from `position` without rendering them.
    fn skip(&self, py: Python<'_>, position: &Position, rows: usize) -> PyResult<()> {
        let _work = self.work();
        detached_rows(py, None, rows, || -> Result<()> {
            let mut position = position.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (start, draws) = &mut *position;
            self.core.skip(*start, rows, draws)?;
            *start += rows;
            Ok(())
        })?
        .map_err(|error| to_python(py, &error, None))
    }

    /// The label column of one sample of a schema, as rendering gives it; None in gen mode.
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn label_values<'py>(
        &self,
        py: Python<'py>,
        schema: Imported<SchemaRef>,
        labels: Option<&Bound<'py, PyList>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let labels = self::labels(labels)?;
        let array = caught(|| render::label_column(&self.core, &schema.0, &labels)).map_err(|panic| raise(&panic))?;
        plain(py, array)?.map(|array| export(py, array)).transpose()
    }

    /// The field of requests' spans for samples of a schema.
    #[pyo3(signature = (schema, detailed))]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn spans_field<'py>(
        &self,
        py: Python<'py>,
        schema: Imported<SchemaRef>,
        detailed: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let field = render::spans_field(&self.core, &schema.0, spans_of(Some(detailed)));
        let field = plain(py, field)?;
        Schema::new(vec![field]).to_pyarrow(py)
    }

    /// The requests of turn `turn` of each conversation that has one: `replies` holds the replies before it.
    fn turn(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        turn: usize,
        replies: Imported<ArrayRef>,
        lower: Py<PyAny>,
    ) -> PyResult<Vec<PyOutcome>> {
        let host = self.host(lower);
        let samples = one_batch(py, samples)?;
        let replies = replies.0;
        let _work = self.work();
        let rendered = detached(py, Some(&host), || render::render_turn(&self.core, &samples, turn, &replies, &host))?;
        Ok(raised(py, &host, rendered)?.into_iter().map(PyOutcome).collect())
    }

    /// Whether this is a forked process's, and threads of its parent were at work with it when it forked: what they had
    /// locked stays so.
    #[getter]
    fn orphaned_by_fork(&self) -> bool {
        self.at_work.load(Ordering::Relaxed) > 0 && self.process != std::process::id()
    }

    /// Whether requests are turns of conversations.
    #[getter]
    fn has_turns(&self) -> bool {
        self.core.has_turns()
    }

    /// Whether the model's own replies are part of the requests.
    #[getter]
    fn wants_replies(&self) -> bool {
        self.core.has_turns() && self.core.config.infer_mode == InferMode::Every
    }

    /// The labels for these samples; None in gen mode.
    fn labels_of<'py>(&self, py: Python<'py>, samples: Imported<Table>) -> PyResult<Option<Bound<'py, PyList>>> {
        if self.core.labels == Labels::None {
            return Ok(None);
        }
        let samples = batches(samples);
        let rows = samples.iter().map(RecordBatch::num_rows).sum();
        let labels = plain(py, detached_rows(py, None, rows, || render::labels_of(&self.core, &samples))?)?;
        let labels = labels.iter().map(|l| value::to_python(py, l.as_ref().unwrap_or(&Value::None)));
        Ok(Some(PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)?))
    }

    /// The labels that the configuration gives; None where it gives none.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        match &self.core.labels {
            Labels::Given(labels) => {
                let labels = labels.iter().map(|l| value::to_python(py, l)).collect::<PyResult<Vec<_>>>()?;
                Ok(Some(PyList::new(py, labels)?))
            }
            _ => Ok(None),
        }
    }

    /// The column whose values are the labels, if they are.
    #[getter]
    fn label_column(&self) -> Option<&str> {
        match &self.core.labels {
            Labels::Column(column) => Some(column),
            _ => None,
        }
    }

    /// Whether the retriever goes by the sample's position.
    #[getter]
    fn by_position(&self) -> bool {
        self.core.config.retriever.choice.by_position()
    }

    /// The column that says which examples each sample uses, if one does.
    #[getter]
    fn index_column(&self) -> Option<&str> {
        match &self.core.config.retriever.choice {
            Choice::Column(column) => Some(column),
            _ => None,
        }
    }

    /// `eos_token_id` of the meta template.
    #[getter]
    fn eos_token_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::to_python(py, self.core.config.eos_token_id.as_ref().unwrap_or(&Value::None))
    }

    /// The output column, if it is masked.
    #[getter]
    fn masked_column(&self) -> Option<&str> {
        self.core.config.masked()
    }

    /// The literals of the templates, for finding the columns that they name.
    #[getter]
    fn literals(&self) -> Vec<String> {
        self.core.literals()
    }

    /// Fields of the label and prompt columns.
    fn output_fields<'py>(&self, py: Python<'py>, schema: Imported<SchemaRef>) -> PyResult<Bound<'py, PyAny>> {
        let schema = schema.0;
        let fields = caught(|| render::output_fields(&self.core, &schema)).map_err(|panic| raise(&panic))?;
        let fields = plain(py, fields)?;
        Schema::new(fields).to_pyarrow(py)
    }

    /// The retriever's choice for `count` samples, list<int64>; None if the samples' own column says it.
    fn retrieve<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let _work = self.work();
        let chosen = detached(py, None, || self.core.choose_examples(0, count, &mut None))?;
        let Some(chosen) = plain(py, chosen)? else { return Ok(None) };
        let mut lists = ListBuilder::new(Int64Builder::new());
        for ids in chosen {
            lists.values().append_slice(&ids);
            lists.append(true);
        }
        Ok(Some(export(py, Arc::new(lists.finish()))?))
    }

    /// Spans of one request, as a record batch.
    #[pyo3(signature = (samples, row, labels, label, turn, lower, start=0))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        row: usize,
        labels: Option<&Bound<'py, PyList>>,
        label: Option<&Bound<'py, PyAny>>,
        turn: Option<usize>,
        lower: Py<PyAny>,
        start: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(lower);
        let samples = batches(samples);
        let (labels, label) = (self::labels(labels)?, label.map(value::from_python).transpose()?);
        let _work = self.work();
        let explain = || render::explain(&self.core, &samples, row, &labels, label.as_ref(), turn, start, &host);
        let spans = detached(py, Some(&host), explain)?;
        let spans = raised(py, &host, spans)?;
        let ints = |of: fn(&render::OriginSpan) -> Option<i64>| {
            Arc::new(spans.iter().map(of).collect::<Int64Array>()) as ArrayRef
        };
        let strings = |of: fn(&render::OriginSpan) -> Option<&str>| {
            Arc::new(spans.iter().map(of).collect::<StringArray>()) as ArrayRef
        };
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("message", ints(|s| Some(s.message as i64)), true),
            ("part", ints(|s| s.part.map(|part| part as i64)), true),
            ("start", ints(|s| Some(s.start as i64)), true),
            ("end", ints(|s| Some(s.end as i64)), true),
            ("source", strings(|s| Some(s.origin.source.name())), true),
            ("column", strings(|s| s.origin.column.as_deref()), true),
            ("example", ints(|s| s.origin.example.map(i64::from)), true),
            ("role", strings(|s| s.origin.role.as_deref()), true),
        ]);
        let batch = plain(py, batch.map_err(|e| Error::render(Code::InternalError, e.to_string())))?;
        batch.to_pyarrow(py)
    }

    /// What is noticed about samples, as a record batch.
    #[pyo3(signature = (samples, lower))]
    fn findings<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        lower: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(lower);
        let samples = batches(samples);
        let _work = self.work();
        let found = detached(py, Some(&host), || render::findings(&self.core, &samples, &host))?;
        let found = raised(py, &host, found)?;
        let strings = |of: fn(&render::Found) -> &str| {
            Arc::new(found.iter().map(|one| Some(of(one))).collect::<StringArray>()) as ArrayRef
        };
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("row", Arc::new(found.iter().map(|one| Some(one.row as i64)).collect::<Int64Array>()) as ArrayRef, true),
            ("column", strings(|one| &one.column), true),
            ("finding", strings(|one| one.finding.name()), true),
            ("excerpt", strings(|one| &one.excerpt), true),
        ]);
        plain(py, batch.map_err(|e| Error::render(Code::InternalError, e.to_string())))?.to_pyarrow(py)
    }

    /// Rows in which the two ways of substituting differ, as a record batch.
    #[pyo3(signature = (samples, labels, lower))]
    fn divergence<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        labels: Option<&Bound<'py, PyList>>,
        lower: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(lower);
        let (samples, labels) = (batches(samples), self::labels(labels)?);
        let _work = self.work();
        let found = detached(py, Some(&host), || render::divergence(&self.core, &samples, &labels, &host))?;
        let mut rows = Int64Builder::new();
        let mut columns = ListBuilder::new(StringBuilder::new());
        for one in raised(py, &host, found)? {
            rows.append_value(one.row as i64);
            for column in &one.columns {
                columns.values().append_value(column);
            }
            columns.append(true);
        }
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("row", Arc::new(rows.finish()) as ArrayRef, true),
            ("columns", Arc::new(columns.finish()) as ArrayRef, true),
        ]);
        plain(py, batch.map_err(|e| Error::render(Code::InternalError, e.to_string())))?.to_pyarrow(py)
    }
}
