//! Rows rendered into output columns: arrays of prompts, labels and turns, in as many chunks as the string layout
//! needs.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use crate::error::{Code, Error, Result};
use crate::plan::{Labels, Mode, Plan, Plans};
use crate::render::compiled::{BoundConfig, made_or_stopped};
use crate::render::fragments::{FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::media::MediaParts;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::messages::{
    ContentViews, CopiedJson, CopiedLines, LineFrame, MessageArrays, MessageType, SliceCache, copied_json,
    copied_lines, escaped_fragments, holds_empty_text, text_json,
};
use crate::render::rows::texts;
use crate::render::traces::{AllTraces, Spans};
use crate::role::Request;
use crate::value::Value;

/// The output columns of some rows, with a value for each request.
#[derive(Clone, Debug)]
pub struct RenderedRows {
    /// The first row that the requests belong to.
    pub start: usize,
    /// The number of rows.
    pub rows: usize,
    /// The sample of each request, if samples have a varying number of requests (conversations).
    pub samples: Option<ArrayRef>,
    /// The turn column of conversations.
    pub turns: Option<ArrayRef>,
    /// The label column, in ppl mode.
    pub labels: Option<ArrayRef>,
    /// The prompts, or whole lines with them if `text_bytes` is given.
    pub prompts: ArrayRef,
    /// The number of bytes of the requests' texts, if lines were wanted and copying was enough for them.
    pub text_bytes: Option<usize>,
    /// The origins of the requests' bytes, if they were requested.
    pub spans: Option<ArrayRef>,
    /// The reason why each request is null, and null for the others, if errors go into a column.
    pub errors: Option<ArrayRef>,
    /// The rows, counted from the first sample, whose texts aren't copies of what they show, if they are known.
    pub changed: Option<Vec<usize>>,
}

/// Options of rendering some samples: the outputs next to their prompts, and the number of chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderRequest<'f> {
    /// True if there may be only one outcome.
    pub single_chunk: bool,
    /// The detail of the origins of bytes.
    pub spans: Spans,
    /// The text around each request in its line, if requests may be written as lines. This needs an output without
    /// other columns, and samples with a single request.
    pub frame: Option<&'f LineFrame>,
}

/// The number of bytes for a request besides its texts: an offset, a length, and the number of its label.
const REQUEST_BYTES: usize = 24;

/// The prompts of some rows.
struct Prompts {
    array: ArrayRef,
    /// True if all are known to be plain copies.
    is_plain: bool,
    /// The rows whose texts aren't copies of what they show, if they are known.
    changed: Option<Vec<usize>>,
}

/// Finds the origins of the bytes of some rows' requests, if they are wanted. The flag is true if all requests are
/// known to be plain copies.
pub(in crate::render) type FindSpans<'a> = &'a dyn Fn(&Rows, Range<usize>, bool) -> Result<Option<ArrayRef>>;

/// The data that all outcomes of a batch share, and the list that collects them.
pub(in crate::render) struct RenderedRowsSink<'a> {
    pub(in crate::render) message_type: Option<&'a MessageType>,
    pub(in crate::render) labels: &'a [Option<Value>],
    pub(in crate::render) render_request: RenderRequest<'a>,
    /// Finds the spans of some rows' requests, if spans are wanted.
    pub(in crate::render) spans: FindSpans<'a>,
    /// The data that all slices of a batch share.
    pub(in crate::render) cache: &'a SliceCache<'a>,
    pub(in crate::render) out: &'a mut Vec<RenderedRows>,
}

/// Rows to render, with everything that they need.
pub(in crate::render) struct Rows<'a> {
    pub(in crate::render) batch: &'a RecordBatch,
    pub(in crate::render) values: &'a Batch<'a>,
    pub(in crate::render) plans: &'a Plans,
    pub(in crate::render) row_fragments: &'a RowFragments,
    pub(in crate::render) fragments: FragmentStores<'a>,
    /// The number of the first row among all samples.
    pub(in crate::render) start: usize,
    /// The media of the samples.
    pub(in crate::render) media: Option<&'a MediaParts<'a>>,
    /// The sample of each request, if it isn't the row.
    pub(in crate::render) samples: Option<Int64Array>,
    /// The turn of each request.
    pub(in crate::render) turns: Option<Int64Array>,
    /// The origins of fragments, if they are wanted.
    pub(in crate::render) traces: Option<AllTraces<'a>>,
}

impl Rows<'_> {
    /// Move the error of a row to its sample, counted from the first sample.
    fn of_sample(&self, error: Error) -> Error {
        match (&self.samples, error.location().row) {
            (Some(samples), Some(request)) if request < samples.len() => {
                error.at_row(samples.value(request) as usize - self.start)
            }
            _ => error,
        }
    }
}

impl BoundConfig<'_> {
    /// Render rows and append their outcomes, in as many pieces as the string layout needs.
    pub(in crate::render) fn emit(&self, rows: &Rows, sink: &mut RenderedRowsSink) -> Result<()> {
        let limits = self.compiled.config.limits;
        limits.check_batch(rows.batch.num_rows(), rows.plans.labels * REQUEST_BYTES)?;
        let mut todo: Vec<Range<usize>> = Vec::from([Range { start: 0, end: rows.batch.num_rows() }]);
        while let Some(range) = todo.pop() {
            // The rows here are requests, but an error names the sample.
            let of_sample = |error: Error| rows.of_sample(error);
            let lines = self.lines(rows, range.clone(), sink).map_err(of_sample)?;
            let text_bytes = lines.as_ref().map(|lines| lines.text_bytes);
            let prompts = match lines {
                Some(lines) => Some(Prompts { array: lines.lines, is_plain: false, changed: Some(lines.changed) }),
                None => self.prompts(rows, range.clone(), sink).map_err(of_sample)?,
            };
            let Some(Prompts { array: prompts, is_plain, changed }) = prompts else {
                if sink.render_request.single_chunk || range.len() == 1 {
                    let error = Error::render(
                        Code::OffsetOverflow,
                        format!(
                            "the prompts pass the 2 GiB that {:?} can hold; use strings=\"large_string\"{}",
                            self.compiled.config.layout,
                            if sink.render_request.single_chunk { " or smaller batches" } else { "" }
                        ),
                    );
                    return Err(of_sample(error.at_row(range.start)));
                }
                let middle = range.start + range.len() / 2;
                todo.push(middle..range.end);
                todo.push(range.start..middle);
                continue;
            };
            // Prompts belong to their samples by number only.
            let requests = range.len() * rows.plans.labels;
            if prompts.len() != requests {
                let message = format!("internal error: {} prompts came of {requests} requests", prompts.len());
                return Err(Error::render(Code::InternalError, message).at_row(range.start));
            }
            let part = |array: &Option<Int64Array>| {
                array.as_ref().map(|a| Arc::new(a.slice(range.start, range.len())) as ArrayRef)
            };
            // The rows of the requests: as many as there are requests, except for conversations.
            let (start, count) = match &rows.samples {
                None => (rows.start + range.start, range.len()),
                Some(_) if range.is_empty() => (rows.start, 0),
                Some(samples) => {
                    let first = samples.value(range.start) as usize;
                    (first, samples.value(range.end - 1) as usize + 1 - first)
                }
            };
            let labels = self.label_array(sink.labels, range.len(), sink.cache);
            let labels = labels.map_err(|e| match &self.compiled.labels {
                Labels::Column(column) => e.in_column(column),
                _ => e,
            })?;
            let spans = (sink.spans)(rows, range.clone(), is_plain)?;
            let (samples, turns) = (part(&rows.samples), part(&rows.turns));
            let errors = None;
            // Of conversations, the rows here are requests.
            let changed = changed.filter(|_| rows.samples.is_none());
            let changed = changed.map(|changed| changed.into_iter().map(|row| rows.start + row).collect());
            sink.out.push(RenderedRows {
                start,
                rows: count,
                samples,
                turns,
                labels,
                prompts,
                text_bytes,
                spans,
                errors,
                changed,
            });
        }
        Ok(())
    }

    /// Refuse parts without a speaker where a text would be the user's message: a dialogue without a meta template
    /// whose texts are all empty becomes the list of its parts.
    fn check_spoken(&self, rows: &Rows, range: &Range<usize>, texts: &Texts) -> Result<()> {
        let Some(media) = rows.media else { return Ok(()) };
        let has_texts =
            |plan: &Arc<Plan>| matches!(&plan.request, Request::List(all) if all.iter().all(|m| m.text().is_some()));
        if self.compiled.config.output.chat.is_none()
            || !self.compiled.empty_is_a_list()
            || !rows.plans.all.iter().all(has_texts)
        {
            return Ok(());
        }
        let silent = |n: &usize| {
            let (start, end) = texts.offsets.text(*n);
            start == end && media.any(range.start + n)
        };
        match (0..texts.offsets.len() - 1).find(silent) {
            None => Ok(()),
            Some(n) => {
                let message = "the row's texts are empty, so that its parts are all there is, and without a meta template \
                               nobody speaks them; give one, such as meta_template=\"aisbench:VLLMCustomAPIChat\"";
                Err(Error::render(Code::NoArrowType, message).at_row(range.start + n))
            }
        }
    }

    /// Write the requests of some rows as lines; None if no lines are wanted, or if copying isn't enough.
    fn lines(&self, rows: &Rows, range: Range<usize>, sink: &RenderedRowsSink) -> Result<Option<CopiedLines>> {
        let (Some(frame), [plan]) = (sink.render_request.frame, &rows.plans.all[..]) else { return Ok(None) };
        let is_one_each = rows.plans.each.is_none() && rows.plans.labels == 1 && rows.samples.is_none();
        if !is_one_each || rows.media.is_some() || self.compiled.config.output.json {
            return Ok(None);
        }
        let fields = sink.message_type.map(MessageType::struct_fields).unwrap_or_default();
        let keys: Vec<&str> = fields.iter().map(|field| &**field.name()).collect();
        copied_lines(rows.values, plan, range, frame, rows.start, &keys)
    }

    /// Return the prompts of some rows; None if they exceed the size of an array of the string layout.
    fn prompts(&self, rows: &Rows, range: Range<usize>, sink: &RenderedRowsSink) -> Result<Option<Prompts>> {
        let layout = self.compiled.config.layout;
        let Rows { values, plans, media, .. } = *rows;
        if let (Some(of), Some(media_parts)) = (sink.message_type, media)
            && let Some(Request::Parts(all)) = plans.all.first().map(|plan| &plan.request)
        {
            let prompts = media_parts.requests(range, all, values, &of.struct_fields())?;
            return Ok(prompts.map(|array| Prompts { array, is_plain: false, changed: None }));
        }
        let json = self.compiled.config.output.json;
        let are_texts =
            sink.message_type.is_none() && plans.all.iter().all(|plan| matches!(plan.request, Request::Text(_)));
        if json && media.is_none() && (sink.message_type.is_some() || are_texts) {
            let examples = || {
                let escape = || escaped_fragments(rows.fragments.renderer);
                made_or_stopped(&self.binding.escaped_examples, escape)
            };
            let row_fragments = (rows.row_fragments, rows.fragments);
            // A text without bytes may be a list, which only assembling requests one by one decides.
            let is_all =
                |json: &CopiedJson| !are_texts || !self.compiled.empty_is_a_list() || !holds_empty_text(&json.requests);
            let copied = copied_json(values, plans, range.clone(), row_fragments, examples, layout)?.filter(is_all);
            if let Some(CopiedJson { requests: array, changed }) = copied {
                return Ok(Some(Prompts { array, is_plain: false, changed: Some(changed) }));
            }
        }
        let borrows = |of: &&MessageType| !json && MessageArrays::can_borrow(&self.compiled.config, plans, of);
        let mut borrowed = sink.message_type.filter(borrows).and_then(|_| ContentViews::new(plans, values));
        let rendered =
            |plans: &Plans| texts(values, plans, range.clone(), rows.row_fragments, rows.fragments, limit(layout));
        let rest = borrowed.as_ref().map(|borrowed| rendered(&borrowed.rest(plans)));
        let texts = match (rest, &borrowed) {
            (Some(Ok(Some(texts))), Some(views))
                if views.stay_within(self.compiled.config.limits, range.clone(), &texts.offsets) =>
            {
                Some(texts)
            }
            // Errors have the same reason in every layout.
            _ => {
                borrowed = None;
                rendered(plans)?
            }
        };
        let Some(mut texts) = texts else { return Ok(None) };
        let (is_plain, changed) = (texts.is_plain, texts.changed.take());
        let with_plain = |array: Option<ArrayRef>| array.map(|array| Prompts { array, is_plain, changed });
        if let Some(of) = sink.message_type {
            let schema = rows.batch.schema_ref();
            let lookup = |name: &str| {
                let index = schema.index_of(name).ok()?;
                Some((schema.fields()[index].clone(), rows.batch.column(index).clone()))
            };
            self.check_spoken(rows, &range, &texts)?;
            let media = media.map(|media| (media, values));
            let assembly =
                MessageArrays::new(&self.compiled.config, plans, range, texts, media, borrowed.as_ref(), &lookup)?;
            return if json { assembly.json() } else { assembly.array(of, sink.cache) }.map(with_plain);
        }
        if !plans.all.iter().all(|plan| matches!(plan.request, Request::Text(_))) {
            return Err(Error::render(Code::InternalError, "some requests are messages where texts were foreseen")
                .at_row(range.start));
        }
        let block = TextBlock::new(texts);
        if json {
            let json = text_json(&block, layout, |n, out| match media {
                Some(media) if self.compiled.empty_is_a_list() => {
                    let row = range.start + n;
                    media.all_json(row, values, out).map_err(|e| e.at_row(row))
                }
                _ => {
                    out.push_str(if self.compiled.empty_is_a_list() { "[]" } else { "\"\"" });
                    Ok(())
                }
            });
            return json.map(with_plain);
        }
        let several = rows.turns.is_some() || self.compiled.config.mode == Mode::Ppl;
        let parts = |n: usize| media.is_some_and(|media| media.any(range.start + n));
        if self.compiled.empty_is_a_list()
            && let Some(request) = (0..block.len()).find(|n| block.get(*n).is_empty() && (several || parts(*n)))
        {
            let row = (range.start * plans.labels + request) / plans.labels;
            let message = "the request has no text, which makes it a list, and no Arrow type holds one among \
                           strings; use output=\"messages_json\"";
            return Err(Error::render(Code::NoArrowType, message).at_row(row));
        }
        Ok(with_plain(Some(block.array(layout, None))))
    }
}
