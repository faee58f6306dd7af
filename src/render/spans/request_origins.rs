//! Gives the origins of the bytes of a batch's requests in a form that is cheap to query row by row.
//!
//! Nearly every row is a copy of literals, fields and fragments, and the program that copies them has the origin of
//! each. The bytes of literals are counted once for a plan, those of fields by their lengths, and those of fragments
//! are traced once. If copying isn't enough for a request, or if it has media, it is traced as `explain` traces it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::span_steps::{Numbers, Step, text_steps};
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Draws, Plan, Plans};
use crate::python_text::TextColumn;
use crate::render::compiled::{BoundConfig, RowPlans, conversations};
use crate::render::copying::TextSources;
use crate::render::fragments::{FragmentStore, FragmentStores, LengthTables, RowFragments, Runs};
use crate::render::input::{Batch, PythonCallbacks};
use crate::render::media::MediaParts;
use crate::render::rows::BoundProgram;
use crate::render::substitution::InvolvedColumns;
use crate::render::traces::{AllTraces, FragmentTraces, traced_pieces};
use crate::render::values::{MessageColumn, text_length, text_location};
use crate::role::{Element, Message, Piece, Request, Slot};
use crate::template::{FragmentRef, Origin, Source, Template};
use crate::threads;
use crate::value::Value;

/// The number of bytes of each origin.
pub type OriginTotals = HashMap<Origin, u64>;

/// Requests to count, with everything that they need.
pub(in crate::render) struct Requests<'a> {
    pub(in crate::render) values: &'a Batch<'a>,
    pub(in crate::render) plans: &'a Plans,
    pub(in crate::render) row_fragments: &'a RowFragments,
    fragments: FragmentStores<'a>,
    pub(in crate::render) traces: AllTraces<'a>,
    media: Option<MediaParts<'a>>,
    /// The columns whose messages requests show unchanged.
    messages: Vec<(Arc<str>, MessageColumn)>,
    runs: Runs,
    /// The row of each request in the slice, if requests are turns of conversations.
    pub(in crate::render) rows: Option<Vec<usize>>,
}

impl BoundConfig<'_> {
    /// Call a function with all requests of a slice, whose first row is row `first` of the samples.
    ///
    /// # Errors
    ///
    /// The errors of rendering, with the row of the slice, and those of `ask`.
    pub(in crate::render) fn with_requests<T>(
        &self,
        slice: &RecordBatch,
        first: usize,
        labels: &[Option<Value>],
        draws: &mut Option<Draws>,
        host: &dyn PythonCallbacks,
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
                row_fragments: &all.row_fragments,
                fragments: FragmentStores { renderer: &none, batch: &all.fragments },
                traces: AllTraces { renderer: FragmentTraces::none(), batch },
                media: None,
                messages: Vec::new(),
                runs: Runs::default(),
                rows: Some(all.samples.values().iter().map(|sample| *sample as usize - first).collect()),
            };
            return ask(&requests);
        }
        let values = Batch::new(self.columns(), slice, host);
        let RowPlans { plans, row_fragments, contents, content_columns } =
            self.plans(slice, first, labels, draws, host)?;
        let renderer = if plans.each.is_some() { self.example_fragments(host)? } else { &none };
        let traces = AllTraces {
            renderer: FragmentTraces::of_examples(self.compiled, host),
            batch: FragmentTraces::of_columns(&contents, content_columns),
        };
        let media = match self.compiled.config.main() {
            Template::Media(template) => Some(MediaParts::new(&self.compiled.config, template, slice, &values, None)?),
            _ => None,
        };
        let mut messages = Vec::new();
        for name in plans.all.iter().flat_map(|plan| expanded(&plan.request)) {
            if let (Some(array), true) = (slice.column_by_name(name), messages.iter().all(|(column, _)| column != name))
            {
                messages.push((name.clone(), MessageColumn::new(array).map_err(|e| e.in_column(&**name))?));
            }
        }
        let fragments = FragmentStores { renderer, batch: &contents };
        let values = &values;
        let (runs, rows) = (Runs::default(), None);
        ask(&Requests {
            values,
            plans: &plans,
            row_fragments: &row_fragments,
            fragments,
            traces,
            media,
            messages,
            runs,
            rows,
        })
    }
}

/// Return the columns whose messages a request shows unchanged.
pub(in crate::render) fn expanded(request: &Request) -> impl Iterator<Item = &Arc<str>> {
    let messages: &[Message] = if let Request::List(messages) = request { messages } else { &[] };
    messages.iter().filter_map(|message| match message {
        Message::Expand { column } | Message::Element(Element { column, content: Err(_), .. }) => Some(column),
        _ => None,
    })
}

/// The terms whose sum is the number of bytes of a plan's requests.
pub(in crate::render) struct PlanTally<'a> {
    bound: Vec<BoundProgram<'a>>,
    /// The number of bytes by the number of their origin.
    pub(in crate::render) literals: Vec<(usize, u64)>,
    pub(in crate::render) fields: Vec<(&'a TextColumn, usize)>,
    /// The fragments, each with the number of its slot.
    pub(in crate::render) fragments: Vec<(FragmentRef, usize)>,
    /// Pieces that a newline precedes unless they are empty.
    pub(in crate::render) lines: Vec<OpenLine<'a>>,
    /// Fragments that may name the speaker of the text around them.
    pub(in crate::render) speakers: Vec<FragmentRef>,
    pub(in crate::render) newline: usize,
    /// The messages of columns: the index of the column, the number of the message in its row if there is a number, and
    /// the origin.
    messages: Vec<(usize, Option<u32>, usize)>,
    /// The numbers of the media in the request.
    media: Vec<usize>,
}

#[derive(Default)]
pub(in crate::render) struct OpenLine<'a> {
    fields: Vec<&'a TextColumn>,
    fragments: Vec<FragmentRef>,
}

impl Requests<'_> {
    /// Return the number of requests.
    pub(in crate::render) fn count(&self) -> usize {
        self.plans.each.as_ref().map_or(self.values.rows * self.plans.labels, Vec::len)
    }

    /// Return the tally of each plan. The columns that the plans show are checked in parallel before.
    pub(in crate::render) fn tallies<'s>(&'s self, numbers: &mut Numbers) -> Result<Vec<PlanTally<'s>>> {
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
            messages: Vec::new(),
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
                Step::Fragment(reference, number) => out.fragments.push((*reference, *number)),
                Step::Line(open, _) => {
                    let mut line = OpenLine::default();
                    for step in &steps[n + 1..=n + open] {
                        match step {
                            Step::Field(texts, _) => line.fields.push(*texts),
                            Step::Fragment(reference, _) => line.fragments.push(*reference),
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
            if let Some(index) = self.messages.iter().position(|(name, _)| name == column) {
                let origin = Origin { source: Source::Field, column: Some(column.clone()), ..Origin::default() };
                out.messages.push((index, number, numbers.origins.of(origin)));
            }
        }
        Ok(out)
    }

    /// Return the numbers of the media in a request.
    fn media_of(&self, request: &Request) -> Vec<usize> {
        let Some(parts) = &self.media else { return Vec::new() };
        let media = |slot: &Slot| if let Slot::Parts(media) = slot { Some(parts.number(media)) } else { None };
        match request {
            Request::Text(_) => Vec::new(),
            Request::Parts(all) => all.iter().map(|media| parts.number(media)).collect(),
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
    pub(in crate::render) fn message_bytes(&self, tally: &PlanTally, row: usize, mut each: impl FnMut(usize, u64)) {
        for (column, number, origin) in &tally.messages {
            each(*origin, self.messages[*column].1.message_length(row, *number).0 as u64);
        }
    }

    /// Add the bytes of a request's media.
    pub(in crate::render) fn add_media(&self, tally: &PlanTally, row: usize, totals: &mut OriginTotals) -> Result<()> {
        let Some(media) = self.media.as_ref().filter(|_| !tally.media.is_empty()) else { return Ok(()) };
        for number in &tally.media {
            for (text, origin) in media.traced(row, *number, self.values)?.into_iter().flatten() {
                *totals.entry(origin).or_default() += text.len() as u64;
            }
        }
        Ok(())
    }

    /// Return true if a line writes anything in a row, so that a newline precedes it.
    pub(in crate::render) fn writes(&self, line: &OpenLine, row: usize, row_fragments: &[u32]) -> bool {
        line.fields.iter().any(|texts| texts.length(row) > 0)
            || line.fragments.iter().any(|reference| !self.fragments.bytes(*reference, row_fragments).is_empty())
    }

    /// Return true if a request is more than a copy of its plan's pieces.
    pub(in crate::render) fn needs_substitution(&self, tally: &PlanTally, row: usize, row_fragments: &[u32]) -> bool {
        tally.bound.iter().any(|program| program.needs_substitution(row, row_fragments, self.fragments))
    }

    /// Add the bytes of a request by tracing it, with its fragments in place.
    pub(in crate::render) fn trace(
        &self,
        request: &Request,
        row: usize,
        row_fragments: &[u32],
        totals: &mut OriginTotals,
    ) -> Result<()> {
        let texts: Vec<&[Piece]> = match request {
            Request::Text(pieces) => vec![pieces],
            Request::List(messages) => messages.iter().filter_map(Message::text).collect(),
            Request::Parts(_) => Vec::new(),
        };
        for pieces in texts {
            let filled =
                pieces.iter().map(|piece| self.traces.filled(piece, row_fragments)).collect::<Result<Vec<_>>>()?;
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
        match self.literals.iter_mut().find(|(number, _)| *number == origin) {
            Some((_, so_far)) => *so_far += bytes as u64,
            None => self.literals.push((origin, bytes as u64)),
        }
    }
}

/// Return the bytes of a request's messages that are the same for every sample and no text of a template.
fn constants(request: &Request) -> Vec<(Origin, usize)> {
    let Request::List(messages) = request else { return Vec::new() };
    let mut out = Vec::new();
    for message in messages {
        let Message::Dict(keys) = message else { continue };
        let role = message.role().and_then(Value::as_text).cloned();
        for (key, slot) in keys {
            if let (Slot::Const(value), Some(_)) = (slot, text_location(key)) {
                out.push((Origin { role: role.clone(), ..Origin::default() }, text_length(value).0));
            }
        }
    }
    out
}
