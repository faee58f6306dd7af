//! How many bytes of all requests come from where: what `explain` says of each, added up.
//!
//! Nearly every row is a copy of literals, fields and fragments, and the program that copies them knows where each comes
//! from: literals are counted once a plan, fields by their lengths, fragments as they were traced once. Requests in which
//! copying isn't enough, and media, are traced as `explain` traces them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::conversation_requests::conversations;
use super::fragment_traces::{AllTraces, FragmentTraces, placed};
use super::fragments::{FragmentStore, FragmentStores, LengthTables, RowFragments, Runs};
use super::input::{Batch, Host};
use super::media::MediaParts;
use super::row_plans::RowPlans;
use super::rows::BoundProgram;
use super::span_steps::{Numbers, Step, text_steps};
use super::substitution::InvolvedColumns;
use super::traced_request::traced_pieces;
use super::values::{SaidColumn, said_length, said_under};
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Draws, Plan, Plans};
use crate::pytext::TextColumn;
use crate::render::copying::TextSources;
use crate::role::{Element, Message, Piece, Request, Slot};
use crate::template::{FragmentRef, FragmentSet, Origin, Source, Template};
use crate::threads;
use crate::value::Value;

/// Bytes by where they come from.
pub type OriginTotals = HashMap<Origin, u64>;

/// Rows that are counted between two looks at signals.
const SLICE_ROWS: usize = 65_536;
/// Requests that one thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

/// How many bytes of the requests of a batch, whose first row is row `start` of the samples, come from where. What is
/// counted is what `explain` explains: texts, what messages say, the payloads of parts.
///
/// # Errors
///
/// `RenderError` for what rendering refuses, with the row (counted from the first batch) and the column.
pub fn origin_totals(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    host: &dyn Host,
) -> Result<OriginTotals> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let step = (SLICE_ROWS / labels.len().max(1)).max(1);
    let mut totals = OriginTotals::new();
    for at in (0..batch.num_rows()).step_by(step) {
        host.check()?;
        let slice = batch.slice(at, step.min(batch.num_rows() - at));
        let first = start + at;
        let own = bound.slice_totals(&slice, first, labels, draws, host);
        merge(&mut totals, own.map_err(|e| e.into_render().shifted(first))?);
    }
    Ok(totals)
}

fn merge(totals: &mut OriginTotals, more: OriginTotals) {
    for (origin, bytes) in more {
        *totals.entry(origin).or_default() += bytes;
    }
}

/// Requests to count, and all that goes into them.
struct Requests<'a> {
    values: &'a Batch<'a>,
    plans: &'a Plans,
    shown: &'a RowFragments,
    fragments: FragmentStores<'a>,
    traces: AllTraces<'a>,
    media: Option<MediaParts<'a>>,
    /// Columns whose messages stand in requests as they are.
    said: Vec<(Arc<str>, SaidColumn)>,
}

impl BoundConfig<'_> {
    fn slice_totals(
        &self,
        slice: &RecordBatch,
        first: usize,
        labels: &[Option<Value>],
        draws: &mut Option<Draws>,
        host: &dyn Host,
    ) -> Result<OriginTotals> {
        let none = FragmentStore::default();
        if let Some(all) = conversations(self.compiled, slice, first, None, host)? {
            let columns = Columns::verbatim([])?;
            let options = RecordBatchOptions::new().with_row_count(Some(all.samples.len()));
            let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
                .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
            let batch = FragmentTraces::of_conversations(&all.origins, all.fragments.len(), host);
            let requests = Requests {
                values: &Batch::new(&columns, &empty, host),
                plans: &Plans { all: all.plans, labels: 1, each: Some(all.each) },
                shown: &all.shown,
                fragments: FragmentStores { renderer: &none, batch: &all.fragments },
                traces: AllTraces { renderer: FragmentTraces::none(), batch },
                media: None,
                said: Vec::new(),
            };
            return requests.totals();
        }
        let values = Batch::new(self.columns(), slice, host);
        let RowPlans { plans, shown, contents, said_by } = self.plans(slice, first, labels, draws, host)?;
        let renderer = if plans.each.is_some() { self.example_fragments(host)? } else { &none };
        let traces = AllTraces {
            renderer: FragmentTraces::of_examples(self.compiled, host),
            batch: FragmentTraces::of_columns(&contents, said_by),
        };
        let media = match self.compiled.config.main() {
            Template::Media(template) => Some(MediaParts::new(&self.compiled.config, template, slice, &values, None)?),
            _ => None,
        };
        let mut said = Vec::new();
        for name in plans.all.iter().flat_map(|plan| expanded(&plan.request)) {
            if let (Some(array), true) = (slice.column_by_name(name), said.iter().all(|(known, _)| known != name)) {
                said.push((name.clone(), SaidColumn::new(array).map_err(|e| e.in_column(&**name))?));
            }
        }
        let fragments = FragmentStores { renderer, batch: &contents };
        Requests { values: &values, plans: &plans, shown: &shown, fragments, traces, media, said }.totals()
    }
}

/// The columns whose messages a request shows as they stand.
fn expanded(request: &Request) -> impl Iterator<Item = &Arc<str>> {
    let messages: &[Message] = if let Request::List(messages) = request { messages } else { &[] };
    messages.iter().filter_map(|message| match message {
        Message::Expand { column } | Message::Element(Element { column, content: Err(_), .. }) => Some(column),
        _ => None,
    })
}

/// What the requests of one plan are the sum of.
struct PlanTally<'a> {
    bound: Vec<BoundProgram<'a>>,
    /// Bytes by the number of their origin.
    literals: Vec<(usize, u64)>,
    fields: Vec<(&'a TextColumn, usize)>,
    /// Fragments, by the number of their place.
    fragments: Vec<(FragmentRef, usize)>,
    /// Pieces that a newline stands before unless they are empty.
    lines: Vec<OpenLine<'a>>,
    /// Fragments that say who speaks what stands beside them, if they say who speaks.
    speakers: Vec<FragmentRef>,
    newline: usize,
    /// Messages of columns: the place among those, which of the row's where it is one, and the origin.
    said: Vec<(usize, Option<u32>, usize)>,
    /// Media that stand in it, by their numbers.
    media: Vec<usize>,
}

#[derive(Default)]
struct OpenLine<'a> {
    fields: Vec<&'a TextColumn>,
    fragments: Vec<FragmentRef>,
}

/// What a chunk of requests adds up to.
#[derive(Default)]
struct Counted {
    origins: Vec<u64>,
    /// By place, by the number of the origin within fragments.
    places: Vec<Vec<u64>>,
    traced: OriginTotals,
}

impl Requests<'_> {
    fn totals(&self) -> Result<OriginTotals> {
        let Plans { all, labels, each } = self.plans;
        let requests = each.as_ref().map_or(self.values.rows * labels, Vec::len);
        let mut columns: Vec<usize> = all.iter().flat_map(|p| &p.programs).flat_map(|p| p.fields.clone()).collect();
        columns.sort_unstable();
        columns.dedup();
        let scanned = |column: &usize| all.iter().flat_map(|p| &p.programs).any(|p| p.scanned.contains(column));
        threads::map(columns, |column| self.values.prepare(column, scanned(&column)));
        let (tables, runs) = (LengthTables::new(self.fragments, 0), Runs::default());
        let lookup = |column: usize| self.values.texts(column);
        let sources = TextSources { texts: &lookup, fragments: self.fragments, runs: &runs, rows: 0 };
        let mut numbers = Numbers::default();
        let tallies: Vec<PlanTally> =
            all.iter().map(|plan| self.tally(plan, sources, &tables, &mut numbers)).collect::<Result<_>>()?;
        let count = |chunk: Range<usize>| -> Result<Counted> {
            self.values.host.check()?;
            let places = vec![Vec::new(); numbers.places.len()];
            let mut counted = Counted { origins: vec![0; numbers.origins.all.len()], places, ..Counted::default() };
            for request in chunk {
                let (row, plan) = (request / labels.max(&1), self.plans.of(request));
                let shown = self.shown.of(row);
                self.count_rest(&tallies[plan], row, &mut counted).map_err(|e| e.into_render().at_row(row))?;
                let counts = self.count(&tallies[plan], row, shown, &mut counted);
                if !counts.map_err(|e| e.into_render().at_row(row))? {
                    self.trace(&all[plan].request, row, shown, &mut counted.traced)
                        .map_err(|e| e.into_render().at_row(row))?;
                }
            }
            Ok(counted)
        };
        let mut totals = OriginTotals::new();
        let inner = |set: FragmentSet| self.traces.of(set).origins();
        let counted = threads::try_map(threads::chunks(0..requests, CHUNK_REQUESTS), count)?;
        let (of_renderer, of_batch) = (inner(FragmentSet::Renderer), inner(FragmentSet::Batch));
        for chunk in counted {
            for (origin, bytes) in numbers.origins.all.iter().zip(chunk.origins).filter(|(_, bytes)| *bytes > 0) {
                *totals.entry(origin.clone()).or_default() += bytes;
            }
            for ((set, slot, speaker), own) in numbers.places.iter().zip(chunk.places) {
                let origins = if *set == FragmentSet::Renderer { &of_renderer } else { &of_batch };
                for (origin, bytes) in origins.iter().zip(own).filter(|(_, bytes)| *bytes > 0) {
                    *totals.entry(placed(origin.clone(), *set, *slot, speaker.as_ref())).or_default() += bytes;
                }
            }
            merge(&mut totals, chunk.traced);
        }
        totals.retain(|_, bytes| *bytes > 0);
        Ok(totals)
    }

    fn tally<'s>(
        &'s self,
        plan: &'s Plan,
        sources: TextSources<'_, 's>,
        tables: &LengthTables,
        numbers: &mut Numbers,
    ) -> Result<PlanTally<'s>> {
        let bind = |program| BoundProgram::of_batch(program, self.values, sources, tables);
        let newline = Origin { source: Source::Separator, ..Origin::default() };
        let mut out = PlanTally {
            bound: plan.programs.iter().map(|program| bind(&**program)).collect::<Result<_>>()?,
            literals: Vec::new(),
            fields: Vec::new(),
            fragments: Vec::new(),
            lines: Vec::new(),
            speakers: Vec::new(),
            newline: numbers.origins.of(newline),
            said: Vec::new(),
            media: self.media_of(&plan.request),
        };
        let (lookup, columns) = (|column: usize| self.values.texts(column), self.values.columns);
        let mut steps = Vec::new();
        for program in &plan.programs {
            text_steps(program, columns, &lookup, &mut steps, &mut out.speakers, numbers)?;
        }
        for (n, step) in steps.iter().enumerate() {
            match step {
                Step::Text(_) => {}
                Step::Literal(bytes, origin) => out.literal(*origin as usize, *bytes),
                Step::Field(texts, origin) => out.fields.push((*texts, *origin as usize)),
                Step::Fragment(place, number) => out.fragments.push((*place, *number)),
                Step::Line(open, _) => {
                    let mut line = OpenLine::default();
                    for step in &steps[n + 1..=n + open] {
                        match step {
                            Step::Field(texts, _) => line.fields.push(*texts),
                            Step::Fragment(place, _) => line.fragments.push(*place),
                            _ => {}
                        }
                    }
                    out.lines.push(line);
                }
            }
        }
        for (origin, bytes) in constants(&plan.request) {
            out.literal(numbers.origins.of(origin), bytes);
        }
        let messages: &[Message] = if let Request::List(messages) = &plan.request { messages } else { &[] };
        for message in messages {
            let (column, number) = match message {
                Message::Expand { column } => (column, None),
                Message::Element(Element { column, number, content: Err(_), .. }) => (column, Some(*number)),
                _ => continue,
            };
            if let Some(at) = self.said.iter().position(|(known, _)| known == column) {
                let origin = Origin { source: Source::Field, column: Some(column.clone()), ..Origin::default() };
                out.said.push((at, number, numbers.origins.of(origin)));
            }
        }
        Ok(out)
    }

    /// The media that stand in a request, by their numbers.
    fn media_of(&self, request: &Request) -> Vec<usize> {
        let Some(shown) = &self.media else { return Vec::new() };
        let media = |slot: &Slot| if let Slot::Parts(media) = slot { Some(shown.number(media)) } else { None };
        match request {
            Request::Text(_) => Vec::new(),
            Request::Parts(all) => all.iter().map(|media| shown.number(media)).collect(),
            Request::List(messages) => {
                let slots = |message: &Message| match message {
                    Message::Dict(keys) => keys.iter().filter_map(|(_, slot)| media(slot)).collect(),
                    _ => Vec::new(),
                };
                messages.iter().flat_map(slots).collect()
            }
        }
    }

    /// Count what is the same whether texts are copied or filled: messages of columns, and media.
    fn count_rest(&self, tally: &PlanTally, row: usize, counted: &mut Counted) -> Result<()> {
        for (at, number, origin) in &tally.said {
            let column = &self.said[*at].1;
            let bytes = match (number, column) {
                (Some(number), SaidColumn::List(ends, items, _)) => items.length(ends[row] + *number as usize).0,
                _ => column.length(row).0,
            };
            counted.origins[*origin] += bytes as u64;
        }
        let Some(media) = self.media.as_ref().filter(|_| !tally.media.is_empty()) else { return Ok(()) };
        for number in &tally.media {
            for (text, origin) in media.traced(row, *number, self.values)?.into_iter().flatten() {
                *counted.traced.entry(origin).or_default() += text.len() as u64;
            }
        }
        Ok(())
    }

    /// Count a request that is a copy; says whether it is one.
    fn count(&self, tally: &PlanTally, row: usize, shown: &[u32], counted: &mut Counted) -> Result<bool> {
        if tally.bound.iter().any(|program| program.needs_substitution(row, shown, self.fragments)) {
            return Ok(false);
        }
        let part = |place: &FragmentRef| self.traces.of(place.set).part(shown[place.slot as usize], place.part);
        for place in &tally.speakers {
            if part(place)?.names_speaker {
                return Ok(false);
            }
        }
        for (origin, bytes) in &tally.literals {
            counted.origins[*origin] += bytes;
        }
        for (texts, origin) in &tally.fields {
            counted.origins[*origin] += texts.length(row) as u64;
        }
        for (place, number) in &tally.fragments {
            let own = &mut counted.places[*number];
            for (origin, bytes) in &part(place)?.bytes {
                if own.len() <= *origin {
                    own.resize(*origin + 1, 0);
                }
                own[*origin] += bytes;
            }
        }
        for line in &tally.lines {
            let writes = line.fields.iter().any(|texts| texts.length(row) > 0)
                || line.fragments.iter().any(|place| !self.fragments.bytes(*place, shown).is_empty());
            counted.origins[tally.newline] += u64::from(writes);
        }
        Ok(true)
    }

    /// Count a request by tracing it, with its fragments in place.
    fn trace(&self, request: &Request, row: usize, shown: &[u32], totals: &mut OriginTotals) -> Result<()> {
        let texts: Vec<&[Piece]> = match request {
            Request::Text(pieces) => vec![pieces],
            Request::List(messages) => messages.iter().filter_map(Message::text).collect(),
            Request::Parts(_) => Vec::new(),
        };
        for pieces in texts {
            let filled = pieces.iter().map(|piece| self.traces.filled(piece, shown)).collect::<Result<Vec<_>>>()?;
            for (text, origin) in traced_pieces(&filled, self.values, row, &mut InvolvedColumns::new())? {
                *totals.entry(origin).or_default() += text.len() as u64;
            }
        }
        for (origin, bytes) in constants(request) {
            *totals.entry(origin).or_default() += bytes as u64;
        }
        Ok(())
    }
}

impl PlanTally<'_> {
    fn literal(&mut self, origin: usize, bytes: usize) {
        match self.literals.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, so_far)) => *so_far += bytes as u64,
            None => self.literals.push((origin, bytes as u64)),
        }
    }
}

/// What a request's messages say that is the same for every sample and no text of a template.
fn constants(request: &Request) -> Vec<(Origin, usize)> {
    let Request::List(messages) = request else { return Vec::new() };
    let mut out = Vec::new();
    for message in messages {
        let Message::Dict(keys) = message else { continue };
        let role = message.role().and_then(Value::as_text).cloned();
        for (key, slot) in keys {
            if let (Slot::Const(value), Some(_)) = (slot, said_under(key)) {
                out.push((Origin { role: role.clone(), ..Origin::default() }, said_length(value).0));
            }
        }
    }
    out
}
