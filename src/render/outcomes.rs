//! MessageSource rows to what rendering gives: arrays of prompts, labels and turns, as many as the string layout needs.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::bound::BoundConfig;
use super::fragment_traces::AllTraces;
use super::fragments::{FragmentStores, RowFragments};
use super::input::Batch;
use super::media::MediaParts;
use super::memory::{TextBlock, Texts, limit};
use super::messages::{
    ContentViews, CopiedLines, LineFrame, MessageArrays, MessageType, SliceCache, copied_json, copied_lines,
    escaped_fragments, holds_empty_text, text_json,
};
use super::rows::texts;
use super::schema_binding::made_or_stopped;
use super::span_arrays::Spans;
use crate::error::{Code, Error, Result};
use crate::plan::{Labels, Mode, Plan, Plans};
use crate::role::Request;
use crate::value::Value;

/// The output columns of some rows, one value a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// First row that the requests are of.
    pub start: usize,
    /// Number of rows.
    pub rows: usize,
    /// The sample of each request, where a sample has none or several (conversations).
    pub samples: Option<ArrayRef>,
    /// The turn column of conversations.
    pub turns: Option<ArrayRef>,
    /// The label column, in ppl mode.
    pub labels: Option<ArrayRef>,
    /// The prompts; whole lines of them where `text_bytes` says so.
    pub prompts: ArrayRef,
    /// Bytes of the requests' texts, where lines were wanted and copying was enough for them.
    pub text_bytes: Option<usize>,
    /// Where their bytes come from, where that is asked for.
    pub spans: Option<ArrayRef>,
}

/// What is wanted of some samples beside their prompts, and in how many pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'f> {
    /// Whether there may be but one outcome.
    pub single_chunk: bool,
    /// Where bytes come from.
    pub spans: Spans,
    /// What stands around each request in its line, where requests may come out as lines: no other column goes with them, and
    /// a sample has one request.
    pub frame: Option<&'f LineFrame>,
}

/// Bytes that a request takes beside its texts: an offset, a length, and the number of its label.
const REQUEST_BYTES: usize = 24;

/// Where the bytes of some rows' requests come from, if that is wanted; says whether all are known to be plain copies.
pub(super) type FindSpans<'a> = &'a dyn Fn(&Rows, Range<usize>, bool) -> Result<Option<ArrayRef>>;

/// What the outcomes of a batch have in common, and where they go.
pub(super) struct OutcomeSink<'a> {
    pub(super) message_type: Option<&'a MessageType>,
    pub(super) labels: &'a [Option<Value>],
    pub(super) wanted: Wanted<'a>,
    /// Finds the spans of some rows' requests, where any are wanted.
    pub(super) spans: FindSpans<'a>,
    /// What all slices of a batch have in common.
    pub(super) cache: &'a SliceCache<'a>,
    pub(super) out: &'a mut Vec<Outcome>,
}

/// Rows to render, and all that goes into them.
pub(super) struct Rows<'a> {
    pub(super) batch: &'a RecordBatch,
    pub(super) values: &'a Batch<'a>,
    pub(super) plans: &'a Plans,
    pub(super) shown: &'a RowFragments,
    pub(super) fragments: FragmentStores<'a>,
    /// The number of the first row among all samples.
    pub(super) start: usize,
    /// The media of the samples.
    pub(super) media: Option<&'a MediaParts<'a>>,
    /// The sample of each request, where it isn't the row.
    pub(super) samples: Option<Int64Array>,
    /// The turn of each request.
    pub(super) turns: Option<Int64Array>,
    /// Where fragments come from, where that is asked for.
    pub(super) traces: Option<AllTraces<'a>>,
}

impl Rows<'_> {
    /// An error at a row of these as one at its sample, counted from the first.
    fn of_sample(&self, error: Error) -> Error {
        match (&self.samples, error.place().row) {
            (Some(samples), Some(request)) if request < samples.len() => {
                error.at_row(samples.value(request) as usize - self.start)
            }
            _ => error,
        }
    }
}

impl BoundConfig<'_> {
    /// Render rows and append what they give, in as many pieces as the string layout needs.
    pub(super) fn emit(&self, rows: &Rows, sink: &mut OutcomeSink) -> Result<()> {
        let limits = self.compiled.config.limits;
        limits.check_batch(rows.batch.num_rows(), rows.plans.labels * REQUEST_BYTES)?;
        let mut todo: Vec<Range<usize>> = Vec::from([Range { start: 0, end: rows.batch.num_rows() }]);
        while let Some(range) = todo.pop() {
            // Rows of what is rendered here are requests; an error names the sample.
            let of_sample = |error: Error| rows.of_sample(error);
            let lines = self.lines(rows, range.clone(), sink).map_err(of_sample)?;
            let text_bytes = lines.as_ref().map(|lines| lines.text_bytes);
            let made = match lines {
                Some(lines) => Some((lines.lines, false)),
                None => self.prompts(rows, range.clone(), sink).map_err(of_sample)?,
            };
            let Some((prompts, plain)) = made else {
                if sink.wanted.single_chunk || range.len() == 1 {
                    let error = Error::render(
                        Code::OffsetOverflow,
                        format!(
                            "the prompts pass the 2 GiB that {:?} can hold; use strings=\"large_string\"{}",
                            self.compiled.config.layout,
                            if sink.wanted.single_chunk { " or smaller batches" } else { "" }
                        ),
                    );
                    return Err(of_sample(error.at_row(range.start)));
                }
                let middle = range.start + range.len() / 2;
                todo.push(middle..range.end);
                todo.push(range.start..middle);
                continue;
            };
            // Prompts go beside their samples by number alone.
            let requests = range.len() * rows.plans.labels;
            if prompts.len() != requests {
                let message = format!("internal error: {} prompts came of {requests} requests", prompts.len());
                return Err(Error::render(Code::InternalError, message).at_row(range.start));
            }
            let part = |array: &Option<Int64Array>| {
                array.as_ref().map(|a| Arc::new(a.slice(range.start, range.len())) as ArrayRef)
            };
            // Which rows the requests are of: as many as there are requests, but for conversations.
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
            let spans = (sink.spans)(rows, range.clone(), plain)?;
            let (samples, turns) = (part(&rows.samples), part(&rows.turns));
            sink.out.push(Outcome { start, rows: count, samples, turns, labels, prompts, text_bytes, spans });
        }
        Ok(())
    }

    /// Refuse parts that nobody speaks where a text would be the user's message: a dialogue without a meta template whose
    /// texts are all empty is the list of its parts.
    fn check_spoken(&self, rows: &Rows, range: &Range<usize>, texts: &Texts) -> Result<()> {
        let Some(media) = rows.media else { return Ok(()) };
        let said =
            |plan: &Arc<Plan>| matches!(&plan.request, Request::List(all) if all.iter().all(|m| m.text().is_some()));
        if !self.compiled.config.output.chat_api || !self.compiled.empty_is_a_list() || !rows.plans.all.iter().all(said)
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

    /// The requests of some rows as lines; None where that isn't wanted, and where more than copying is called for.
    fn lines(&self, rows: &Rows, range: Range<usize>, sink: &OutcomeSink) -> Result<Option<CopiedLines>> {
        let (Some(frame), [plan]) = (sink.wanted.frame, &rows.plans.all[..]) else { return Ok(None) };
        let is_one_each = rows.plans.each.is_none() && rows.plans.labels == 1 && rows.samples.is_none();
        if !is_one_each || rows.media.is_some() || self.compiled.config.output.json {
            return Ok(None);
        }
        let fields = sink.message_type.map(MessageType::struct_fields).unwrap_or_default();
        let keys: Vec<&str> = fields.iter().map(|field| &**field.name()).collect();
        copied_lines(rows.values, plan, range, frame, rows.start, &keys)
    }

    /// The prompts of some rows, and whether all are known to be plain copies; None where they pass what one array of the
    /// string layout can hold.
    fn prompts(&self, rows: &Rows, range: Range<usize>, sink: &OutcomeSink) -> Result<Option<(ArrayRef, bool)>> {
        let layout = self.compiled.config.layout;
        let Rows { values, plans, media, .. } = *rows;
        if let (Some(of), Some(own)) = (sink.message_type, media)
            && let Some(Request::Parts(all)) = plans.all.first().map(|plan| &plan.request)
        {
            let prompts = own.requests(range, all, values, &of.struct_fields())?;
            return Ok(prompts.map(|prompts| (prompts, false)));
        }
        let json = self.compiled.config.output.json;
        let are_texts =
            sink.message_type.is_none() && plans.all.iter().all(|plan| matches!(plan.request, Request::Text(_)));
        if json && media.is_none() && (sink.message_type.is_some() || are_texts) {
            let examples = || {
                let made = || escaped_fragments(rows.fragments.renderer);
                made_or_stopped(&self.binding.escaped_examples, made)
            };
            let shown = (rows.shown, rows.fragments);
            // A text without a byte may be a list, which is for those to say who put them together one by one.
            let is_all =
                |prompts: &ArrayRef| !are_texts || !self.compiled.empty_is_a_list() || !holds_empty_text(prompts);
            let copied = copied_json(values, plans, range.clone(), shown, examples, layout)?.filter(is_all);
            if let Some(prompts) = copied {
                return Ok(Some((prompts, false)));
            }
        }
        let borrows = |of: &&MessageType| !json && MessageArrays::can_borrow(&self.compiled.config, plans, of);
        let mut borrowed = sink.message_type.filter(borrows).and_then(|_| ContentViews::new(plans, values));
        let rendered = |plans: &Plans| texts(values, plans, range.clone(), rows.shown, rows.fragments, limit(layout));
        let rest = borrowed.as_ref().map(|borrowed| rendered(&borrowed.rest(plans)));
        let texts = match (rest, &borrowed) {
            (Some(Ok(Some(texts))), Some(own))
                if own.stay_within(self.compiled.config.limits, range.clone(), &texts.offsets) =>
            {
                Some(texts)
            }
            // What is refused, is refused for the same reason in every layout.
            _ => {
                borrowed = None;
                rendered(plans)?
            }
        };
        let Some(texts) = texts else { return Ok(None) };
        let plain = texts.is_plain;
        let known = |prompts: Option<ArrayRef>| prompts.map(|prompts| (prompts, plain));
        if let Some(of) = sink.message_type {
            let schema = rows.batch.schema_ref();
            let lookup = |name: &str| {
                let at = schema.index_of(name).ok()?;
                Some((schema.fields()[at].clone(), rows.batch.column(at).clone()))
            };
            self.check_spoken(rows, &range, &texts)?;
            let media = media.map(|media| (media, values));
            let assembly =
                MessageArrays::new(&self.compiled.config, plans, range, texts, media, borrowed.as_ref(), &lookup)?;
            return if json { assembly.json() } else { assembly.array(of, sink.cache) }.map(known);
        }
        if !plans.all.iter().all(|plan| matches!(plan.request, Request::Text(_))) {
            return Err(Error::render(Code::InternalError, "some requests are messages where texts were foreseen")
                .at_row(range.start));
        }
        let block = TextBlock::new(texts);
        if json {
            let made = text_json(&block, layout, |n, out| match media {
                Some(media) if self.compiled.empty_is_a_list() => {
                    let row = range.start + n;
                    media.all_json(row, values, out).map_err(|e| e.at_row(row))
                }
                _ => {
                    out.push_str(if self.compiled.empty_is_a_list() { "[]" } else { "\"\"" });
                    Ok(())
                }
            });
            return made.map(known);
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
        Ok(known(Some(block.array(layout, None))))
    }
}
