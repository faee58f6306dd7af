//! Finds the origin of each byte of every request: the result of `explain`, for all requests of a batch.
//!
//! Nearly every request is a copy, and the program that copies it has the origin of each piece: a span is a piece, as
//! long as its copy. Fragments are traced once for all requests. If copying isn't enough for a request, or if it shows
//! messages of columns or media, it is traced as `explain` traces it.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrow_array::ArrayRef;

use super::origin_spans::spans_of;
use super::span_steps::{Numbers, PlanSpans, Usual, copied, plan_spans};
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Layout};
use crate::render::compiled::BoundConfig;
use crate::render::copying::TextSources;
use crate::render::fragments::{LengthTables, Runs};
use crate::render::input::is_list;
use crate::render::memory::reserved;
use crate::render::rendered::Rows;
use crate::render::rows::BoundProgram;
use crate::render::substitution::InvolvedColumns;
use crate::render::traces::{
    NO_PART, OriginCodes, PositionType, Span, SpanBlock, SpanColumns, SpanSlots, SpanType, Spans, Stretches,
    origin_in_slot, traced_pieces,
};
use crate::template::{FragmentRef, FragmentSet, Origin, Template};
use crate::threads;
use crate::value::Value;

/// The number of requests that a thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;
/// The most plans of which it is looked up for all rows of a chunk at once whether their spans are the usual ones.
const FEW_PLANS: usize = 8;

impl BoundConfig<'_> {
    /// Return the fields of a span; None if no spans are wanted.
    pub(in crate::render) fn span_type(&self, spans: Spans) -> Result<Option<SpanType>> {
        if spans == Spans::None {
            return Ok(None);
        }
        let messages = self.message_type()?;
        let holds_parts = |of: &crate::render::messages::MessageType| {
            of.parts.is_some() || of.text_parts.is_some() || of.fields.iter().any(|(_, kind)| is_list(kind))
        };
        let is_media = matches!(self.compiled.config.main(), Template::Media(_));
        let parts = messages.as_ref().is_some_and(|of| self.compiled.config.output.json || is_media || holds_parts(of));
        let positions = match self.compiled.config.layout {
            Layout::String | Layout::StringView => PositionType::Narrow,
            Layout::LargeString => PositionType::Wide,
        };
        Ok(Some(SpanType { messages: messages.is_some(), parts, detailed: spans == Spans::Detailed, positions }))
    }

    /// Return a function that finds the spans of rows' requests, if spans are wanted; `span_type` is their type.
    pub(in crate::render) fn span_finder(
        &self,
        of: Option<SpanType>,
        labels: &[Option<Value>],
    ) -> impl Fn(&Rows, Range<usize>, bool) -> Result<Option<ArrayRef>> {
        move |rows, range, plain| of.map(|of| self.spans(rows, range, labels, plain, of)).transpose()
    }

    /// Return the spans of the rendered requests of some rows; `plain` is true if all of them are known to be copies.
    ///
    /// # Errors
    ///
    /// The errors of `explain`, and `RenderError` for more spans than an array can hold.
    fn spans(
        &self,
        rows: &Rows,
        range: Range<usize>,
        labels: &[Option<Value>],
        plain: bool,
        of: SpanType,
    ) -> Result<ArrayRef> {
        let (plans, values) = (rows.plans, rows.values);
        let Some(traces) = &rows.traces else {
            return Err(Error::render(Code::InternalError, "spans were asked for too late"));
        };
        let requests = range.start * plans.labels..range.end * plans.labels;
        // The offsets give the lengths of plain texts, so that no text is read again.
        let lookup = |column: usize| match plain.then(|| values.unread(column)).flatten() {
            Some(texts) => Ok(texts),
            None => values.texts(column),
        };
        let (tables, runs) = (LengthTables::new(rows.fragments, 0), Runs::default());
        let sources = TextSources { texts: &lookup, fragments: rows.fragments, runs: &runs, rows: 0 };
        let mut numbers = Numbers::default();
        let in_parts = self.message_type()?.is_some_and(|of| of.text_parts.is_some());
        let mut span_plans = Vec::with_capacity(plans.all.len());
        for plan in &plans.all {
            let mut spans_of_plan = plan_spans(plan, values.columns, &lookup, in_parts, &mut numbers)?;
            if let (PlanSpans::Copied { bound, .. }, false) = (&mut spans_of_plan, plain) {
                let bind = |program| BoundProgram::of_batch(program, values, sources, &tables);
                *bound = plan.programs.iter().map(|program| bind(&**program)).collect::<Result<_>>()?;
            }
            span_plans.push(spans_of_plan);
        }
        // All shown fragments are traced first, so that the numbers of their origins exist.
        if !numbers.fragment_slots.is_empty() {
            let mut fragment_ids: Vec<u32> =
                range.clone().flat_map(|row| rows.row_fragments.of(row).iter().copied()).collect();
            fragment_ids.sort_unstable();
            fragment_ids.dedup();
            for set in [FragmentSet::Renderer, FragmentSet::Batch] {
                if numbers.fragment_slots.iter().any(|slot| slot.0 == set) {
                    let chunks = threads::chunks(0..fragment_ids.len(), CHUNK_REQUESTS);
                    threads::try_map(chunks, |chunk| {
                        fragment_ids[chunk]
                            .iter()
                            .try_for_each(|fragment| traces.of(set).part(*fragment, 0).map(|_| ()))
                    })?;
                }
            }
        }
        let Numbers { mut origins, fragment_slots } = numbers;
        let inner = [FragmentSet::Renderer, FragmentSet::Batch].map(|set| traces.of(set).origins());
        let slot_origins: Vec<Vec<u32>> = fragment_slots
            .iter()
            .map(|(set, slot, speaker)| {
                let set_origins = &inner[usize::from(*set == FragmentSet::Batch)];
                set_origins
                    .iter()
                    .map(|o| origins.of(origin_in_slot(o.clone(), *set, *slot, speaker.as_ref())) as u32)
                    .collect()
            })
            .collect();
        // Traced requests add new origins.
        let origins = Mutex::new(origins);
        let number = |origin: Origin| origins.lock().unwrap_or_else(PoisonError::into_inner).of(origin) as u32;
        let drawn = self.random_choice(rows, &span_plans)?;
        let part = |row_fragments: &[u32], fragment: &FragmentRef| {
            traces.of(fragment.set).part(row_fragments[fragment.slot as usize], fragment.part)
        };
        // Returns true and appends the spans if a request is traced. The spans of other requests are counted first, and
        // written into the array later.
        let traced = |request: usize, each: &mut Vec<Span>| -> Result<bool> {
            let (row, plan) = (request / plans.labels.max(1), plans.of(request));
            let row_fragments = rows.row_fragments.of(row);
            match &span_plans[plan] {
                PlanSpans::Explained => {
                    let label = labels.get(request % plans.labels.max(1)).and_then(Option::as_ref);
                    self.explained(rows, row, label, drawn.as_deref(), &number, each)?;
                    Ok(true)
                }
                PlanSpans::Copied { bound, speakers, texts, .. } => {
                    let mut traced =
                        bound.iter().any(|program| program.needs_substitution(row, row_fragments, rows.fragments));
                    for speaker in speakers {
                        traced = traced || part(row_fragments, speaker)?.names_speaker;
                    }
                    if traced {
                        let mut stretches = Stretches::new(|span| each.push(span));
                        for (text_position, pieces) in texts {
                            let pieces = pieces.iter().map(|piece| traces.filled(piece, row_fragments));
                            let pieces = pieces.collect::<Result<Vec<_>>>()?;
                            stretches.text(*text_position);
                            for (text, origin) in traced_pieces(&pieces, values, row, &mut InvolvedColumns::new())? {
                                stretches.add(text.len(), number(origin));
                            }
                        }
                        stretches.end();
                    }
                    Ok(traced)
                }
            }
        };
        let row_of = |request: usize| if plans.labels > 1 { request / plans.labels } else { request };
        let count = |requests: Range<usize>| -> Result<Counted> {
            values.host.check()?;
            let mut out = Counted { counts: reserved(requests.len())?, ..Counted::default() };
            let chunk_rows = row_of(requests.start)..row_of(requests.end - 1) + 1;
            // Many plans have few rows each, which are looked at one by one.
            let usual_rows: Vec<Option<Vec<bool>>> = match span_plans.len() {
                ..=FEW_PLANS => {
                    span_plans.iter().map(|plan| plan.usual().map(|usual| usual.rows(chunk_rows.clone()))).collect()
                }
                _ => Vec::new(),
            };
            let is_usual = |plan: usize, usual: &Usual, row: usize| match usual_rows.get(plan) {
                Some(usual_rows) => usual_rows.as_ref().is_some_and(|is_usual| is_usual[row - chunk_rows.start]),
                None => usual.holds(row),
            };
            for request in requests {
                let (row, plan, before) = (row_of(request), plans.of(request), out.spans.len());
                if traced(request, &mut out.spans).map_err(|e| e.into_render().at_row(row))? {
                    out.add(request, plan, How::Traced, out.spans.len() - before);
                    continue;
                }
                let PlanSpans::Copied { steps, usual, .. } = &span_plans[plan] else { continue };
                if let Some(usual) = usual.as_ref().filter(|usual| is_usual(plan, usual, row)) {
                    out.add(request, plan, How::Usual, usual.spans.len());
                    continue;
                }
                let mut span_count = 0;
                let part = |fragment: &FragmentRef| part(rows.row_fragments.of(row), fragment);
                copied(steps, row, rows, &slot_origins, &part, &mut Stretches::new(|_| span_count += 1))
                    .map_err(|e| e.into_render().at_row(row))?;
                out.add(request, plan, How::Steps, span_count);
            }
            Ok(out)
        };
        let counted = threads::try_map(threads::chunks(requests, CHUNK_REQUESTS), count)?;
        let origins = origins.lock().unwrap_or_else(PoisonError::into_inner).all.clone();
        let codes = OriginCodes::new(&origins);
        let mut columns = SpanColumns::new(counted.iter().map(|chunk| &chunk.counts[..]), of)?;
        let totals = counted.iter().map(|chunk| chunk.counts.iter().map(|count| *count as usize).sum());
        let slots = columns.slots(totals, &codes);
        let blocks: Vec<Option<SpanBlock>> = span_plans.iter().map(|plan| plan.block(&codes)).collect();
        let write = |(chunk, mut slots): (&Counted, SpanSlots)| -> Result<()> {
            let (mut of_traced, mut lengths) = (chunk.spans.iter(), Vec::new());
            for Group { how, plan, requests, spans } in &chunk.groups {
                match (how, &span_plans[*plan], &blocks[*plan]) {
                    (How::Usual, PlanSpans::Copied { usual: Some(usual), .. }, Some(block)) => {
                        usual.lengths(requests.clone(), plans.labels, &mut lengths);
                        slots.write_block(block, requests.len(), &lengths);
                    }
                    (How::Steps, PlanSpans::Copied { steps, .. }, _) => {
                        for row in requests.clone().map(row_of) {
                            let part = |fragment: &FragmentRef| part(rows.row_fragments.of(row), fragment);
                            let mut stretches = Stretches::new(|span| slots.write(span));
                            copied(steps, row, rows, &slot_origins, &part, &mut stretches)?;
                        }
                    }
                    _ => of_traced.by_ref().take(*spans).for_each(|span| slots.write(*span)),
                }
            }
            Ok(())
        };
        threads::try_map(counted.iter().zip(slots).collect(), write)?;
        columns.array(&codes)
    }

    /// Return the retriever's choice for all samples up to these rows, if `explain` would draw it again for each of
    /// them.
    fn random_choice(&self, rows: &Rows, span_plans: &[PlanSpans]) -> Result<Option<Vec<Vec<i64>>>> {
        let explains = span_plans.iter().any(|plan| matches!(plan, PlanSpans::Explained));
        if !explains || !matches!(self.compiled.config.retriever.choice, Choice::Random { .. }) {
            return Ok(None);
        }
        let all = self.compiled.choose_examples(0, rows.start + rows.batch.num_rows(), &mut None)?;
        Ok(all.map(|all| all[rows.start..].to_vec()))
    }

    /// Add the spans of a row's request as `explain` finds them.
    fn explained(
        &self,
        rows: &Rows,
        row: usize,
        label: Option<&Value>,
        drawn: Option<&[Vec<i64>]>,
        number: &impl Fn(Origin) -> u32,
        out: &mut Vec<Span>,
    ) -> Result<()> {
        if rows.samples.is_some() {
            return Err(Error::render(Code::InternalError, "a conversation's request has no spans of its own"));
        }
        let ids = match drawn {
            Some(drawn) => drawn[row].clone(),
            None => self.example_ids(rows.batch, row, rows.start + row)?,
        };
        let row_batch = rows.batch.slice(row, 1);
        let traced = self.traced_sample(&row_batch, &ids, label, &mut InvolvedColumns::new(), rows.values.host)?;
        for span in spans_of(&traced) {
            let text = (span.message as i32, span.part.map_or(NO_PART, |part| part as i32));
            out.push(Span { start: span.start as i64, end: span.end as i64, origin: number(span.origin), text });
        }
        Ok(())
    }
}

/// The way in which the spans of a request are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// They are those that were traced.
    Traced,
    /// They are the usual spans of the plan.
    Usual,
    /// They follow from the steps of the plan.
    Steps,
}

/// Adjacent requests of the same plan whose spans are written in the same way.
struct Group {
    how: How,
    plan: usize,
    requests: Range<usize>,
    /// The number of spans of all of them.
    spans: usize,
}

/// The numbers of spans of some requests.
#[derive(Default)]
struct Counted {
    counts: Vec<u32>,
    groups: Vec<Group>,
    /// The spans of traced requests.
    spans: Vec<Span>,
}

impl Counted {
    #[inline]
    fn add(&mut self, request: usize, plan: usize, how: How, spans: usize) {
        self.counts.push(spans as u32);
        match self.groups.last_mut() {
            Some(group) if (group.how, group.plan) == (how, plan) => {
                group.requests.end = request + 1;
                group.spans += spans;
            }
            _ => self.groups.push(Group { how, plan, requests: request..request + 1, spans }),
        }
    }
}
