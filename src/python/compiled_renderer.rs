//! The Python class of a compiled configuration. The Python package adds kept columns, streams and pickling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

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
use super::rendered_rows::PyRenderedRows;
use super::stream_state::{FilledRows, StreamState};
use super::value;
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Config, Draws, InferMode, Labels, Settings};
use crate::render::{self, CompiledConfig, RenderRequest, Spans};
use crate::statistics;
use crate::value::Value;

/// A compiled configuration.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct CompiledRenderer {
    pub(super) core: CompiledConfig,
    /// The callback that returns texts of the examples' foreign columns.
    examples: Option<Py<PyAny>>,
    /// The process that created the renderer.
    process: u32,
    /// The number of threads that work with the renderer, each of them detached from the interpreter.
    at_work: AtomicUsize,
    /// The configuration under the other rule of substitution, once it is needed.
    opposite: OnceLock<CompiledConfig>,
}

pub(super) fn settings(dict: &Bound<'_, PyDict>) -> PyResult<Settings> {
    Settings::of(|key| match dict.get_item(key)? {
        Some(value) => value::from_python(&value),
        None => Ok(Value::None),
    })
}

/// Return the rule of substitution that applies if a renderer's arguments name none.
#[pyfunction]
pub(super) fn default_substitution(settings: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    Ok(self::settings(settings)?.default_substitution().name())
}

/// A request to the core, and the columns in addition to the prompts.
#[derive(Clone, Copy, Default)]
struct Request<'f> {
    core: RenderRequest<'f>,
    /// True to return a hash of each request.
    hashes: bool,
    /// True to return the error of each row that can't be rendered.
    errors: bool,
}

/// Counts a thread that works with a renderer. A thread that forks holds the interpreter, so the count is complete
/// then.
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

    /// Render samples from `position` on.
    fn rendered(
        &self,
        py: Python<'_>,
        samples: &[RecordBatch],
        labels: &[Option<Value>],
        position: &StreamState,
        request: Request,
        host: &Interpreter,
    ) -> PyResult<Vec<PyRenderedRows>> {
        let rows = samples.iter().map(RecordBatch::num_rows).sum::<usize>().max(self.core.pending_examples());
        let _work = self.work();
        let render = if request.errors { render::render_or_errors } else { render::render };
        let is_json = self.core.config.output.json;
        let rendered = detached_rows(py, Some(host), rows, || -> Result<Vec<PyRenderedRows>> {
            let mut inner = position.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (start, draws) = &mut *inner;
            let mut out = Vec::new();
            for batch in samples {
                let before = position.filled.is_some().then(|| (*start, draws.clone()));
                let first = out.len();
                for rows in render(&self.core, batch, *start, labels, draws, request.core, host)? {
                    let hashes = request.hashes.then(|| statistics::hash_array(&rows.prompts, is_json)).transpose()?;
                    out.push(PyRenderedRows { rows, hashes });
                }
                *start += batch.num_rows();
                if let (Some(before), Some(filled)) = (before, &position.filled) {
                    let mut filled = filled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let changed = out[first..].iter().map(|rendered| rendered.rows.changed.as_deref());
                    let changed = changed.collect::<Option<Vec<_>>>().map(|changed| changed.concat());
                    self.count_filled(batch, before, changed, labels, host, &mut filled)?;
                }
            }
            Ok(out)
        })?;
        raised(py, host, rendered)
    }

    /// Count the rows of a batch whose values were filled in: those that come out otherwise under the other rule.
    /// `changed` are the rows whose texts aren't copies, if they are known.
    fn count_filled(
        &self,
        batch: &RecordBatch,
        position: (usize, Option<Draws>),
        changed: Option<Vec<usize>>,
        labels: &[Option<Value>],
        host: &Interpreter,
        filled: &mut FilledRows,
    ) -> Result<()> {
        // Most batches hold no value that could be filled in, and cost no more than this.
        let (is_flagged, mut shapes) = (host.take_substituted(), host.take_shapes());
        shapes.retain(|shape| !filled.same_shapes.contains(shape));
        if !is_flagged && shapes.is_empty() && filled.compares_all == Some(false) {
            return Ok(());
        }
        let other = match self.opposite.get() {
            Some(other) => other,
            None => {
                let other = render::opposite(&self.core, host)?;
                self.opposite.get_or_init(|| other)
            }
        };
        let schema = batch.schema_ref();
        // A plan that can't be made may differ.
        if filled.compares_all.is_none() {
            let differ = render::plans_differ(&self.core, other, schema)
                .and_then(|differ| Ok(differ || render::examples_differ(&self.core, other, schema, host)?));
            filled.compares_all = Some(differ.unwrap_or(true));
        }
        for shape in shapes {
            if filled.compares_all == Some(true) {
                break;
            }
            let differs = render::shape_differs(&self.core, other, schema, &shape, labels, host);
            filled.compares_all = Some(differs.unwrap_or(true));
            filled.same_shapes.insert(shape);
        }
        host.failure();
        let compares_copies =
            *filled.compares_copies.get_or_insert_with(|| render::only_copies(other, schema).unwrap_or(false));
        match changed {
            // The other rule would have given the copies.
            Some(changed) if compares_copies && filled.compares_all == Some(false) => {
                self.add_changed(other, batch, position, &changed, labels, host, filled)?;
            }
            _ if is_flagged || filled.compares_all == Some(true) => {
                self.compare(other, batch, position, labels, host, filled)?;
            }
            _ => {}
        }
        host.take_substituted();
        host.take_shapes();
        Ok(())
    }

    /// Count rows of a batch that are known to differ under the other rule.
    #[allow(clippy::too_many_arguments, reason = "the rows, and where they stand")]
    fn add_changed(
        &self,
        other: &CompiledConfig,
        batch: &RecordBatch,
        position: (usize, Option<Draws>),
        changed: &[usize],
        labels: &[Option<Value>],
        host: &Interpreter,
        filled: &mut FilledRows,
    ) -> Result<()> {
        let count = filled.count + changed.len();
        if let (Some(first), None) = (changed.first(), &filled.first) {
            let (start, mut draws) = position;
            self.core.skip(start, first - start, &mut draws)?;
            self.compare(other, &batch.slice(first - start, 1), (*first, draws), labels, host, filled)?;
        }
        filled.count = count;
        Ok(())
    }

    /// Compare the rows of a batch under both rules. If a row can't be rendered, those before and after it are compared
    /// without it.
    fn compare(
        &self,
        other: &CompiledConfig,
        batch: &RecordBatch,
        position: (usize, Option<Draws>),
        labels: &[Option<Value>],
        host: &Interpreter,
        filled: &mut FilledRows,
    ) -> Result<()> {
        let rows = std::slice::from_ref(batch);
        let traced = usize::from(filled.first.is_none());
        let error = match render::divergence_from(&self.core, other, rows, position.clone(), labels, traced, host) {
            Ok(rows) => {
                filled.count += rows.len();
                if filled.first.is_none() {
                    filled.first = rows.into_iter().next();
                }
                return Ok(());
            }
            Err(error) => error,
        };
        if host.is_interrupted() {
            return Err(error);
        }
        host.failure();
        let middle = batch.num_rows() / 2;
        if middle == 0 {
            filled.is_partial = true;
            return Ok(());
        }
        let (start, mut draws) = position.clone();
        self.core.skip(start, middle, &mut draws)?;
        self.compare(other, &batch.slice(0, middle), position, labels, host, filled)?;
        let rest = batch.slice(middle, batch.num_rows() - middle);
        self.compare(other, &rest, (start + middle, draws), labels, host, filled)
    }

    /// Return the interpreter for rendering samples. `python_text` returns the texts of their foreign columns.
    pub(super) fn host(&self, python_text: Py<PyAny>) -> Interpreter<'_> {
        Interpreter::new(Some(python_text), self.examples.as_ref()).within(self.core.config.limits)
    }
}

/// Read labels from Python. They are None in gen mode.
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

/// Turn a result of the core into one of Python.
pub(super) fn raised<T>(py: Python<'_>, host: &Interpreter, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error, host.failure()))
}

#[pymethods]
impl CompiledRenderer {
    /// Compile `settings`. `tokens(id)` returns the text of a token, or None. `python_text` returns the texts of the
    /// examples' foreign columns.
    #[new]
    #[pyo3(signature = (settings, examples, tokens, python_text))]
    #[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        examples: Option<Imported<Table>>,
        tokens: Option<Py<PyAny>>,
        python_text: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = self::settings(settings)?;
        let host = Interpreter::new(None, python_text.as_ref());
        let failure = std::cell::RefCell::new(None);
        let text_of = |id: i64| -> Result<Option<String>> {
            let Some(tokens) = &tokens else { return Ok(None) };
            let text = tokens.bind(py).call1((id,)).and_then(|text| text.extract::<Option<String>>());
            text.map_err(|e| {
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
        Ok(Self {
            core,
            examples: python_text,
            process: std::process::id(),
            at_work: AtomicUsize::new(0),
            opposite: OnceLock::new(),
        })
    }

    /// Compile the configuration with the other rule of substitution, in which doubled braces stay as they are.
    fn opposite(&self, py: Python<'_>) -> PyResult<Self> {
        let host = Interpreter::new(None, self.examples.as_ref()).within(self.core.config.limits);
        let _work = self.work();
        let made = detached(py, Some(&host), || render::opposite(&self.core, &host))?;
        Ok(Self {
            core: raised(py, &host, made)?,
            examples: self.examples.as_ref().map(|texts| texts.clone_ref(py)),
            process: self.process,
            at_work: AtomicUsize::new(0),
            opposite: OnceLock::new(),
        })
    }

    /// Render a table's rows from `position` on. `spans` is True for detailed spans, False for coarse ones and None for
    /// no spans. `hashes` adds a hash of each request. `errors` returns the errors of rows instead of raising the first
    /// one.
    #[pyo3(signature = (samples, labels, position, single_chunk, python_text, spans=None, hashes=false, errors=false))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn render(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        labels: Option<&Bound<'_, PyList>>,
        position: &StreamState,
        single_chunk: bool,
        python_text: Py<PyAny>,
        spans: Option<bool>,
        hashes: bool,
        errors: bool,
    ) -> PyResult<Vec<PyRenderedRows>> {
        let host = self.host(python_text);
        let samples = batches(samples);
        let labels = self::labels(labels)?;
        let core = RenderRequest { single_chunk, spans: spans_of(spans), frame: None };
        self.rendered(py, &samples, &labels, position, Request { core, hashes, errors }, &host)
    }

    /// Render a table's rows from `position` on. The prompts are lines of `layout` where this is possible: the layout
    /// must have no other column than the requests.
    fn lines(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        position: &StreamState,
        python_text: Py<PyAny>,
        layout: &PyLineLayout,
    ) -> PyResult<Vec<PyRenderedRows>> {
        let (host, samples, frame) = (self.host(python_text), batches(samples), layout.0.frame());
        let core = RenderRequest { frame: frame.as_ref(), ..RenderRequest::default() };
        self.rendered(py, &samples, &[None], position, Request { core, ..Request::default() }, &host)
    }

    /// Move `position` by `rows` samples without rendering them.
    fn skip(&self, py: Python<'_>, position: &StreamState, rows: usize) -> PyResult<()> {
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

    /// Return the label column of one sample of a schema, as rendering does. Return None in gen mode.
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

    /// Return the field of requests' spans for samples of a schema.
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

    /// Render turn `turn` of each conversation that has one. `replies` are the replies before that turn.
    fn turn(
        &self,
        py: Python<'_>,
        samples: Imported<Table>,
        turn: usize,
        replies: Imported<ArrayRef>,
        python_text: Py<PyAny>,
    ) -> PyResult<Vec<PyRenderedRows>> {
        let host = self.host(python_text);
        let samples = one_batch(py, samples)?;
        let replies = replies.0;
        let _work = self.work();
        let rendered = detached(py, Some(&host), || render::render_turn(&self.core, &samples, turn, &replies, &host))?;
        Ok(raised(py, &host, rendered)?.into_iter().map(|rows| PyRenderedRows { rows, hashes: None }).collect())
    }

    /// Return true if this process was forked while threads of its parent worked with the renderer. Locks that these
    /// threads held are never released.
    #[getter]
    fn orphaned_by_fork(&self) -> bool {
        self.at_work.load(Ordering::Relaxed) > 0 && self.process != std::process::id()
    }

    /// Return true if requests are turns of conversations.
    #[getter]
    fn has_turns(&self) -> bool {
        self.core.has_turns()
    }

    /// Return true if the model's own replies are part of the requests.
    #[getter]
    fn wants_replies(&self) -> bool {
        self.core.has_turns() && self.core.config.infer_mode == InferMode::Every
    }

    /// Return the labels for these samples, or None in gen mode.
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

    /// Return the labels of the configuration, or None if it has none.
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

    /// Return the column whose values are the labels, if there is one.
    #[getter]
    fn label_column(&self) -> Option<&str> {
        match &self.core.labels {
            Labels::Column(column) => Some(column),
            _ => None,
        }
    }

    /// Return the settings that change the rendered bytes, with the defaults of settings that the configuration omits.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = &self.core.config;
        let settings = PyDict::new(py);
        settings.set_item("dialect", config.dialect.name())?;
        settings.set_item("infer_mode", config.infer_mode.name())?;
        settings.set_item("mode", config.mode.name())?;
        settings.set_item("output", config.output.name)?;
        settings.set_item("remain_sep", config.remain_sep)?;
        settings.set_item("replace_token", &*config.gen_field_replace_token)?;
        let retriever = PyDict::new(py);
        for (key, value) in config.retriever.settings() {
            retriever.set_item(key, value::to_python(py, &value)?)?;
        }
        settings.set_item("retriever", retriever)?;
        settings.set_item("substitution", config.substitution.name())?;
        Ok(settings)
    }

    /// Return true if the retriever depends on the sample's position.
    #[getter]
    fn by_position(&self) -> bool {
        self.core.config.retriever.choice.by_position()
    }

    /// Return the column that lists the examples of each sample, if there is one.
    #[getter]
    fn index_column(&self) -> Option<&str> {
        match &self.core.config.retriever.choice {
            Choice::Column(column) => Some(column),
            _ => None,
        }
    }

    /// Return `eos_token_id` of the meta template.
    #[getter]
    fn eos_token_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::to_python(py, self.core.config.eos_token_id.as_ref().unwrap_or(&Value::None))
    }

    /// Return the output column, if it is masked.
    #[getter]
    fn masked_column(&self) -> Option<&str> {
        self.core.config.masked()
    }

    /// Return the literals of the templates, which are searched for the names of columns.
    #[getter]
    fn literals(&self) -> Vec<String> {
        self.core.literals()
    }

    /// Return the fields of the label and prompt columns.
    fn output_fields<'py>(&self, py: Python<'py>, schema: Imported<SchemaRef>) -> PyResult<Bound<'py, PyAny>> {
        let schema = schema.0;
        let fields = caught(|| render::output_fields(&self.core, &schema)).map_err(|panic| raise(&panic))?;
        let fields = plain(py, fields)?;
        Schema::new(fields).to_pyarrow(py)
    }

    /// Return the retriever's choice for `count` samples as list<int64>, or None if a column of the samples has the
    /// choice.
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

    /// Return the spans of one request, as a record batch.
    #[pyo3(signature = (samples, row, labels, label, turn, python_text, start=0))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        row: usize,
        labels: Option<&Bound<'py, PyList>>,
        label: Option<&Bound<'py, PyAny>>,
        turn: Option<usize>,
        python_text: Py<PyAny>,
        start: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(python_text);
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

    /// Return the findings about samples, as a record batch.
    #[pyo3(signature = (samples, python_text))]
    fn findings<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        python_text: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(python_text);
        let samples = batches(samples);
        let _work = self.work();
        let findings = detached(py, Some(&host), || render::findings(&self.core, &samples, &host))?;
        let findings = raised(py, &host, findings)?;
        let strings = |values: Vec<&str>| Arc::new(StringArray::from(values)) as ArrayRef;
        let rows = findings.iter().map(|finding| Some(finding.row as i64)).collect::<Int64Array>();
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("row", Arc::new(rows) as ArrayRef, true),
            ("column", strings(findings.iter().map(|finding| &*finding.column).collect()), true),
            ("finding", strings(findings.iter().map(|finding| finding.finding.name()).collect()), true),
            ("excerpt", strings(findings.iter().map(|finding| &*finding.excerpt).collect()), true),
        ]);
        plain(py, batch.map_err(|e| Error::render(Code::InternalError, e.to_string())))?.to_pyarrow(py)
    }

    /// Return the rows in which the two ways of substituting differ, as a record batch.
    #[pyo3(signature = (samples, labels, python_text))]
    fn divergence<'py>(
        &self,
        py: Python<'py>,
        samples: Imported<Table>,
        labels: Option<&Bound<'py, PyList>>,
        python_text: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host(python_text);
        let (samples, labels) = (batches(samples), self::labels(labels)?);
        let _work = self.work();
        let differences = detached(py, Some(&host), || render::divergence(&self.core, &samples, &labels, &host))?;
        let mut rows = Int64Builder::new();
        let mut columns = ListBuilder::new(StringBuilder::new());
        for difference in raised(py, &host, differences)? {
            rows.append_value(difference.row as i64);
            for column in &difference.columns {
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
