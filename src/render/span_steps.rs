//! What the spans of a plan's requests follow from: the steps of its programs, each of which knows where its bytes come
//! from.

use std::sync::Arc;

use super::fragment_traces::{OriginNumbers, PartTrace};
use super::outcomes::Rows;
use super::rows::BoundProgram;
use super::span_arrays::{NO_PART, Span, SpanSlots, Stretches, TextPlace};
use super::traced_request::constant_parts;
use crate::error::Result;
use crate::plan::{Columns, Plan, Program, Seg};
use crate::pytext::TextColumn;
use crate::role::{Element, Join, Message, Piece, Request, Slot};
use crate::template::{Atom, FragmentRef, FragmentSet, Origin, Source};

/// What a copied request's spans follow from, in the order of its bytes.
pub(super) enum Step<'a> {
    /// A text begins.
    Text(TextPlace),
    Literal(usize, u32),
    Field(&'a TextColumn, u32),
    /// A fragment, and the number of its place.
    Fragment(FragmentRef, usize),
    /// A newline where any of the next steps (that many) writes anything.
    Line(usize, u32),
}

/// How the spans of a plan's requests are found.
pub(super) enum PlanSpans<'a> {
    Copied {
        steps: Vec<Step<'a>>,
        /// Programs that say which rows need more than copying; none where no row does.
        bound: Vec<BoundProgram<'a>>,
        /// Fragments that say who speaks what stands beside them, if they say who speaks.
        speakers: Vec<FragmentRef>,
        /// Its texts, to trace.
        texts: Vec<(TextPlace, &'a [Piece])>,
        /// What all requests look like whose fields aren't empty, where their spans are as many.
        usual: Option<Usual<'a>>,
    },
    /// As `explain` does it: what a request says goes by what a column brings.
    Explained,
}

/// A place of fragments: which set and slot, and who speaks there.
pub(super) type Place = (FragmentSet, u32, Option<Arc<str>>);

#[derive(Default)]
pub(super) struct Numbers {
    pub(super) origins: OriginNumbers,
    pub(super) places: Vec<Place>,
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

/// Spans of literals and fields alone.
pub(super) struct Usual<'a> {
    pub(super) spans: Vec<UsualSpan<'a>>,
    fields: Vec<&'a TextColumn>,
}

pub(super) struct UsualSpan<'a> {
    /// Whether its text begins with it.
    is_first: bool,
    literals: i64,
    field: Option<&'a TextColumn>,
    origin: u32,
    text: TextPlace,
}

impl<'a> Usual<'a> {
    /// None where a request's spans go by more than the lengths of its fields, or two fields are one span.
    fn new(steps: &[Step<'a>]) -> Option<Self> {
        let mut out = Self { spans: Vec::new(), fields: Vec::new() };
        let mut text = (0, NO_PART);
        let mut is_first = true;
        for step in steps {
            let (bytes, field, origin) = match step {
                Step::Text(place) => {
                    (text, is_first) = (*place, true);
                    continue;
                }
                Step::Literal(bytes, origin) => (*bytes as i64, None, *origin),
                Step::Field(texts, origin) => (0, Some(*texts), *origin),
                Step::Fragment(..) | Step::Line(..) => return None,
            };
            out.fields.extend(field);
            match out.spans.last_mut() {
                Some(last) if !is_first && last.origin == origin => {
                    last.literals += bytes;
                    if field.is_some() && last.field.is_some() {
                        return None;
                    }
                    last.field = last.field.or(field);
                }
                _ => out.spans.push(UsualSpan { is_first, literals: bytes, field, origin, text }),
            }
            is_first = false;
        }
        Some(out)
    }

    /// Whether a row's spans are these: a field without bytes has none.
    #[inline]
    pub(super) fn holds(&self, row: usize) -> bool {
        self.fields.iter().all(|texts| texts.length(row) > 0)
    }

    #[inline]
    pub(super) fn write(&self, row: usize, slots: &mut SpanSlots) {
        let mut at = 0;
        for span in &self.spans {
            let start = if span.is_first { 0 } else { at };
            at = start + span.literals + span.field.map_or(0, |texts| texts.length(row) as i64);
            slots.write(Span { start, end: at, origin: span.origin, text: span.text });
        }
    }
}

/// Add the stretches of a request that is a copy.
#[inline]
pub(super) fn copied<'t>(
    steps: &[Step],
    row: usize,
    rows: &Rows,
    placed: &[Vec<u32>],
    part: &impl Fn(&FragmentRef) -> Result<&'t PartTrace>,
    out: &mut Stretches<impl FnMut(Span)>,
) -> Result<()> {
    for (n, step) in steps.iter().enumerate() {
        match step {
            Step::Text(place) => out.text(*place),
            Step::Literal(bytes, origin) => out.add(*bytes, *origin),
            Step::Field(texts, origin) => out.add(texts.length(row), *origin),
            Step::Fragment(place, number) => {
                for (bytes, origin) in &part(place)?.spans {
                    out.add(*bytes, placed[*number][*origin]);
                }
            }
            Step::Line(open, origin) => {
                let writes = |step: &Step| match step {
                    Step::Field(texts, _) => texts.length(row) > 0,
                    Step::Fragment(place, _) => !rows.fragments.bytes(*place, rows.shown.of(row)).is_empty(),
                    _ => false,
                };
                out.add(usize::from(steps[n + 1..].iter().take(*open).any(writes)), *origin);
            }
        }
    }
    out.end();
    Ok(())
}

/// How the spans of a plan's requests are found.
pub(super) fn plan_spans<'a>(
    plan: &'a Plan,
    columns: &Columns,
    lookup: &dyn Fn(usize) -> Result<&'a TextColumn>,
    in_parts: bool,
    numbers: &mut Numbers,
) -> Result<PlanSpans<'a>> {
    let part = if in_parts { 0 } else { NO_PART };
    let mut texts: Vec<(TextPlace, &[Piece])> = Vec::new();
    match &plan.request {
        Request::Text(pieces) => texts.push(((0, part), pieces)),
        Request::Parts(_) => return Ok(PlanSpans::Explained),
        Request::List(messages) => {
            for (number, message) in messages.iter().enumerate() {
                match message {
                    Message::Expand { .. } | Message::Element(Element { content: Err(_), .. }) => {
                        return Ok(PlanSpans::Explained);
                    }
                    Message::Dict(_) if holds_parts(message) => return Ok(PlanSpans::Explained),
                    _ => texts.push(((number as i32, part), message.text().unwrap_or_default())),
                }
            }
        }
    }
    let (mut steps, mut speakers) = (Vec::new(), Vec::new());
    for ((place, _), program) in texts.iter().zip(&plan.programs) {
        steps.push(Step::Text(*place));
        text_steps(program, columns, lookup, &mut steps, &mut speakers, numbers)?;
    }
    let usual = Usual::new(&steps);
    Ok(PlanSpans::Copied { steps, bound: Vec::new(), speakers, texts, usual })
}

/// Whether a message holds parts.
fn holds_parts(message: &Message) -> bool {
    let Message::Dict(keys) = message else { return false };
    constant_parts(message).is_some() || keys.iter().any(|(_, slot)| matches!(slot, Slot::Parts(_)))
}

/// Add the steps of one text.
pub(super) fn text_steps<'a>(
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
