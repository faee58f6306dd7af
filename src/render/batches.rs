//! Rendering a batch: in slices, and conversations by the turns that they ask for.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::conversation_requests::conversations;
use super::conversations::{Conversations, Replies};
use super::fragment_traces::{AllTraces, FragmentTraces};
use super::fragments::{FragmentStore, FragmentStores};
use super::input::{Batch, Host, with_own_items};
use super::media::MediaParts;
use super::messages::{MessageType, SliceCache};
use super::outcomes::{Outcome, OutcomeSink, Rows, Wanted};
use super::row_plans::RowPlans;
use super::span_arrays::Spans;
use crate::error::{Code, Error, Kind, Result};
use crate::plan::{Columns, Draws, InferMode, Plans};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

/// Rows that are rendered between two looks at signals, and that one output chunk holds at most.
const SLICE_ROWS: usize = 65_536;

/// Render a batch whose first row is row `start` of the samples.
///
/// Output comes in slices, each within the limits of its string layout, unless a single one is `wanted`.
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
    wanted: Wanted,
    host: &dyn Host,
) -> Result<Vec<Outcome>> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let message_type = bound.message_type()?;
    let rows = batch.num_rows();
    let step = if wanted.single_chunk { rows.max(1) } else { (SLICE_ROWS / labels.len().max(1)).max(1) };
    if matches!(compiled.config.main(), Template::Turns(_)) && rows > step {
        return bound.side_by_side(batch, start, step, message_type.as_ref(), wanted, host);
    }
    let (mut out, cache) = (Vec::new(), SliceCache::new(&bound.binding.constants));
    let message_type = message_type.as_ref();
    let span_type = bound.span_type(wanted.spans)?;
    let spans = bound.span_finder(span_type, labels);
    let mut sink = OutcomeSink { message_type, labels, wanted, spans: &spans, cache: &cache, out: &mut out };
    let mut at = 0;
    while at < rows || sink.out.is_empty() {
        host.check()?;
        let count = step.min(rows - at);
        let first = start + at;
        bound.slice_or_first_error(&batch.slice(at, count), first, draws, host, &mut sink)?;
        at += count.max(1);
    }
    Ok(out)
}

/// The requests of turn `turn` of each conversation that has one, after the replies before it: one list a sample.
///
/// # Errors
///
/// As [`render`]; `TemplateError` where samples are no conversations.
pub fn render_turn(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    turn: usize,
    replies: &ArrayRef,
    host: &dyn Host,
) -> Result<Vec<Outcome>> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let message_type = bound.message_type()?;
    let (mut out, cache) = (Vec::new(), SliceCache::new(&bound.binding.constants));
    let message_type = message_type.as_ref();
    let (wanted, spans) = (Wanted::default(), bound.span_finder(None, &[None]));
    let mut sink = OutcomeSink { message_type, labels: &[None], wanted, spans: &spans, cache: &cache, out: &mut out };
    let Some(conversations) = conversations(compiled, batch, 0, Some(Replies { turn, lists: replies }), host)? else {
        let message = "replies need a MultiTurnPromptTemplate or a ChatInferencer";
        return Err(Error::template(Code::UnsupportedMode, "prompt_template", message));
    };
    bound.emit_conversations(conversations, 0, &mut sink, host)?;
    Ok(out)
}

impl BoundConfig<'_> {
    /// [`render`] of conversations, as many slices at a time as there are threads: what each asks for is found out one
    /// conversation after the other, which would leave the others idle.
    fn side_by_side(
        &self,
        batch: &RecordBatch,
        start: usize,
        step: usize,
        message_type: Option<&MessageType>,
        wanted: Wanted,
        host: &dyn Host,
    ) -> Result<Vec<Outcome>> {
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(step).collect();
        let span_type = self.span_type(wanted.spans)?;
        let mut out = Vec::new();
        for group in starts.chunks(rayon::current_num_threads().max(1)) {
            host.check()?;
            let render = |at: usize| {
                let (slice, first) = (batch.slice(at, step.min(batch.num_rows() - at)), start + at);
                let (mut own, cache) = (Vec::new(), SliceCache::new(&self.binding.constants));
                let spans = self.span_finder(span_type, &[None]);
                let mut sink =
                    OutcomeSink { message_type, labels: &[None], wanted, spans: &spans, cache: &cache, out: &mut own };
                self.slice_or_first_error(&slice, first, &mut None, host, &mut sink)?;
                Ok(own)
            };
            for own in threads::map(group.to_vec(), render) {
                out.extend(own?);
            }
        }
        Ok(out)
    }

    /// Render the requests of conversations.
    pub(super) fn emit_conversations(
        &self,
        conversations: Conversations,
        start: usize,
        sink: &mut OutcomeSink,
        host: &dyn Host,
    ) -> Result<()> {
        let Conversations { samples, turns, each, plans, shown, fragments, origins, .. } = conversations;
        let traces = (sink.wanted.spans != Spans::None).then(|| AllTraces {
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
            shown: &shown,
            fragments: FragmentStores { renderer: &FragmentStore::default(), batch: &fragments },
            start,
            media: None,
            samples: Some(samples),
            turns: (self.compiled.config.infer_mode != InferMode::Whole).then_some(turns),
            traces,
        };
        // Requests are the rows here, and errors name the sample.
        let sample = |request: usize| rows.samples.as_ref()?.values().get(request).map(|row| *row as usize - start);
        self.emit(&rows, sink).map_err(|error| match error.place().row.and_then(sample) {
            Some(row) => error.at_row(row),
            None => error,
        })
    }

    /// Render rows of a batch as [`Self::slice`] does; if they fail, raise the error of the first row that fails alone.
    ///
    /// Columns are read one after the other, each for all rows. So a slice can fail at a later row first, and how samples
    /// are split into batches would decide which error is raised.
    fn slice_or_first_error(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
        host: &dyn Host,
        sink: &mut OutcomeSink,
    ) -> Result<()> {
        let before = draws.clone();
        self.slice(batch, start, draws, host, sink)
            .map_err(|error| self.first_error(error, batch, start, before, host, sink).shifted(start))
    }

    /// The error of the first row of a slice that fails alone; `whole`, the error of all of them, if none does.
    fn first_error(
        &self,
        whole: Error,
        batch: &RecordBatch,
        start: usize,
        mut draws: Option<Draws>,
        host: &dyn Host,
        sink: &OutcomeSink,
    ) -> Error {
        let is_placed = batch.num_rows() == 1 && whole.place().row.is_some();
        if batch.num_rows() == 0 || is_placed || is_of_all(&whole) {
            return whole;
        }
        let render = |at: usize, count: usize, draws: &mut Option<Draws>| {
            let mut out = Vec::new();
            let mut sink = OutcomeSink { out: &mut out, ..*sink };
            self.slice(&batch.slice(at, count), start + at, draws, host, &mut sink)
        };
        // Rows before `at` are rendered without an error, and one of the next `count` has the first error.
        let (mut at, mut count) = (0, batch.num_rows());
        // The named row is mostly the first that fails, so the rows before it are tried first, and then that row.
        let named = whole.place().row.filter(|row| (1..count).contains(row));
        let mut guesses = named.into_iter().chain([1]);
        while count > 1 {
            if let Err(stopped) = host.check() {
                return stopped;
            }
            let part = guesses.next().unwrap_or(count / 2).min(count - 1);
            let mut after = draws.clone();
            match render(at, part, &mut after) {
                Ok(()) => (at, count, draws) = (at + part, count - part, after),
                Err(_) => count = part,
            }
        }
        match render(at, count, &mut draws) {
            Err(error) if error.place().row.is_some() || is_of_all(&error) => error.shifted(at),
            // An error without a row is the row's if it doesn't come without rows.
            Err(error) if count > 0 && render(at, 0, &mut draws).is_ok() => error.at_row(at),
            Err(error) => error,
            Ok(()) => whole,
        }
    }

    /// Render rows of a batch, of which the first is row `start` of the samples.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row (counted from the slice's first) and the column.
    pub(super) fn slice(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
        host: &dyn Host,
        sink: &mut OutcomeSink,
    ) -> Result<()> {
        let batch = &with_own_items(batch);
        if let Some(conversations) = conversations(self.compiled, batch, start, None, host)? {
            return self.emit_conversations(conversations, start, sink, host);
        }
        let values = Batch::new(self.columns(), batch, host);
        let RowPlans { plans, shown, contents, said_by } = self.plans(batch, start, sink.labels, draws, host)?;
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
            shown: &shown,
            fragments: FragmentStores { renderer, batch: &contents },
            start,
            media: media.as_ref(),
            samples: None,
            turns: None,
            traces: (sink.wanted.spans != Spans::None).then(|| AllTraces {
                renderer: FragmentTraces::of_examples(self.compiled, host),
                batch: FragmentTraces::of_columns(&contents, said_by),
            }),
        };
        self.emit(&rows, sink)
    }
}

/// Return true if an error is never a row's, whatever row it was met at. An exception that stopped the work may be a row's:
/// a value that Python can't convert, for example.
fn is_of_all(error: &Error) -> bool {
    use Code::{InternalError, MissingColumn, OutOfMemory, UnsupportedColumnType, WrongColumnType};
    let codes = [InternalError, OutOfMemory, MissingColumn, WrongColumnType, UnsupportedColumnType];
    error.kind() != Kind::Stopped && codes.contains(&error.code())
}
