//! Where each byte of every request comes from: what `explain` says of one, for all requests of a batch.
//!
//! Nearly every request is a copy, and the program that copies it knows where each piece comes from: a span is a piece,
//! as long as what was copied. Fragments are traced once, whichever requests show them. Requests in which copying isn't
//! enough are traced as `explain` traces them, and so are those that show messages of columns, or media.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;

use super::bound::BoundConfig;
use super::explain::spans_of;
use super::fragment_traces::{OriginNumbers, placed};
use super::fragments::{LengthTables, Runs};
use super::input::is_list;
use super::outcomes::Rows;
use super::rows::BoundProgram;
use super::span_arrays::{NO_PART, SpanChunk, SpanType, Spans, span_array};
use super::substitution::InvolvedColumns;
use super::traced_request::{constant_parts, traced_pieces};
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Columns, Plan, Program, Seg};
use crate::pytext::TextColumn;
use crate::render::copying::TextSources;
use crate::role::{Element, Join, Message, Piece, Request};
use crate::template::{Atom, FragmentRef, FragmentSet, Origin, Source, Template};
use crate::threads;
use crate::value::Value;

/// Requests that one thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

/// What a copied request's spans follow from, in the order of its bytes.
enum Step<'a> {
    /// A text begins: of a message, and of a part of it.
    Text(i32, i32),
    Literal(usize, u32),
    Field(&'a TextColumn, u32),
    /// A fragment, and the number of its place.
    Fragment(FragmentRef, usize),
    /// A newline where any of the next steps (that many) writes anything.
    Line(usize, u32),
}

/// How the spans of a plan's requests are found.
enum PlanSpans<'a> {
    Copied {
        steps: Vec<Step<'a>>,
        /// Programs that say which rows need more than copying; none where no row does.
        bound: Vec<BoundProgram<'a>>,
        /// Fragments that say who speaks what stands beside them, if they say who speaks.
        speakers: Vec<FragmentRef>,
        /// Its texts, to trace: number of the message, and of its part.
        texts: Vec<(i32, i32, &'a [Piece])>,
    },
    /// As `explain` does it: what a request says goes by what a column brings.
    Explained,
}

/// A place of fragments: which set and slot, and who speaks there.
type Place = (FragmentSet, u32, Option<Arc<str>>);

#[derive(Default)]
struct Numbers {
    origins: OriginNumbers,
    places: Vec<Place>,
}

impl Numbers {
    fn origin(&mut self, origin: Origin) -> u32 {
        self.origins.of(origin) as u32
    }

    fn place(&mut self, place: Place) -> usize {
        self.places.iter().position(|known| *known == place).unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        })
    }
}

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

    /// The spans of the requests of some rows, which were rendered; `plain` says that all of them are known to be copies.
    ///
    /// # Errors
    ///
    /// `RenderError` as `explain`, and for more spans than one array can hold.
    pub(super) fn spans(
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
        let mut columns: Vec<usize> =
            plans.all.iter().flat_map(|p| &p.programs).flat_map(|p| p.fields.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let unread: HashMap<usize, TextColumn> = if plain {
            columns.iter().filter_map(|column| Some((*column, values.unread(*column)?))).collect()
        } else {
            HashMap::new()
        };
        let lookup = |column: usize| unread.get(&column).map_or_else(|| values.texts(column), Ok);
        let (tables, runs) = (LengthTables::new(rows.fragments, 0), Runs::default());
        let sources = TextSources { texts: &lookup, fragments: rows.fragments, runs: &runs };
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
        let chunk = |chunk: Range<usize>| -> Result<SpanChunk> {
            values.host.check()?;
            let each = found.iter().map(PlanSpans::len).max().unwrap_or(0);
            let mut out = SpanChunk::new(chunk.len(), each, of.messages)?;
            for request in chunk {
                let (row, plan) = (request / plans.labels.max(1), plans.of(request));
                let shown = rows.shown.of(row);
                let own = match &found[plan] {
                    PlanSpans::Explained => {
                        let label = labels.get(request % plans.labels.max(1)).and_then(Option::as_ref);
                        self.explained(rows, row, label, drawn.as_deref(), &number, &mut out)
                    }
                    PlanSpans::Copied { steps, bound, speakers, texts } => {
                        let part =
                            |place: &FragmentRef| traces.of(place.set).part(shown[place.slot as usize], place.part);
                        let names = |place: &FragmentRef| part(place).map(|part| part.names_speaker);
                        let fills = bound.iter().any(|one| one.needs_substitution(row, shown, rows.fragments));
                        let mut traced = fills;
                        for place in speakers {
                            traced = traced || names(place)?;
                        }
                        if traced {
                            texts.iter().try_for_each(|(message, part, pieces)| {
                                let pieces = pieces.iter().map(|piece| traces.filled(piece, shown));
                                let pieces = pieces.collect::<Result<Vec<_>>>()?;
                                out.text(*message, *part);
                                for (text, origin) in traced_pieces(&pieces, values, row, &mut InvolvedColumns::new())?
                                {
                                    out.add(text.len(), number(origin));
                                }
                                Ok(())
                            })
                        } else {
                            copied(steps, row, shown, rows, &placed, &part, &mut out)
                        }
                    }
                };
                own.map_err(|e| e.into_render().at_row(row))?;
                out.end();
            }
            Ok(out)
        };
        let chunks = threads::try_map(threads::chunks(requests, CHUNK_REQUESTS), chunk)?;
        let origins = origins.into_inner().unwrap_or_else(PoisonError::into_inner);
        span_array(&chunks, &origins.all, of)
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
        out: &mut SpanChunk,
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
        let mut text = None;
        for span in spans_of(&said) {
            let part = span.part.map_or(NO_PART, |part| part as i32);
            if text != Some((span.message, part)) {
                text = Some((span.message, part));
                out.text(span.message as i32, part);
            }
            out.add(span.end - span.start, number(span.origin));
        }
        Ok(())
    }
}

impl PlanSpans<'_> {
    /// How many spans a request usually has.
    fn len(&self) -> usize {
        match self {
            Self::Copied { steps, .. } => steps.len(),
            Self::Explained => 0,
        }
    }
}

/// Add the spans of a request that is a copy.
fn copied<'t>(
    steps: &[Step],
    row: usize,
    shown: &[u32],
    rows: &Rows,
    placed: &[Vec<u32>],
    part: &impl Fn(&FragmentRef) -> Result<&'t super::fragment_traces::PartTrace>,
    out: &mut SpanChunk,
) -> Result<()> {
    for (n, step) in steps.iter().enumerate() {
        match step {
            Step::Text(message, part) => out.text(*message, *part),
            Step::Literal(bytes, origin) => out.add(*bytes, *origin),
            Step::Field(texts, origin) => out.add(texts.length(row), *origin),
            Step::Fragment(place, number) => {
                for (bytes, origin) in &part(place)?.spans {
                    out.add(*bytes, placed[*number][*origin]);
                }
            }
            Step::Line(open, origin) => {
                let writes = steps[n + 1..].iter().take(*open).any(|step| match step {
                    Step::Field(texts, _) => texts.length(row) > 0,
                    Step::Fragment(place, _) => !rows.fragments.bytes(*place, shown).is_empty(),
                    _ => false,
                });
                out.add(usize::from(writes), *origin);
            }
        }
    }
    Ok(())
}

/// How the spans of a plan's requests are found.
fn plan_spans<'a>(
    plan: &'a Plan,
    columns: &Columns,
    lookup: &dyn Fn(usize) -> Result<&'a TextColumn>,
    in_parts: bool,
    numbers: &mut Numbers,
) -> Result<PlanSpans<'a>> {
    let (mut steps, mut speakers, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut programs = plan.programs.iter();
    let mut text = |message: i32, pieces: &'a [Piece], steps: &mut Vec<Step<'a>>, numbers: &mut Numbers| {
        let Some(program) = programs.next() else { return Ok(()) };
        let part = if in_parts { 0 } else { NO_PART };
        steps.push(Step::Text(message, part));
        texts.push((message, part, pieces));
        text_steps(program, columns, lookup, steps, &mut speakers, numbers)
    };
    match &plan.request {
        Request::Text(pieces) => text(0, pieces, &mut steps, numbers)?,
        Request::Parts(_) => return Ok(PlanSpans::Explained),
        Request::List(messages) => {
            for (number, message) in messages.iter().enumerate() {
                match message {
                    Message::Expand { .. } | Message::Element(Element { content: Err(_), .. }) => {
                        return Ok(PlanSpans::Explained);
                    }
                    Message::Dict(_) if is_explained(message) => return Ok(PlanSpans::Explained),
                    _ => text(number as i32, message.text().unwrap_or_default(), &mut steps, numbers)?,
                }
            }
        }
    }
    drop(text);
    Ok(PlanSpans::Copied { steps, bound: Vec::new(), speakers, texts })
}

/// Whether a message holds parts.
fn is_explained(message: &Message) -> bool {
    use crate::role::Slot;
    let Message::Dict(keys) = message else { return false };
    constant_parts(message).is_some() || keys.iter().any(|(_, slot)| matches!(slot, Slot::Parts(_)))
}

/// Add the steps of one text.
fn text_steps<'a>(
    program: &'a Program,
    columns: &Columns,
    lookup: &dyn Fn(usize) -> Result<&'a TextColumn>,
    steps: &mut Vec<Step<'a>>,
    speakers: &mut Vec<FragmentRef>,
    numbers: &mut Numbers,
) -> Result<()> {
    let newline = Origin { source: Source::Separator, ..Origin::default() };
    for unit in &program.units {
        if unit.segs.len() > 1 {
            for atom in unit.text.atoms.iter() {
                match atom {
                    Atom::Lit(_, origin) if origin.role.is_some() => break,
                    Atom::Fragment(place) => speakers.push(*place),
                    _ => {}
                }
            }
        }
        let speaker = unit.text.speaker();
        if unit.join == Join::Line {
            let certain = unit.segs.iter().any(|seg| matches!(seg, Seg::Lit(text, _) if !text.is_empty()));
            let open = unit.segs.iter().filter(|seg| !matches!(seg, Seg::Lit(..))).count();
            match (certain, open) {
                (true, _) => steps.push(Step::Literal(1, numbers.origin(newline.clone()))),
                (false, 0) => {}
                (false, open) => steps.push(Step::Line(open, numbers.origin(newline.clone()))),
            }
        }
        for seg in &unit.segs {
            match seg {
                Seg::Lit(text, _) if text.is_empty() => {}
                Seg::Lit(text, origin) => {
                    let role = origin.role.clone().or_else(|| speaker.cloned());
                    steps.push(Step::Literal(text.len(), numbers.origin(Origin { role, ..origin.clone() })));
                }
                Seg::Field(column) => {
                    let column_name = Some(columns.names[*column].clone());
                    let role = speaker.cloned();
                    let origin = Origin { source: Source::Field, column: column_name, example: None, role };
                    steps.push(Step::Field(lookup(*column)?, numbers.origin(origin)));
                }
                Seg::Fragment(place) => {
                    let number = numbers.place((place.set, place.slot, speaker.cloned()));
                    steps.push(Step::Fragment(*place, number));
                }
            }
        }
    }
    Ok(())
}
