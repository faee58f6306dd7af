//! The row loop: measure every text, take one buffer of exactly that size, write every text into its place.
//!
//! Both passes run over chunks of requests on all threads; the second writes into slices that don't overlap, so it
//! needs no lock. A text that copying can't render (see [`crate::plan`]'s segments) is rendered while measuring and kept until
//! it is written.

use std::ops::Range;

use rayon::prelude::*;

use super::batch::Batch;
use super::examples::Parts;
use super::fill;
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
    pub bytes: Vec<u8>,
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
    hazards: Vec<&'a [bool]>,
    guards: Vec<(&'a TextColumn, &'a [Box<[u8]>])>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Lit(&'a [u8]),
    Field(&'a TextColumn),
    Example(u32, u32),
    LineIf(usize),
}

impl<'a> Bound<'a> {
    fn new(program: &'a Program, batch: &'a Batch) -> Result<Self> {
        let mut hazards = Vec::new();
        for column in &program.scanned {
            hazards.extend(batch.hazards(*column)?);
        }
        let ops = program
            .ops
            .iter()
            .map(|op| {
                Ok(match *op {
                    Op::Lit(start, end) => Step::Lit(&program.literals[start..end]),
                    Op::Field(column) => Step::Field(batch.texts(column)?),
                    Op::Example(slot, part) => Step::Example(slot, part),
                    Op::LineIf(steps) => Step::LineIf(steps),
                })
            })
            .collect::<Result<_>>()?;
        let guards = program
            .guards
            .iter()
            .map(|(column, rests)| Ok((batch.texts(*column)?, &rests[..])))
            .collect::<Result<_>>()?;
        Ok(Self { program, ops, hazards, guards })
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

    #[inline]
    fn piece<'b>(step: &Step<'b>, row: usize, shots: &[u32], parts: &'b Parts) -> &'b [u8] {
        match step {
            Step::Lit(bytes) => bytes,
            Step::Field(texts) => texts.bytes(row),
            Step::Example(slot, part) => parts.bytes(shots[*slot as usize], *part),
            Step::LineIf(_) => b"\n",
        }
    }

    /// Whether every row is a plain copy of literals and fields, so that lengths can be added up column by column.
    fn is_plain(&self) -> bool {
        !self.program.always
            && self.hazards.is_empty()
            && self.guards.is_empty()
            && self.ops.iter().all(|step| matches!(step, Step::Lit(_) | Step::Field(_)))
    }

    /// The lengths of a plain program's texts in `rows`.
    fn lengths(&self, rows: Range<usize>) -> Vec<usize> {
        let literals = self.ops.iter().map(|step| if let Step::Lit(bytes) = step { bytes.len() } else { 0 }).sum();
        let mut lengths = vec![literals; rows.len()];
        for step in &self.ops {
            if let Step::Field(texts) = step {
                texts.add_lengths(rows.clone(), &mut lengths);
            }
        }
        lengths
    }

    fn each<'b>(&'b self, row: usize, shots: &'b [u32], parts: &'b Parts, mut write: impl FnMut(&'b [u8])) {
        for (n, step) in self.ops.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.ops[n + 1..=n + steps].iter().all(|s| Self::piece(s, row, shots, parts).is_empty())
            {
                continue;
            }
            write(Self::piece(step, row, shots, parts));
        }
    }
}

/// The rows in which some text of these requests has to be filled column by column.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn hard_rows<'r>(batch: &Batch, requests: impl Iterator<Item = &'r Request>) -> Result<Vec<usize>> {
    let plans: Vec<Plan> = requests.map(|request| Plan::new(request.clone(), batch.columns)).collect();
    let programs: Vec<Bound> =
        plans.iter().flat_map(|plan| &plan.programs).map(|p| Bound::new(p, batch)).collect::<Result<_>>()?;
    let none = Parts::default();
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
    let bound: Vec<Vec<Bound>> = plans
        .all
        .iter()
        .map(|plan| plan.programs.iter().map(|program| Bound::new(program, batch)).collect())
        .collect::<Result<_>>()?;
    let labels = plans.labels;
    let requests = rows.start * labels..rows.end * labels;
    let single = plans.each.is_none() && labels == 1 && bound.len() == 1 && bound[0].len() == 1;
    let plain = single.then(|| &bound[0][0]).filter(|program| program.is_plain());
    let measure = |chunk: Range<usize>| -> Result<Measured> {
        if let Some(program) = plain {
            return Ok(Measured { lengths: program.lengths(chunk.clone()), requests: chunk, hard: Vec::new() });
        }
        batch.host.check()?;
        let mut lengths = Vec::with_capacity(chunk.len());
        let mut hard = Vec::new();
        for request in chunk.clone() {
            let row = request / labels;
            let shots = shots.of(row);
            for one in &bound[plans.of(request)] {
                if one.is_hard(row, shots, parts) {
                    let text = fill::program(one.program, batch, row, shots, parts)?;
                    lengths.push(text.len());
                    hard.push((lengths.len() - 1, text));
                } else {
                    let mut length = 0;
                    one.each(row, shots, parts, |piece| length += piece.len());
                    lengths.push(length);
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
    // Zeroed memory comes from the system untouched: the pages are first written by the threads that fill them.
    let mut bytes = vec![0_u8; total];
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
        let mut hard = chunk.hard.iter().peekable();
        for request in chunk.requests.clone() {
            let row = request / labels;
            let shots = shots.of(row);
            for one in &bound[plans.of(request)] {
                if let Some((_, text)) = hard.next_if(|(n, _)| *n == number) {
                    own[at..at + text.len()].copy_from_slice(text);
                    at += text.len();
                } else {
                    one.each(row, shots, parts, |piece| {
                        own[at..at + piece.len()].copy_from_slice(piece);
                        at += piece.len();
                    });
                }
                number += 1;
            }
        }
    });
    Ok(Some(Texts { offsets, bytes }))
}
