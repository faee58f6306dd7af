//! Rows among plain rows that copying isn't enough for: they are filled in apart, and put where they belong.

use std::ops::Range;
use std::sync::Arc;

use super::lengths::Lengths;
use super::unread::Unread;
use crate::error::Result;
use crate::plan::{Op, Plan, Program};
use crate::render::fragments::{FragmentStore, FragmentStores};
use crate::render::input::Batch;
use crate::render::memory::Scratch;
use crate::render::substitution::{Filler, Room};

/// The texts of some rows that were filled in, one after the other.
#[derive(Default)]
pub struct FilledRows {
    /// The rows, in order.
    pub rows: Vec<usize>,
    /// The length of each text: by row, then by program.
    pub lengths: Vec<usize>,
    /// All texts.
    pub texts: Scratch,
    /// The rows whose texts aren't copies of what they show.
    pub changed: Vec<usize>,
}

impl FilledRows {
    /// Fill in those of some rows that hold something that a placeholder could form from, one request for each plan.
    /// None if some row isn't text, or if a row can't be filled in.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work.
    pub fn new(unread: &Unread, plans: &[Arc<Plan>], rows: &Range<usize>) -> Result<Option<Self>> {
        let Some(rows) = unread.forming(rows) else { return Ok(None) };
        let mut filled = Self { rows, ..Self::default() };
        if filled.rows.is_empty() {
            return Ok(Some(filled));
        }
        filled.texts = Scratch::new();
        let (host, limits) = (unread.batch.host, unread.batch.host.limits());
        let batch = unread.batch.of_rows(filled.rows.clone());
        let none = FragmentStore::default();
        let fragments = FragmentStores { renderer: &none, batch: &none };
        let (mut filler, texts) = (Filler::new(&batch, batch.rows), &mut filled.texts.0);
        for (number, row) in filled.rows.iter().enumerate() {
            let mut are_copies = true;
            for plan in plans {
                let request = texts.len();
                for program in &plan.programs {
                    let start = texts.len();
                    let room = Room::new(limits, start - request);
                    if filler.program(program, number, &[], fragments, room, texts).is_err() {
                        host.check()?;
                        return Ok(None);
                    }
                    are_copies = are_copies && is_copy(&texts[start..], program, &batch, number);
                    filled.lengths.push(texts.len() - start);
                }
                if texts.len() - request > limits.prompt_bytes {
                    return Ok(None);
                }
            }
            if !are_copies {
                filled.changed.push(*row);
            }
        }
        host.has_substituted();
        Ok(Some(filled))
    }
}

/// Return true if a text is what copying a program's pieces gives.
fn is_copy(text: &[u8], program: &Program, batch: &Batch, row: usize) -> bool {
    let mut rest = text;
    let all = program.ops.iter().all(|op| {
        let piece = match *op {
            Op::Lit(start, end) => &program.literals[start..end],
            Op::Field(column) => batch.field(column, row).unwrap_or_default(),
            Op::Fragment(_) | Op::LineIf(_) => return false,
        };
        let after = rest.strip_prefix(piece);
        rest = after.unwrap_or_default();
        after.is_some()
    });
    all && rest.is_empty()
}

/// Rows that were filled in, next to plain rows.
#[derive(Default)]
pub struct RowsApart {
    filled: FilledRows,
    /// The end of each row's texts.
    ends: Vec<usize>,
    /// The number of bytes of each row's copy.
    copied: Vec<usize>,
}

impl RowsApart {
    /// Put filled rows among plain rows, whose texts have `lengths`, by program; None if they differ in what is the same
    /// in all rows.
    pub fn new(filled: FilledRows, lengths: &[Lengths]) -> Option<Self> {
        let (mut ends, mut copied, mut end) = (Vec::new(), Vec::new(), 0);
        for (row, of_row) in filled.rows.iter().zip(filled.lengths.chunks(lengths.len().max(1))) {
            let mut of_copy = 0;
            for (length, program_lengths) in of_row.iter().zip(lengths) {
                if program_lengths.constant().is_some_and(|constant| constant != *length) {
                    return None;
                }
                of_copy += program_lengths.of(*row, &[]);
            }
            end += of_row.iter().sum::<usize>();
            ends.push(end);
            copied.push(of_copy);
        }
        Some(Self { filled, ends, copied })
    }

    /// Return the rows that were filled in.
    pub fn filled(&self) -> &FilledRows {
        &self.filled
    }

    /// Return how many bytes more than their copies the rows among `chunk` have.
    pub fn difference(&self, chunk: &Range<usize>) -> isize {
        let rows = self.among(chunk);
        let copied: usize = self.copied[rows.clone()].iter().sum();
        let filled = rows.map(|n| self.range(n).len()).sum::<usize>();
        filled.wrapping_sub(copied).cast_signed()
    }

    /// Put the lengths of the texts of program `number` in the place of those of the copies; `lengths` are those of the
    /// rows `chunk`.
    pub fn put_lengths(&self, chunk: &Range<usize>, number: usize, lengths: &mut [usize]) {
        let FilledRows { rows, lengths: filled, .. } = &self.filled;
        let each = filled.len().checked_div(rows.len()).unwrap_or(0);
        for n in self.among(chunk) {
            lengths[rows[n] - chunk.start] = filled[n * each + number];
        }
    }

    /// Return each row, and the range of its texts in [`Self::bytes`].
    pub fn texts(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.filled.rows.iter().enumerate().map(|(n, row)| (*row, self.range(n)))
    }

    /// Return the bytes of all texts.
    pub fn bytes(&self) -> &[u8] {
        &self.filled.texts.0
    }

    fn range(&self, n: usize) -> Range<usize> {
        n.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[n]
    }

    fn among(&self, chunk: &Range<usize>) -> Range<usize> {
        let until = |row: usize| self.filled.rows.partition_point(|apart| *apart < row);
        until(chunk.start)..until(chunk.end)
    }
}
