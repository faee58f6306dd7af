//! Writes the texts of rows: ops bound to the texts of a batch.

use std::ops::Range;

use super::pieces::{Pairs, Step, write_rows};
use super::put::put;
use crate::error::Result;
use crate::plan::Op;
use crate::python_text::TextColumn;
use crate::render::fragments::{FragmentStores, RowFragments, Runs};

/// Returns the texts of a column by its number.
pub type TextLookup<'f, 'a> = &'f dyn Fn(usize) -> Result<&'a TextColumn>;

/// The texts that ops refer to.
#[derive(Clone, Copy)]
pub struct TextSources<'f, 'a> {
    /// The texts of a column.
    pub texts: TextLookup<'f, 'a>,
    /// The fragments.
    pub fragments: FragmentStores<'a>,
    /// The runs of fragments that were put together already.
    pub runs: &'a Runs,
    /// The approximate number of rows to write. For a few rows, no words and runs are put together.
    pub rows: usize,
}

/// Ops, bound to everything that they read.
pub struct Writer<'a> {
    steps: Vec<Step<'a>>,
    pairs: Option<AnyPairs<'a>>,
}

/// Steps as pairs, for each width of offsets.
enum AnyPairs<'a> {
    Narrow(Pairs<'a, i32>),
    Wide(Pairs<'a, i64>),
}

impl<'a> Writer<'a> {
    /// Bind ops, whose literals are among `literals`.
    ///
    /// # Errors
    ///
    /// The errors of the lookup of columns.
    pub fn new(ops: &[Op], literals: &'a [u8], sources: TextSources<'_, 'a>) -> Result<Self> {
        let mut steps = Vec::with_capacity(ops.len());
        // A newline's condition counts the steps that follow it.
        let counted = ops.iter().any(|op| matches!(op, Op::LineIf(_)));
        let mut index = 0;
        while let Some(op) = ops.get(index) {
            if !counted && let Some((slot, run, count)) = sources.runs.first_in(&ops[index..], literals) {
                steps.push(Step::NarrowFragment(slot, &run.offsets, &run.bytes));
                index += count;
                continue;
            }
            steps.push(match *op {
                Op::Lit(start, end) => Step::Lit(literals, start, end),
                Op::Field(column) => Step::column((sources.texts)(column)?),
                Op::Fragment(reference) => Step::fragment(reference, sources.fragments),
                Op::LineIf(steps) => Step::LineIf(steps),
            });
            index += 1;
        }
        let narrow = Pairs::new(&steps, literals, sources.rows).map(AnyPairs::Narrow);
        let pairs = narrow.or_else(|| Pairs::new(&steps, literals, sources.rows).map(AnyPairs::Wide));
        Ok(Self { steps, pairs })
    }

    /// Write the text of a row to `out[position..]`, and return the position of the next text.
    #[inline]
    pub fn write(&self, out: &mut [u8], mut position: usize, row: usize, row_fragments: &[u32]) -> usize {
        match &self.pairs {
            Some(AnyPairs::Narrow(pairs)) => return pairs.write(out, position, row, row_fragments),
            Some(AnyPairs::Wide(pairs)) => return pairs.write(out, position, row, row_fragments),
            None => {}
        }
        for (n, step) in self.steps.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, row_fragments)
            {
                continue;
            }
            let (from, start, end) = step.location(row, row_fragments);
            position = put(out, position, from, start, end);
        }
        position
    }

    /// Call [`Self::write`] for some rows.
    pub fn write_rows(
        &self,
        out: &mut [u8],
        position: usize,
        rows: Range<usize>,
        row_fragments: &RowFragments,
    ) -> usize {
        match &self.pairs {
            Some(AnyPairs::Narrow(pairs)) => write_rows(pairs, out, position, rows, row_fragments),
            Some(AnyPairs::Wide(pairs)) => write_rows(pairs, out, position, rows, row_fragments),
            None => rows.fold(position, |position, row| self.write(out, position, row, row_fragments.of(row))),
        }
    }

    /// Return the number of bytes that are written for a row.
    pub fn length(&self, row: usize, row_fragments: &[u32]) -> usize {
        let mut length = 0;
        for (n, step) in self.steps.iter().enumerate() {
            if let Step::LineIf(steps) = step
                && self.all_empty(n + 1, *steps, row, row_fragments)
            {
                continue;
            }
            let (_, start, end) = step.location(row, row_fragments);
            length += end - start;
        }
        length
    }

    #[cold]
    fn all_empty(&self, first: usize, steps: usize, row: usize, row_fragments: &[u32]) -> bool {
        self.steps[first..first + steps].iter().all(|step| {
            let (_, start, end) = step.location(row, row_fragments);
            start == end
        })
    }
}
