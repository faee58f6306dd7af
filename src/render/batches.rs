//! Renders a batch: in slices, or by the turns of its conversations.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::compiled::{BoundConfig, CompiledConfig, RowPlans, conversations};
use super::conversations::{Conversations, Replies};
use super::fragments::{FragmentStore, FragmentStores};
use super::input::{Batch, PythonCallbacks, without_other_items};
use super::media::MediaParts;
use super::messages::{MessageType, SliceCache};
use super::rendered::{RenderRequest, RenderedRows, RenderedRowsSink, Rows};
use super::traces::{AllTraces, FragmentTraces, Spans};
use crate::error::{Code, Error, Kind, Result};
use crate::plan::{Columns, Draws, InferMode, Plans};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

/// The number of rows between two checks for signals, and the most rows of an output chunk.
pub(super) const SLICE_ROWS: usize = 65_536;

/// Render a batch whose first row is row `start` of the samples.
///
/// The output comes in slices, each within the limits of its string layout, unless `render_request` asks for a single
/// chunk.
///
/// # Errors
///
/// `RenderError` with the row (counted from the first batch) and the column.
pub fn render(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    render_request: RenderRequest,
    host: &dyn PythonCallbacks,
) -> Result<Vec<RenderedRows>> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let message_type = bound.message_type()?;
    let rows = batch.num_rows();
    let step = if render_request.single_chunk { rows.max(1) } else { (SLICE_ROWS / labels.len().max(1)).max(1) };
    if matches!(compiled.config.main(), Template::Turns(_)) && rows > step {
        return bound.side_by_side(batch, start, step, message_type.as_ref(), render_request, host);
    }
    let (mut out, cache) = (Vec::new(), SliceCache::new(&bound.binding.constants));
    let message_type = message_type.as_ref();
    let span_type = bound.span_type(render_request.spans)?;
    let spans = bound.span_finder(span_type, labels);
    let mut sink =
        RenderedRowsSink { message_type, labels, render_request, spans: &spans, cache: &cache, out: &mut out };
    let mut rendered = 0;
    while rendered < rows || sink.out.is_empty() {
        host.check()?;
        let count = step.min(rows - rendered);
        let first = start + rendered;
        bound.slice_or_first_error(&batch.slice(rendered, count), first, draws, host, &mut sink)?;
        rendered += count.max(1);
    }
    Ok(out)
}

/// Render turn `turn` of each conversation that has this turn; `replies` holds the replies before it, one list for each
/// sample.
///
/// # Errors
///
/// The errors of [`render`]; `TemplateError` if the samples are no conversations.
pub fn render_turn(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    turn: usize,
    replies: &ArrayRef,
    host: &dyn PythonCallbacks,
) -> Result<Vec<RenderedRows>> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let message_type = bound.message_type()?;
    let (mut out, cache) = (Vec::new(), SliceCache::new(&bound.binding.constants));
    let message_type = message_type.as_ref();
    let (render_request, spans) = (RenderRequest::default(), bound.span_finder(None, &[None]));
    let mut sink =
        RenderedRowsSink { message_type, labels: &[None], render_request, spans: &spans, cache: &cache, out: &mut out };
    let Some(conversations) = conversations(compiled, batch, 0, Some(Replies { turn, lists: replies }), host)? else {
        let message = "replies need a MultiTurnPromptTemplate or a ChatInferencer";
        return Err(Error::template(Code::UnsupportedMode, "prompt_template", message));
    };
    bound.emit_conversations(conversations, 0, &mut sink, host)?;
    Ok(out)
}

impl BoundConfig<'_> {
    /// [`render`] for conversations, with as many slices at a time as there are threads. The turns of a slice are found
    /// one conversation after the other, which would leave the other threads idle.
    fn side_by_side(
        &self,
        batch: &RecordBatch,
        start: usize,
        step: usize,
        message_type: Option<&MessageType>,
        render_request: RenderRequest,
        host: &dyn PythonCallbacks,
    ) -> Result<Vec<RenderedRows>> {
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(step).collect();
        let span_type = self.span_type(render_request.spans)?;
        let mut out = Vec::new();
        for group in starts.chunks(rayon::current_num_threads().max(1)) {
            host.check()?;
            let render = |offset: usize| {
                let (slice, first) = (batch.slice(offset, step.min(batch.num_rows() - offset)), start + offset);
                let (mut rendered, cache) = (Vec::new(), SliceCache::new(&self.binding.constants));
                let spans = self.span_finder(span_type, &[None]);
                let mut sink = RenderedRowsSink {
                    message_type,
                    labels: &[None],
                    render_request,
                    spans: &spans,
                    cache: &cache,
                    out: &mut rendered,
                };
                self.slice_or_first_error(&slice, first, &mut None, host, &mut sink)?;
                Ok(rendered)
            };
            for rendered in threads::map(group.to_vec(), render) {
                out.extend(rendered?);
            }
        }
        Ok(out)
    }

    /// Render the requests of conversations.
    pub(super) fn emit_conversations(
        &self,
        conversations: Conversations,
        start: usize,
        sink: &mut RenderedRowsSink,
        host: &dyn PythonCallbacks,
    ) -> Result<()> {
        let Conversations { samples, turns, each, plans, row_fragments, fragments, origins, .. } = conversations;
        let traces = (sink.render_request.spans != Spans::None).then(|| AllTraces {
            renderer: FragmentTraces::none(),
            batch: FragmentTraces::of_conversations(&origins, fragments.len(), host),
        });
        let none = Columns::verbatim([])?;
        let options = RecordBatchOptions::new().with_row_count(Some(samples.len()));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        let rows = Rows {
            batch: &empty,
            values: &Batch::new(&none, &empty, host),
            plans: &Plans { all: plans, labels: 1, each: Some(each) },
            row_fragments: &row_fragments,
            fragments: FragmentStores { renderer: &FragmentStore::default(), batch: &fragments },
            start,
            media: None,
            samples: Some(samples),
            turns: (self.compiled.config.infer_mode != InferMode::Whole).then_some(turns),
            traces,
        };
        // The rows here are requests, but errors name the sample.
        let sample = |request: usize| rows.samples.as_ref()?.values().get(request).map(|row| *row as usize - start);
        self.emit(&rows, sink).map_err(|error| match error.location().row.and_then(sample) {
            Some(row) => error.at_row(row),
            None => error,
        })
    }

    /// Render rows of a batch as [`Self::slice`] does; if they fail, raise the error of the first row that fails alone.
    ///
    /// Columns are read one after the other, each for all rows. So a slice can fail at a later row first, and without
    /// this the split of samples into batches would decide which error is raised.
    fn slice_or_first_error(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
        host: &dyn PythonCallbacks,
        sink: &mut RenderedRowsSink,
    ) -> Result<()> {
        let before = draws.clone();
        self.slice(batch, start, draws, host, sink)
            .map_err(|error| self.first_error(error, batch, start, before, host, sink).1.shifted(start))
    }

    /// Return the first row of a slice that fails alone, with its error. If none does, return no row and `whole`, the
    /// error of the whole slice.
    pub(super) fn first_error(
        &self,
        whole: Error,
        batch: &RecordBatch,
        start: usize,
        mut draws: Option<Draws>,
        host: &dyn PythonCallbacks,
        sink: &RenderedRowsSink,
    ) -> (Option<usize>, Error) {
        if batch.num_rows() == 0 || is_of_all(&whole) {
            return (None, whole);
        }
        if batch.num_rows() == 1 && whole.location().row.is_some() {
            return (Some(0), whole);
        }
        let render = |offset: usize, count: usize, draws: &mut Option<Draws>| {
            let mut out = Vec::new();
            let mut sink = RenderedRowsSink { out: &mut out, ..*sink };
            self.slice(&batch.slice(offset, count), start + offset, draws, host, &mut sink)
        };
        // Rows before `offset` are rendered without an error, and the first error is in one of the next `count` rows.
        let (mut offset, mut count) = (0, batch.num_rows());
        // The row that the error names is mostly the first that fails, so the rows before it are tried first, and then
        // that row.
        let named = whole.location().row.filter(|row| (1..count).contains(row));
        let mut guesses = named.into_iter().chain([1]);
        while count > 1 {
            if let Err(stopped) = host.check() {
                return (None, stopped);
            }
            let part = guesses.next().unwrap_or(count / 2).min(count - 1);
            let mut after = draws.clone();
            match render(offset, part, &mut after) {
                Ok(()) => (offset, count, draws) = (offset + part, count - part, after),
                Err(_) => count = part,
            }
        }
        match render(offset, count, &mut draws) {
            Err(error) if is_of_all(&error) => (None, error.shifted(offset)),
            Err(error) if error.location().row.is_some() => (Some(offset), error.shifted(offset)),
            // An error without a row belongs to the row if it isn't raised without rows.
            Err(error) if count > 0 && render(offset, 0, &mut draws).is_ok() => (Some(offset), error.at_row(offset)),
            Err(error) => (None, error),
            Ok(()) => (None, whole),
        }
    }

    /// Render rows of a batch; the first is row `start` of the samples.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row (counted from the slice's first) and the column.
    pub(super) fn slice(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
        host: &dyn PythonCallbacks,
        sink: &mut RenderedRowsSink,
    ) -> Result<()> {
        let batch = &without_other_items(batch);
        if let Some(conversations) = conversations(self.compiled, batch, start, None, host)? {
            return self.emit_conversations(conversations, start, sink, host);
        }
        let values = Batch::new(self.columns(), batch, host);
        let RowPlans { plans, row_fragments, contents, content_columns } =
            self.plans(batch, start, sink.labels, draws, host)?;
        let none = FragmentStore::default();
        let renderer = match &plans.each {
            Some(_) if batch.num_rows() > 0 => self.example_fragments(host)?,
            _ => &none,
        };
        let media = match self.compiled.config.main() {
            Template::Media(template) => Some(MediaParts::new(&self.compiled.config, template, batch, &values, None)?),
            _ => None,
        };
        let rows = Rows {
            batch,
            values: &values,
            plans: &plans,
            row_fragments: &row_fragments,
            fragments: FragmentStores { renderer, batch: &contents },
            start,
            media: media.as_ref(),
            samples: None,
            turns: None,
            traces: (sink.render_request.spans != Spans::None).then(|| AllTraces {
                renderer: FragmentTraces::of_examples(self.compiled, host),
                batch: FragmentTraces::of_columns(&contents, content_columns),
            }),
        };
        self.emit(&rows, sink)
    }
}

/// Return true if an error belongs to no row, whichever row raised it. An exception that stopped the work may belong to
/// a row: for example a value that Python can't convert.
pub(super) fn is_of_all(error: &Error) -> bool {
    use Code::{InternalError, MissingColumn, OutOfMemory, UnsupportedColumnType, WrongColumnType};
    let codes = [InternalError, OutOfMemory, MissingColumn, WrongColumnType, UnsupportedColumnType];
    error.kind() != Kind::Stopped && codes.contains(&error.code())
}
