//! Where each byte of every request comes from: what `explain` says of one, for all requests of a batch.
//!
//! Nearly every request is a copy, and the program that copies it knows where each piece comes from: a span is a piece,
//! as long as what was copied. Fragments are traced once, whichever requests show them. Requests in which copying isn't
//! enough are traced as `explain` traces them, and so are those that show messages of columns, or media.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrow_array::ArrayRef;

use super::bound::BoundConfig;
use super::fragment_traces::placed;
use super::fragments::{LengthTables, Runs};
use super::input::is_list;
use super::memory::reserved;
use super::origin_spans::spans_of;
use super::outcomes::Rows;
use super::rows::BoundProgram;
use super::span_arrays::{NO_PART, Span, SpanColumns, SpanSlots, SpanType, Spans, Stretches};
use super::span_steps::{Numbers, PlanSpans, copied, plan_spans};
use super::substitution::InvolvedColumns;
use super::traced_request::traced_pieces;
use crate::error::{Code, Error, Result};
use crate::plan::Choice;
use crate::render::copying::TextSources;
use crate::template::{FragmentRef, FragmentSet, Origin, Template};
use crate::threads;
use crate::value::Value;

/// Requests that one thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

impl BoundConfig<'_> {
    /// Which fields spans have; None where nobody asks for any.
    pub(super) fn span_type(&self, spans: Spans) -> Result<Option<SpanType>> {
        if spans == Spans::None {
            return Ok(None);
        }
        let messages = self.message_type()?;
        let holds_parts = |of: &super::messages::MessageType| {
            of.parts.is_some() || of.text_parts.is_some() || of.fields.iter().any(|(_, kind)| is_list(kind))
        };
        let is_media = matches!(self.compiled.config.main(), Template::Media(_));
        let parts = messages.as_ref().is_some_and(|of| self.compiled.config.output.json || is_media || holds_parts(of));
        Ok(Some(SpanType { messages: messages.is_some(), parts, detailed: spans == Spans::Detailed }))
    }

    /// What finds the spans of rows' requests; they are of a type, or aren't wanted.
    pub(super) fn span_finder(
        &self,
        of: Option<SpanType>,
        labels: &[Option<Value>],
    ) -> impl Fn(&Rows, Range<usize>, bool) -> Result<Option<ArrayRef>> {
        move |rows, range, plain| of.map(|of| self.spans(rows, range, labels, plain, of)).transpose()
    }

    /// The spans of the requests of some rows, which were rendered; `plain` says that all of them are known to be copies.
    ///
    /// # Errors
    ///
    /// `RenderError` as `explain`, and for more spans than one array can hold.
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
        // Offsets say how long plain texts are, so that nothing is read again.
        let lookup = |column: usize| match plain.then(|| values.unread(column)).flatten() {
            Some(texts) => Ok(texts),
            None => values.texts(column),
        };
        let (tables, runs) = (LengthTables::new(rows.fragments, 0), Runs::default());
        let sources = TextSources { texts: &lookup, fragments: rows.fragments, runs: &runs, rows: 0 };
        let mut numbers = Numbers::default();
        let in_parts = self.message_type()?.is_some_and(|of| of.text_parts.is_some());
        let mut found = Vec::with_capacity(plans.all.len());
        for plan in &plans.all {
            let mut own = plan_spans(plan, values.columns, &lookup, in_parts, &mut numbers)?;
            if let (PlanSpans::Copied { bound, .. }, false) = (&mut own, plain) {
                let bind = |program| BoundProgram::of_batch(program, values, sources, &tables);
                *bound = plan.programs.iter().map(|program| bind(&**program)).collect::<Result<_>>()?;
            }
            found.push(own);
        }
        // All fragments that are shown are traced first, so that their origins are known by number.
        if !numbers.places.is_empty() {
            let mut shown: Vec<u32> = range.clone().flat_map(|row| rows.shown.of(row).iter().copied()).collect();
            shown.sort_unstable();
            shown.dedup();
            for set in [FragmentSet::Renderer, FragmentSet::Batch] {
                if numbers.places.iter().any(|place| place.0 == set) {
                    let chunks = threads::chunks(0..shown.len(), CHUNK_REQUESTS);
                    threads::try_map(chunks, |chunk| {
                        shown[chunk].iter().try_for_each(|fragment| traces.of(set).part(*fragment, 0).map(|_| ()))
                    })?;
                }
            }
        }
        let Numbers { mut origins, places } = numbers;
        let inner = [FragmentSet::Renderer, FragmentSet::Batch].map(|set| traces.of(set).origins());
        let placed: Vec<Vec<u32>> = places
            .iter()
            .map(|(set, slot, speaker)| {
                let own = &inner[usize::from(*set == FragmentSet::Batch)];
                own.iter().map(|o| origins.of(placed(o.clone(), *set, *slot, speaker.as_ref())) as u32).collect()
            })
            .collect();
        // Requests that are traced bring origins of their own.
        let origins = Mutex::new(origins);
        let number = |origin: Origin| origins.lock().unwrap_or_else(PoisonError::into_inner).of(origin) as u32;
        let drawn = self.drawn(rows, &found)?;
        let part =
            |shown: &[u32], place: &FragmentRef| traces.of(place.set).part(shown[place.slot as usize], place.part);
        // A traced request's spans, if it is one: others are counted first, and written where they belong.
        let traced = |request: usize, each: &mut Vec<Span>| -> Result<bool> {
            let (row, plan) = (request / plans.labels.max(1), plans.of(request));
            let shown = rows.shown.of(row);
            match &found[plan] {
                PlanSpans::Explained => {
                    let label = labels.get(request % plans.labels.max(1)).and_then(Option::as_ref);
                    self.explained(rows, row, label, drawn.as_deref(), &number, each)?;
                    Ok(true)
                }
                PlanSpans::Copied { bound, speakers, texts, .. } => {
                    let mut traced = bound.iter().any(|one| one.needs_substitution(row, shown, rows.fragments));
                    for place in speakers {
                        traced = traced || part(shown, place)?.names_speaker;
                    }
                    if traced {
                        let mut stretches = Stretches::new(|span| each.push(span));
                        for (place, pieces) in texts {
                            let pieces = pieces.iter().map(|piece| traces.filled(piece, shown));
                            let pieces = pieces.collect::<Result<Vec<_>>>()?;
                            stretches.text(*place);
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
        let count = |requests: Range<usize>| -> Result<Counted> {
            values.host.check()?;
            let mut out =
                Counted { requests: requests.clone(), counts: reserved(requests.len())?, ..Counted::default() };
            for request in requests {
                let (row, before) = (request / plans.labels.max(1), out.spans.len());
                if traced(request, &mut out.spans).map_err(|e| e.into_render().at_row(row))? {
                    out.traced.push(request);
                    out.counts.push((out.spans.len() - before) as u32);
                    continue;
                }
                let PlanSpans::Copied { steps, usual, .. } = &found[plans.of(request)] else { continue };
                if let Some(usual) = usual.as_ref().filter(|usual| usual.holds(row)) {
                    out.counts.push(usual.spans.len() as u32);
                    continue;
                }
                let mut own = 0;
                let part = |place: &FragmentRef| part(rows.shown.of(row), place);
                copied(steps, row, rows, &placed, &part, &mut Stretches::new(|_| own += 1))
                    .map_err(|e| e.into_render().at_row(row))?;
                out.counts.push(own);
            }
            Ok(out)
        };
        let counted = threads::try_map(threads::chunks(requests, CHUNK_REQUESTS), count)?;
        let origins = origins.lock().unwrap_or_else(PoisonError::into_inner).all.clone();
        let sources: Vec<i8> = origins.iter().map(|origin| origin.source as i8).collect();
        let mut columns = SpanColumns::new(counted.iter().map(|chunk| &chunk.counts[..]), of)?;
        let totals = counted.iter().map(|chunk| chunk.counts.iter().map(|count| *count as usize).sum());
        let slots = columns.slots(totals, &sources);
        threads::try_map(
            counted.iter().zip(slots).collect(),
            |(chunk, mut slots): (&Counted, SpanSlots)| -> Result<()> {
                let (mut traced, mut at) = (chunk.traced.iter().peekable(), 0);
                for (request, count) in chunk.requests.clone().zip(&chunk.counts) {
                    let row = request / plans.labels.max(1);
                    if traced.next_if_eq(&&request).is_some() {
                        chunk.spans[at..at + *count as usize].iter().for_each(|span| slots.write(*span));
                        at += *count as usize;
                        continue;
                    }
                    let PlanSpans::Copied { steps, usual, .. } = &found[plans.of(request)] else { continue };
                    if let Some(usual) = usual.as_ref().filter(|usual| usual.holds(row)) {
                        usual.write(row, &mut slots);
                        continue;
                    }
                    let part = |place: &FragmentRef| part(rows.shown.of(row), place);
                    copied(steps, row, rows, &placed, &part, &mut Stretches::new(|span| slots.write(span)))?;
                }
                Ok(())
            },
        )?;
        columns.array(&origins)
    }

    /// The retriever's choice for all samples up to these rows, where `explain` would draw it for each anew.
    fn drawn(&self, rows: &Rows, found: &[PlanSpans]) -> Result<Option<Vec<Vec<i64>>>> {
        let explains = found.iter().any(|plan| matches!(plan, PlanSpans::Explained));
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
        let one = rows.batch.slice(row, 1);
        let said = self.traced_sample(&one, &ids, label, &mut InvolvedColumns::new(), rows.values.host)?;
        for span in spans_of(&said) {
            let text = (span.message as i32, span.part.map_or(NO_PART, |part| part as i32));
            out.push(Span { start: span.start as i64, end: span.end as i64, origin: number(span.origin), text });
        }
        Ok(())
    }
}

/// The spans of some requests, counted.
#[derive(Default)]
struct Counted {
    requests: Range<usize>,
    counts: Vec<u32>,
    /// Requests that were traced, ascending, and their spans.
    traced: Vec<usize>,
    spans: Vec<Span>,
}
