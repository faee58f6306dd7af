//! Errors of rows as a column: a row that can't be rendered has null requests, and all other rows are rendered as
//! usual.
//!
//! A batch is rendered as a whole first, so that a batch without errors costs nothing more. If it fails, it is rendered in
//! slices around the rows that fail alone. Slices grow while nothing fails, so that few errors cost about one more pass.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType;

use super::batches::{SLICE_ROWS, is_of_all, render};
use super::compiled::{BoundConfig, CompiledConfig};
use super::input::{PythonCallbacks, end_to_end};
use super::messages::SliceCache;
use super::rendered::{RenderRequest, RenderedRows, RenderedRowsSink, output_fields, spans_field};
use super::traces::Spans;
use crate::error::{Error, Result};
use crate::plan::Draws;
use crate::value::Value;

/// Render a batch as [`render`] does, but put the error of a row into its requests' column of errors.
///
/// # Errors
///
/// An error of the whole table, and not of a row.
pub fn render_or_errors(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    render_request: RenderRequest,
    host: &dyn PythonCallbacks,
) -> Result<Vec<RenderedRows>> {
    let before = draws.clone();
    let mut outcomes = match render(compiled, batch, start, labels, draws, render_request, host) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            let error = host.row_error(error)?;
            if batch.num_rows() == 0 || is_of_all(&error) {
                return Err(error);
            }
            *draws = before;
            let failing = FailingRows { compiled, schema: batch.schema(), labels, render_request };
            failing.render(batch, start, draws, host)?
        }
    };
    for outcome in &mut outcomes {
        let rows = outcome.prompts.len();
        outcome.errors.get_or_insert_with(|| new_null_array(&DataType::Utf8, rows));
    }
    Ok(joined(outcomes))
}

/// The most bytes of requests that are joined to an array, far below the limit of 32-bit offsets.
const JOINED_BYTES: usize = 1 << 30;

/// Join outcomes, which may be a row each.
fn joined(outcomes: Vec<RenderedRows>) -> Vec<RenderedRows> {
    let (mut out, mut group, mut size) = (Vec::new(), Vec::new(), 0);
    for outcome in outcomes {
        let bytes = outcome.prompts.to_data().get_slice_memory_size().unwrap_or(JOINED_BYTES);
        if !group.is_empty() && size + bytes > JOINED_BYTES {
            out.extend(joined_outcome(std::mem::take(&mut group)));
            size = 0;
        }
        size += bytes;
        group.push(outcome);
    }
    out.extend(joined_outcome(group));
    out
}

/// Join some outcomes into one; return them unchanged if an array can't hold all of them.
fn joined_outcome(outcomes: Vec<RenderedRows>) -> Vec<RenderedRows> {
    let (Some(first), Some(last), false) = (outcomes.first(), outcomes.last(), outcomes.len() == 1) else {
        return outcomes;
    };
    let requests = outcomes.iter().map(|outcome| outcome.prompts.len()).sum();
    let join = |column: fn(&RenderedRows) -> Option<&ArrayRef>| -> Option<Option<ArrayRef>> {
        let arrays: Option<Vec<ArrayRef>> = outcomes.iter().map(|outcome| column(outcome).cloned()).collect();
        arrays.map_or(Some(None), |arrays| end_to_end(&arrays, requests).map(Some))
    };
    let whole = || {
        Some(RenderedRows {
            start: first.start,
            rows: last.start + last.rows - first.start,
            samples: join(|outcome| outcome.samples.as_ref())?,
            turns: join(|outcome| outcome.turns.as_ref())?,
            labels: join(|outcome| outcome.labels.as_ref())?,
            prompts: join(|outcome| Some(&outcome.prompts))??,
            text_bytes: None,
            spans: join(|outcome| outcome.spans.as_ref())?,
            errors: join(|outcome| outcome.errors.as_ref())?,
            changed: outcomes
                .iter()
                .map(|outcome| outcome.changed.clone())
                .collect::<Option<Vec<_>>>()
                .map(|c| c.concat()),
        })
    };
    match whole() {
        Some(whole) => vec![whole],
        None => outcomes,
    }
}

/// A batch in which rows fail.
struct FailingRows<'a> {
    compiled: &'a CompiledConfig,
    schema: arrow_schema::SchemaRef,
    labels: &'a [Option<Value>],
    render_request: RenderRequest<'a>,
}

impl FailingRows<'_> {
    fn render(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
        host: &dyn PythonCallbacks,
    ) -> Result<Vec<RenderedRows>> {
        let bound = BoundConfig::new(self.compiled, &self.schema)?;
        let message_type = bound.message_type()?;
        let (mut out, cache) = (Vec::new(), SliceCache::new(&bound.binding.constants));
        let spans = bound.span_finder(bound.span_type(self.render_request.spans)?, self.labels);
        let mut sink = RenderedRowsSink {
            message_type: message_type.as_ref(),
            labels: self.labels,
            render_request: self.render_request,
            spans: &spans,
            cache: &cache,
            out: &mut out,
        };
        let most = (SLICE_ROWS / self.labels.len().max(1)).max(1);
        let (mut position, mut size) = (0, most);
        while position < batch.num_rows() {
            host.check()?;
            let slice = batch.slice(position, size.min(batch.num_rows() - position));
            let first = start + position;
            let (before, kept) = (draws.clone(), sink.out.len());
            let Err(error) = bound.slice(&slice, first, draws, host, &mut sink) else {
                position += slice.num_rows();
                size = (size * 2).min(most);
                continue;
            };
            sink.out.truncate(kept);
            draws.clone_from(&before);
            let (row, error) = bound.first_error(error, &slice, first, before, host, &sink);
            let error = host.row_error(error)?;
            let Some(row) = row.filter(|_| !is_of_all(&error)) else {
                // No row fails alone: the error comes from the number of rows, or from the table.
                if slice.num_rows() == 1 || is_of_all(&error) {
                    return Err(error.shifted(first));
                }
                size = slice.num_rows() / 2;
                continue;
            };
            if row > 0 {
                bound.slice(&slice.slice(0, row), first, draws, host, &mut sink)?;
            }
            let failed = self.failed(first + row, &error, &bound, &cache)?;
            sink.out.push(failed);
            self.compiled.skip(first + row, 1, draws)?;
            position += row + 1;
            size = (row + 1).min(most);
        }
        Ok(out)
    }

    /// Return the null requests of a row that can't be rendered: one for each label, and one for a conversation.
    fn failed(&self, row: usize, error: &Error, bound: &BoundConfig, cache: &SliceCache) -> Result<RenderedRows> {
        let requests = self.labels.len();
        let nulls = |data_type: &DataType| new_null_array(data_type, requests);
        let has_turns = self.compiled.has_turns();
        let prompt =
            output_fields(self.compiled, &self.schema)?.pop().map_or(DataType::Null, |f| f.data_type().clone());
        let spans = match self.render_request.spans {
            Spans::None => None,
            render_request => Some(nulls(spans_field(self.compiled, &self.schema, render_request)?.data_type())),
        };
        let text = error_text(error);
        Ok(RenderedRows {
            start: row,
            rows: 1,
            samples: has_turns.then(|| Arc::new(Int64Array::from(vec![row as i64])) as ArrayRef),
            turns: has_turns.then(|| nulls(&DataType::Int64)),
            labels: bound.label_array(self.labels, 1, cache)?,
            prompts: nulls(&prompt),
            text_bytes: None,
            spans,
            errors: Some(Arc::new(StringArray::from(vec![text; requests]))),
            changed: None,
        })
    }
}

/// Return the text of an error in a column of errors: its code, its column and its message.
fn error_text(error: &Error) -> String {
    let column = error.location().column.as_ref().map(|column| format!("column \"{column}\": ")).unwrap_or_default();
    format!("{}: {column}{}", error.code().as_str(), error.message())
}
