//! Ops bound to the texts of one batch: writing what they make of a row.

use std::ops::Range;

use super::pieces::{Pairs, Step, write_rows};
use super::put::put;
use crate::error::Result;
use crate::plan::Op;
use crate::pytext::TextColumn;
use crate::render::fragments::{FragmentStores, RowFragments, Runs};

/// The texts of a column, by its number.
pub type TextLookup<'f, 'a> = &'f dyn Fn(usize) -> Result<&'a TextColumn>;

/// Where the texts are that ops name.
#[derive(Clone, Copy)]
pub struct TextSources<'f, 'a> {
    /// The texts of a column.
    pub texts: TextLookup<'f, 'a>,
    /// The fragments.
    pub fragments: FragmentStores<'a>,
    /// FragmentStore of examples that are put together already.
    pub runs: &'a Runs,
    /// About how many rows will be written by what is bound to them: for a few nothing is put together.
    pub rows: usize,
}

/// Ops with everything that they read at hand.
pub struct Writer<'a> {
    steps: Vec<Step<'a>>,
    pairs: Option<AnyPairs<'a>>,
}

/// Steps as pairs, by the width of their offsets.
enum AnyPairs<'a> {
    Narrow(Pairs<'a, i32>),
    Wide(Pairs<'a, i64>),
}

impl<'a> Writer<'a> {
    /// Bind ops, whose literals are among `literals`.
    ///
    /// # Errors
    ///
    /// As the lookup of columns.
    pub fn new(ops: &[Op], literals: &'a [u8], sources: TextSources<'_, 'a>) -> Result<Self> {
        let mut steps = Vec::with_capacity(ops.len());
        // A newline's condition counts the steps that follow it.
        let counted = ops.iter().any(|op| matches!(op, Op::LineIf(_)));
        let mut at = 0;
        while let Some(op) = ops.get(at) {
            if !counted && let Some((slot, run, taken)) = sources.runs.at(&ops[at..], literals) {
                steps.push(Step::NarrowFragment(slot, &run.offsets, &run.bytes));
                at += taken;
                continue;
            }
            steps.push(match *op {
                Op::Lit(start, end) => Step::Lit(literals, start, end),
                Op::Field(column) => Step::column((sources.texts)(column)?),
                Op::Fragment(place) => Step::fragment(place, sources.fragments),
                Op::LineIf(steps) => Step::LineIf(steps),
            });
            at += 1;
        }
        let narrow = Pairs::new(&steps, literals, sources.rows).map(AnyPairs::Narrow);
        let pairs = narrow.or_else(|| Pairs::new(&steps, literals, sources.rows).map(AnyPairs::Wide));
        Ok(Self { steps, pairs })
    }

    /// Write what it makes of a row to `own[at..]`; returns where the next text goes.
    #[inline]
    pub fn write(&self, own: &mut [u8], mut at: usize, row: usize, shown: &[u32]) -> usize {
        match &self.pairs {
            Some(AnyPairs::Narrow(pairs)) => return pairs.write(own, at, row, shown),
            Some(AnyPairs::Wide(pairs)) => return pairs.write(own, at, row, shown),
            None => {}
        }
        for (n, step) in self.steps.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, shown)
            {
                continue;
            }
            let (from, start, end) = step.place(row, shown);
            at = put(own, at, from, start, end);
        }
        at
    }

    /// [`Self::write`] of some rows.
    pub fn write_rows(&self, own: &mut [u8], at: usize, rows: Range<usize>, shown: &RowFragments) -> usize {
        match &self.pairs {
            Some(AnyPairs::Narrow(pairs)) => write_rows(pairs, own, at, rows, shown),
            Some(AnyPairs::Wide(pairs)) => write_rows(pairs, own, at, rows, shown),
            None => rows.fold(at, |at, row| self.write(own, at, row, shown.of(row))),
        }
    }

    /// The length of what it makes of a row.
    pub fn length(&self, row: usize, shown: &[u32]) -> usize {
        let mut length = 0;
        for (n, step) in self.steps.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, shown)
            {
                continue;
            }
            let (_, start, end) = step.place(row, shown);
            length += end - start;
        }
        length
    }

    #[cold]
    fn all_empty(&self, first: usize, steps: usize, row: usize, shown: &[u32]) -> bool {
        self.steps[first..first + steps].iter().all(|step| {
            let (_, start, end) = step.place(row, shown);
            start == end
        })
    }
}
