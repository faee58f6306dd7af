//! The row loop: measure every text, take one buffer of exactly that size, write every text into its place.
//!
//! Both passes run over chunks of requests on all threads; the second writes into slices that don't overlap, so it
//! needs no lock. A text that copying can't render (see [`crate::plan`]'s segments) is rendered while measuring and kept until
//! it is written.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::batch::Batch;
use super::copy::{Step, put};
use super::examples::Parts;
use super::fill;
use super::pages::Bytes;
use super::planner::{Plan, Plans};
use crate::error::Result;
use crate::plan::{Op, Program};
use crate::pytext::TextColumn;
use crate::role::Request;

/// The texts of some requests, one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    /// Where each text starts; one more than there are texts.
    pub offsets: Vec<usize>,
    /// All texts.
    pub bytes: Bytes,
}

/// The examples of each row.
#[derive(Debug, Default)]
pub struct Shots {
    /// Where each row's examples start in `examples`; empty if no row has any that is not part of the plan.
    pub offsets: Vec<usize>,
    /// Places among the examples.
    pub examples: Vec<u32>,
}

impl Shots {
    /// The examples of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        match self.offsets.get(row..row + 2) {
            Some(bounds) => &self.examples[bounds[0]..bounds[1]],
            None => &[],
        }
    }
}

/// A program with everything that it reads at hand.
struct Bound<'a> {
    program: &'a Program,
    ops: Vec<Step<'a>>,
    texts: HashMap<usize, &'a TextColumn>,
    hazards: Vec<&'a [bool]>,
    guards: Vec<(&'a TextColumn, &'a [Box<[u8]>])>,
    /// Whether no row of this batch has to be looked at.
    never_hard: bool,
}

impl<'a> Bound<'a> {
    fn new(program: &'a Program, batch: &'a Batch, parts: &'a Parts) -> Result<Self> {
        let mut hazards = Vec::new();
        for column in &program.scanned {
            hazards.extend(batch.hazards(*column)?);
        }
        let mut texts = HashMap::new();
        for column in &program.fields {
            texts.insert(*column, batch.texts(*column)?);
        }
        let ops = program
            .ops
            .iter()
            .map(|op| {
                Ok(match *op {
                    Op::Lit(start, end) => Step::Lit(&program.literals, start, end),
                    Op::Field(column) => Step::column(batch.texts(column)?),
                    Op::Example(slot, part) => Step::example(slot, part, parts),
                    Op::LineIf(steps) => Step::LineIf(steps),
                })
            })
            .collect::<Result<_>>()?;
        let guards: Vec<_> = program
            .guards
            .iter()
            .map(|(column, rests)| Ok((batch.texts(*column)?, &rests[..])))
            .collect::<Result<_>>()?;
        let never_hard = !program.always && hazards.is_empty() && guards.is_empty() && program.examples.is_empty();
        Ok(Self { program, ops, texts, hazards, guards, never_hard })
    }

    /// Whether a row has to be filled column by column.
    #[inline]
    fn is_hard(&self, row: usize, shots: &[u32], parts: &Parts) -> bool {
        self.program.always
            || self.hazards.iter().any(|flags| flags[row])
            || self.guards.iter().any(|(texts, rests)| {
                let value = texts.bytes(row);
                rests.iter().any(|rest| value.starts_with(rest) || rest.starts_with(value))
            })
            || self.program.examples.iter().any(|(slot, part)| parts.is_dirty(shots[*slot as usize], *part))
    }

    /// Whether every row is a plain copy of literals and fields, so that lengths can be added up column by column.
    fn is_plain(&self) -> bool {
        !self.program.always
            && self.hazards.is_empty()
            && self.guards.is_empty()
            && self
                .ops
                .iter()
                .all(|step| matches!(step, Step::Lit(..) | Step::Narrow(..) | Step::Wide(..) | Step::Field(_)))
    }

    /// Add the lengths of a plain program's texts in `rows` to `lengths`.
    fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        let literals: usize =
            self.ops.iter().map(|s| if let Step::Lit(_, start, end) = s { end - start } else { 0 }).sum();
        for length in lengths.iter_mut() {
            *length += literals;
        }
        for column in
            self.program.ops.iter().filter_map(|op| if let Op::Field(column) = op { Some(*column) } else { None })
        {
            if let Some(texts) = self.texts.get(&column) {
                texts.add_lengths(rows.clone(), lengths);
            }
        }
    }

    /// Write a row's text to `own[at..]`; returns where the next one goes.
    #[inline]
    fn write(&self, own: &mut [u8], mut at: usize, row: usize, shots: &[u32], parts: &Parts) -> usize {
        for (n, step) in self.ops.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, shots, parts)
            {
                continue;
            }
            let (from, start, end) = step.place(row, shots, parts);
            at = put(own, at, from, start, end);
        }
        at
    }

    /// The length of a row's text.
    fn length(&self, row: usize, shots: &[u32], parts: &Parts) -> usize {
        let mut length = 0;
        for (n, step) in self.ops.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, shots, parts)
            {
                continue;
            }
            let (_, start, end) = step.place(row, shots, parts);
            length += end - start;
        }
        length
    }

    #[cold]
    fn all_empty(&self, first: usize, steps: usize, row: usize, shots: &[u32], parts: &Parts) -> bool {
        self.ops[first..first + steps].iter().all(|step| {
            let (_, start, end) = step.place(row, shots, parts);
            start == end
        })
    }
}

/// The rows in which some text of these requests has to be filled column by column.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn hard_rows<'r>(batch: &Batch, requests: impl Iterator<Item = &'r Request>) -> Result<Vec<usize>> {
    let plans: Vec<Plan> = requests.map(|request| Plan::new(request.clone(), batch.columns)).collect();
    let none = Parts::default();
    let programs: Vec<Bound> =
        plans.iter().flat_map(|plan| &plan.programs).map(|p| Bound::new(p, batch, &none)).collect::<Result<_>>()?;
    Ok((0..batch.rows).into_par_iter().filter(|row| programs.iter().any(|p| p.is_hard(*row, &[], &none))).collect())
}

/// What one chunk of requests measures.
struct Measured {
    requests: Range<usize>,
    lengths: Vec<usize>,
    /// Texts rendered already, by their number in the chunk, ascending.
    hard: Vec<(usize, Vec<u8>)>,
}

/// Requests that one thread takes at a time: enough to forget the cost of taking them, few enough to share.
const CHUNK: usize = 1024;

/// Render the texts of the requests of rows `rows`, or nothing if they pass `limit` bytes in all.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn texts(
    batch: &Batch,
    plans: &Plans,
    rows: Range<usize>,
    shots: &Shots,
    parts: &Parts,
    limit: usize,
) -> Result<Option<Texts>> {
    // Columns are checked and looked through side by side; what is wrong with one is said when it is bound.
    let mut columns: Vec<usize> = plans.all.iter().flat_map(|p| &p.programs).flat_map(|p| p.fields.clone()).collect();
    columns.sort_unstable();
    columns.dedup();
    let scanned = |column: &usize| plans.all.iter().flat_map(|p| &p.programs).any(|p| p.scanned.contains(column));
    columns.par_iter().for_each(|column| batch.prepare(*column, scanned(column)));
    let bound: Vec<Vec<Bound>> = plans
        .all
        .iter()
        .map(|plan| plan.programs.iter().map(|program| Bound::new(program, batch, parts)).collect())
        .collect::<Result<_>>()?;
    // Where every row is a plain copy of the same programs, nothing has to be decided row by row.
    let plain = plans.each.is_none() && bound.iter().flatten().all(Bound::is_plain);
    if plain {
        let programs: Vec<&Bound> = bound.iter().flatten().collect();
        return Ok(plain_texts(&programs, rows, limit));
    }
    let labels = plans.labels;
    let requests = rows.start * labels..rows.end * labels;
    let measure = |chunk: Range<usize>| -> Result<Measured> {
        batch.host.check()?;
        let mut lengths = Vec::with_capacity(chunk.len());
        let mut hard = Vec::new();
        for request in chunk.clone() {
            let row = request / labels;
            let shots = shots.of(row);
            for one in &bound[plans.of(request)] {
                if !one.never_hard && one.is_hard(row, shots, parts) {
                    let text = fill::program(one.program, batch, row, shots, parts)?;
                    lengths.push(text.len());
                    hard.push((lengths.len() - 1, text));
                } else {
                    lengths.push(one.length(row, shots, parts));
                }
            }
        }
        Ok(Measured { requests: chunk, lengths, hard })
    };
    let chunks: Vec<Range<usize>> =
        requests.clone().step_by(CHUNK).map(|start| start..(start + CHUNK).min(requests.end)).collect();
    let measured: Vec<Measured> = chunks.into_par_iter().map(measure).collect::<Result<_>>()?;

    let mut offsets = Vec::with_capacity(measured.iter().map(|m| m.lengths.len()).sum::<usize>() + 1);
    offsets.push(0);
    let mut total = 0_usize;
    for length in measured.iter().flat_map(|m| &m.lengths) {
        total += length;
        offsets.push(total);
    }
    if total > limit {
        return Ok(None);
    }
    let mut bytes = Bytes::new(total);
    let mut rest = &mut bytes[..];
    let mut slices = Vec::with_capacity(measured.len());
    for chunk in &measured {
        let (own, after) = rest.split_at_mut(chunk.lengths.iter().sum());
        slices.push((chunk, own));
        rest = after;
    }
    slices.into_par_iter().for_each(|(chunk, own)| {
        let mut at = 0;
        let mut number = 0;
        if chunk.hard.is_empty() {
            for request in chunk.requests.clone() {
                let row = request / labels;
                for one in &bound[plans.of(request)] {
                    at = one.write(own, at, row, shots.of(row), parts);
                }
            }
            return;
        }
        let mut hard = chunk.hard.iter().peekable();
        for request in chunk.requests.clone() {
            let row = request / labels;
            let shots = shots.of(row);
            for one in &bound[plans.of(request)] {
                at = match hard.next_if(|(n, _)| *n == number) {
                    Some((_, text)) => put(own, at, text, 0, text.len()),
                    None => one.write(own, at, row, shots, parts),
                };
                number += 1;
            }
        }
    });
    Ok(Some(Texts { offsets, bytes }))
}

/// The texts of rows that are plain copies: measured a column at a time, and written without looking at anything else.
fn plain_texts(programs: &[&Bound], rows: Range<usize>, limit: usize) -> Option<Texts> {
    let each = programs.len();
    let mut offsets = vec![0_usize; rows.len() * each + 1];
    let chunk = |n: usize| rows.start + n * CHUNK..(rows.start + (n + 1) * CHUNK).min(rows.end);
    offsets[1..].par_chunks_mut((CHUNK * each).max(1)).enumerate().for_each(|(n, own)| {
        if let [program] = programs {
            program.add_lengths(chunk(n), own);
            return;
        }
        let mut lengths = vec![0; chunk(n).len()];
        for (k, program) in programs.iter().enumerate() {
            lengths.fill(0);
            program.add_lengths(chunk(n), &mut lengths);
            for (row, length) in lengths.iter().enumerate() {
                own[row * each + k] = *length;
            }
        }
    });
    let mut total = 0;
    for offset in &mut offsets[1..] {
        total += *offset;
        *offset = total;
    }
    if total > limit {
        return None;
    }
    let mut bytes = Bytes::new(total);
    let mut rest = &mut bytes[..];
    let mut slices = Vec::with_capacity(rows.len() / CHUNK + 1);
    for n in 0..rows.len().div_ceil(CHUNK) {
        let rows = chunk(n);
        let bounds = |row: usize| offsets[(row - (chunk(0).start)) * each];
        let (own, after) = rest.split_at_mut(bounds(rows.end) - bounds(rows.start));
        slices.push((rows, own));
        rest = after;
    }
    let none = Parts::default();
    slices.into_par_iter().for_each(|(rows, own)| {
        let mut at = 0;
        for row in rows {
            for program in programs {
                at = program.write(own, at, row, &[], &none);
            }
        }
    });
    Some(Texts { offsets, bytes })
}
