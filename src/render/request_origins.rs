//! Where the bytes of a batch's requests come from, in a form that is cheap to ask row by row.
//!
//! Nearly every row is a copy of literals, fields and fragments, and the program that copies them knows where each comes
//! from: literals are known once a plan, fields by their lengths, fragments as they were traced once. Requests in which
//! copying isn't enough, and media, are traced as `explain` traces them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::bound::BoundConfig;
use super::conversation_requests::conversations;
use super::fragment_traces::{AllTraces, FragmentTraces};
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
use crate::template::{FragmentRef, Origin, Source, Template};
use crate::threads;
use crate::value::Value;

/// Bytes by where they come from.
pub type OriginTotals = HashMap<Origin, u64>;

/// Requests to count, and all that goes into them.
pub(super) struct Requests<'a> {
    pub(super) values: &'a Batch<'a>,
    pub(super) plans: &'a Plans,
    pub(super) shown: &'a RowFragments,
    fragments: FragmentStores<'a>,
    pub(super) traces: AllTraces<'a>,
    media: Option<MediaParts<'a>>,
    /// Columns whose messages stand in requests as they are.
    said: Vec<(Arc<str>, SaidColumn)>,
    runs: Runs,
    /// The row of each request in the slice, where requests are turns of conversations.
    pub(super) rows: Option<Vec<usize>>,
}

impl BoundConfig<'_> {
    /// Ask something of all requests of a slice, whose first row is row `first` of the samples.
    ///
    /// # Errors
    ///
    /// `RenderError` for what rendering refuses, with the row of the slice, and whatever `ask` returns.
    pub(super) fn with_requests<T>(
        &self,
        slice: &RecordBatch,
        first: usize,
        labels: &[Option<Value>],
        draws: &mut Option<Draws>,
        host: &dyn Host,
        ask: impl FnOnce(&Requests) -> Result<T>,
    ) -> Result<T> {
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
                runs: Runs::default(),
                rows: Some(all.samples.values().iter().map(|sample| *sample as usize - first).collect()),
            };
            return ask(&requests);
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
        let values = &values;
        let (runs, rows) = (Runs::default(), None);
        ask(&Requests { values, plans: &plans, shown: &shown, fragments, traces, media, said, runs, rows })
    }
}

/// The columns whose messages a request shows as they stand.
pub(super) fn expanded(request: &Request) -> impl Iterator<Item = &Arc<str>> {
    let messages: &[Message] = if let Request::List(messages) = request { messages } else { &[] };
    messages.iter().filter_map(|message| match message {
        Message::Expand { column } | Message::Element(Element { column, content: Err(_), .. }) => Some(column),
        _ => None,
    })
}

/// What the requests of one plan are the sum of.
pub(super) struct PlanTally<'a> {
    bound: Vec<BoundProgram<'a>>,
    /// Bytes by the number of their origin.
    pub(super) literals: Vec<(usize, u64)>,
    pub(super) fields: Vec<(&'a TextColumn, usize)>,
    /// Fragments, by the number of their place.
    pub(super) fragments: Vec<(FragmentRef, usize)>,
    /// Pieces that a newline stands before unless they are empty.
    pub(super) lines: Vec<OpenLine<'a>>,
    /// Fragments that say who speaks what stands beside them, if they say who speaks.
    pub(super) speakers: Vec<FragmentRef>,
    pub(super) newline: usize,
    /// Messages of columns: the place among those, which of the row's where it is one, and the origin.
    said: Vec<(usize, Option<u32>, usize)>,
    /// Media that stand in it, by their numbers.
    media: Vec<usize>,
}

#[derive(Default)]
pub(super) struct OpenLine<'a> {
    fields: Vec<&'a TextColumn>,
    fragments: Vec<FragmentRef>,
}

impl Requests<'_> {
    /// Number of requests.
    pub(super) fn count(&self) -> usize {
        self.plans.each.as_ref().map_or(self.values.rows * self.plans.labels, Vec::len)
    }

    /// What the requests of each plan are the sum of; the columns that they show are checked side by side before.
    pub(super) fn tallies<'s>(&'s self, numbers: &mut Numbers) -> Result<Vec<PlanTally<'s>>> {
        let all = &self.plans.all;
        let mut columns: Vec<usize> = all.iter().flat_map(|p| &p.programs).flat_map(|p| p.fields.clone()).collect();
        columns.sort_unstable();
        columns.dedup();
        let scanned = |column: &usize| all.iter().flat_map(|p| &p.programs).any(|p| p.scanned.contains(column));
        threads::map(columns, |column| self.values.prepare(column, scanned(&column)));
        let tables = LengthTables::new(self.fragments, 0);
        let lookup = |column: usize| self.values.texts(column);
        let sources = TextSources { texts: &lookup, fragments: self.fragments, runs: &self.runs, rows: 0 };
        all.iter().map(|plan| self.tally(plan, sources, &tables, numbers)).collect()
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

    /// Give the bytes of each column's messages in a request, by the number of the origin.
    pub(super) fn said_bytes(&self, tally: &PlanTally, row: usize, mut each: impl FnMut(usize, u64)) {
        for (column, number, origin) in &tally.said {
            each(*origin, self.said[*column].1.message_length(row, *number).0 as u64);
        }
    }

    /// Add the bytes of a request's media.
    pub(super) fn add_media(&self, tally: &PlanTally, row: usize, totals: &mut OriginTotals) -> Result<()> {
        let Some(media) = self.media.as_ref().filter(|_| !tally.media.is_empty()) else { return Ok(()) };
        for number in &tally.media {
            for (text, origin) in media.traced(row, *number, self.values)?.into_iter().flatten() {
                *totals.entry(origin).or_default() += text.len() as u64;
            }
        }
        Ok(())
    }

    /// Return true if a line writes anything in a row, so that a newline stands before it.
    pub(super) fn writes(&self, line: &OpenLine, row: usize, shown: &[u32]) -> bool {
        line.fields.iter().any(|texts| texts.length(row) > 0)
            || line.fragments.iter().any(|place| !self.fragments.bytes(*place, shown).is_empty())
    }

    /// Return true if a request is more than a copy of what its plan holds.
    pub(super) fn needs_substitution(&self, tally: &PlanTally, row: usize, shown: &[u32]) -> bool {
        tally.bound.iter().any(|program| program.needs_substitution(row, shown, self.fragments))
    }

    /// Add the bytes of a request by tracing it, with its fragments in place.
    pub(super) fn trace(&self, request: &Request, row: usize, shown: &[u32], totals: &mut OriginTotals) -> Result<()> {
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
