//! The steps of a plan's programs that decide the spans of its requests; each step has the origin of its bytes.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::plan::{Columns, Plan, Program, Seg};
use crate::python_text::TextColumn;
use crate::render::rendered::Rows;
use crate::render::rows::BoundProgram;
use crate::render::traces::{
    NO_PART, OriginCodes, OriginNumbers, PartTrace, Span, SpanBlock, SpanRun, Stretches, TextPosition, constant_parts,
};
use crate::role::{Element, Join, Message, Piece, Request, Slot};
use crate::template::{Atom, FragmentRef, FragmentSet, Origin, Source};

/// A step that decides a span of a copied request; steps are in the order of the bytes.
pub(in crate::render) enum Step<'a> {
    /// The beginning of a text.
    Text(TextPosition),
    Literal(usize, u32),
    Field(&'a TextColumn, u32),
    /// A fragment, and the number of its slot.
    Fragment(FragmentRef, usize),
    /// A newline if any of the next steps (that many) writes anything.
    Line(usize, u32),
}

/// The method that finds the spans of a plan's requests.
pub(in crate::render) enum PlanSpans<'a> {
    Copied {
        steps: Vec<Step<'a>>,
        /// The programs, which tell the rows for which copying isn't enough; empty if there is no such row.
        bound: Vec<BoundProgram<'a>>,
        /// Fragments that may name the speaker of the text around them.
        speakers: Vec<FragmentRef>,
        /// The texts of the requests, for tracing.
        texts: Vec<(TextPosition, &'a [Piece])>,
        /// The spans that all requests without empty fields have, if each of these requests has the same number of
        /// spans.
        usual: Option<Usual<'a>>,
    },
    /// The spans are found as `explain` finds them, because the text of a request depends on the messages of a column.
    Explained,
}

impl PlanSpans<'_> {
    /// Return the usual spans, if the plan has them.
    pub(in crate::render) fn usual(&self) -> Option<&Usual<'_>> {
        match self {
            Self::Copied { usual, .. } => usual.as_ref(),
            Self::Explained => None,
        }
    }

    /// Return the usual spans as a block.
    pub(in crate::render) fn block(&self, codes: &OriginCodes) -> Option<SpanBlock<'_>> {
        self.usual().map(|usual| SpanBlock::new(&usual.spans, &usual.runs, codes))
    }
}

/// A slot of fragments: the set, the slot's number, and the speaker there.
pub(in crate::render) type FragmentSlot = (FragmentSet, u32, Option<Arc<str>>);

#[derive(Default)]
pub(in crate::render) struct Numbers {
    pub(in crate::render) origins: OriginNumbers,
    pub(in crate::render) fragment_slots: Vec<FragmentSlot>,
}

impl Numbers {
    fn origin(&mut self, origin: Origin) -> u32 {
        self.origins.of(origin) as u32
    }

    fn fragment_slot(&mut self, slot: FragmentSlot) -> usize {
        self.fragment_slots.iter().position(|other| *other == slot).unwrap_or_else(|| {
            self.fragment_slots.push(slot);
            self.fragment_slots.len() - 1
        })
    }
}

/// Spans that consist of literals and fields only.
pub(in crate::render) struct Usual<'a> {
    /// The spans, as if fields had no bytes.
    pub(in crate::render) spans: Vec<Span>,
    pub(in crate::render) runs: Vec<SpanRun>,
    pub(in crate::render) fields: Vec<&'a TextColumn>,
}

impl<'a> Usual<'a> {
    /// Return the usual spans of a request; None if its spans depend on more than the lengths of its fields, or if two
    /// fields are in the same span.
    fn new(steps: &[Step<'a>]) -> Option<Self> {
        let mut out = Self { spans: Vec::new(), runs: Vec::new(), fields: Vec::new() };
        let mut text = (0, NO_PART);
        let (mut is_first, mut position) = (true, 0);
        for step in steps {
            let (bytes, field, origin) = match step {
                Step::Text(text_position) => {
                    (text, is_first, position) = (*text_position, true, 0);
                    continue;
                }
                Step::Literal(bytes, origin) => (*bytes as i64, None, *origin),
                Step::Field(texts, origin) => (0, Some(*texts), *origin),
                Step::Fragment(..) | Step::Line(..) => return None,
            };
            let field = field.map(|texts| {
                out.fields.push(texts);
                out.fields.len() - 1
            });
            let number = out.spans.len();
            let end = position + bytes;
            match out.spans.last_mut() {
                Some(last) if !is_first && last.origin == origin => {
                    last.end = end;
                    if field.is_some() {
                        out.run_of_field(number - 1, field)?;
                    }
                }
                _ => {
                    out.spans.push(Span { start: position, end, origin, text });
                    match out.runs.last_mut() {
                        // What fields don't move is one run, over the ends of texts too.
                        Some(run) if field.is_none() && (!is_first || run.is_constant()) => run.spans.end = number + 1,
                        _ => out.runs.push(SpanRun { spans: number..number + 1, field, opens_text: is_first }),
                    }
                }
            }
            (is_first, position) = (false, end);
        }
        Some(out)
    }

    /// Let a run begin at the last span because of a field in it; return None if the span has a field.
    fn run_of_field(&mut self, span: usize, field: Option<usize>) -> Option<()> {
        let run = self.runs.last_mut()?;
        if run.spans.start < span {
            run.spans.end = span;
            self.runs.push(SpanRun { spans: span..span + 1, field, opens_text: false });
            return Some(());
        }
        run.field.is_none().then(|| run.field = field)
    }

    /// Return true if a row's spans are these: a field without bytes has none.
    #[inline]
    pub(in crate::render) fn holds(&self, row: usize) -> bool {
        self.fields.iter().all(|texts| texts.length(row) > 0)
    }

    /// Say of each row whether its spans are these.
    pub(in crate::render) fn rows(&self, rows: Range<usize>) -> Vec<bool> {
        let mut out = vec![true; rows.len()];
        for texts in &self.fields {
            let mut row = 0;
            texts.each_length(rows.clone(), |length| {
                out[row] &= length > 0;
                row += 1;
            });
        }
        out
    }

    /// Put the lengths of the first field in the rows of some requests into `out`, then those of the next; a row has
    /// `labels` requests.
    pub(in crate::render) fn lengths(&self, requests: Range<usize>, labels: usize, out: &mut Vec<i64>) {
        out.clear();
        for texts in &self.fields {
            match labels {
                0 | 1 => texts.each_length(requests.clone(), |length| out.push(length as i64)),
                _ => out.extend(requests.clone().map(|request| texts.length(request / labels) as i64)),
            }
        }
    }
}

/// Add the stretches of a request that is a copy.
#[inline]
pub(in crate::render) fn copied<'t>(
    steps: &[Step],
    row: usize,
    rows: &Rows,
    slot_origins: &[Vec<u32>],
    part: &impl Fn(&FragmentRef) -> Result<&'t PartTrace>,
    out: &mut Stretches<impl FnMut(Span)>,
) -> Result<()> {
    for (n, step) in steps.iter().enumerate() {
        match step {
            Step::Text(text_position) => out.text(*text_position),
            Step::Literal(bytes, origin) => out.add(*bytes, *origin),
            Step::Field(texts, origin) => out.add(texts.length(row), *origin),
            Step::Fragment(fragment, number) => {
                for (bytes, origin) in &part(fragment)?.spans {
                    out.add(*bytes, slot_origins[*number][*origin]);
                }
            }
            Step::Line(open, origin) => {
                let writes = |step: &Step| match step {
                    Step::Field(texts, _) => texts.length(row) > 0,
                    Step::Fragment(fragment, _) => {
                        !rows.fragments.bytes(*fragment, rows.row_fragments.of(row)).is_empty()
                    }
                    _ => false,
                };
                out.add(usize::from(steps[n + 1..].iter().take(*open).any(writes)), *origin);
            }
        }
    }
    out.end();
    Ok(())
}

/// Choose the method that finds the spans of a plan's requests.
pub(in crate::render) fn plan_spans<'a>(
    plan: &'a Plan,
    columns: &Columns,
    lookup: &dyn Fn(usize) -> Result<&'a TextColumn>,
    in_parts: bool,
    numbers: &mut Numbers,
) -> Result<PlanSpans<'a>> {
    let part = if in_parts { 0 } else { NO_PART };
    let mut texts: Vec<(TextPosition, &[Piece])> = Vec::new();
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
    for ((text_position, _), program) in texts.iter().zip(&plan.programs) {
        steps.push(Step::Text(*text_position));
        text_steps(program, columns, lookup, &mut steps, &mut speakers, numbers)?;
    }
    let usual = Usual::new(&steps);
    Ok(PlanSpans::Copied { steps, bound: Vec::new(), speakers, texts, usual })
}

/// Return true if a message holds parts.
fn holds_parts(message: &Message) -> bool {
    let Message::Dict(keys) = message else { return false };
    constant_parts(message).is_some() || keys.iter().any(|(_, slot)| matches!(slot, Slot::Parts(_)))
}

/// Add the steps of one text.
pub(in crate::render) fn text_steps<'a>(
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
                    Atom::Fragment(fragment) => speakers.push(*fragment),
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
                Seg::Field(column, source) => {
                    let column_name = Some(columns.names[*column].clone());
                    let role = speaker.cloned();
                    let origin = Origin { source: *source, column: column_name, example: None, role };
                    steps.push(Step::Field(lookup(*column)?, numbers.origin(origin)));
                }
                Seg::Fragment(fragment) => {
                    let number = numbers.fragment_slot((fragment.set, fragment.slot, speaker.cloned()));
                    steps.push(Step::Fragment(*fragment, number));
                }
            }
        }
    }
    Ok(())
}
