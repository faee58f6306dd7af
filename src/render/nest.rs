//! Values that bring in values: what a row's fields become when the placeholders in them are filled in turn.
//!
//! The harness replaces one column after the other over the whole text. So a value is looked into by the columns behind
//! its own, and the same comes out if each value is filled once, later columns first, and put in wherever it is asked
//! for. That holds as long as no placeholder forms where two pieces meet, or is one that came too late. What is formed
//! so stays in the text that is made here, since tokens that can't share bytes take none of it away: a text without
//! any token is right, and any other has to be filled column by column.

use std::ops::Range;

use super::batch::Batch;
use super::examples::Parts;
use crate::error::Result;
use crate::plan::{Seg, Unit};

/// Values within values within values, and so on, that are followed; as many calls lie on the stack.
const DEPTH: usize = 64;

/// Where the filled values of one row stand among what is written.
#[derive(Debug, Default)]
pub struct Nest {
    row: Option<usize>,
    columns: Vec<Option<Range<usize>>>,
    /// The columns that are known.
    known: Vec<usize>,
}

impl Nest {
    /// Append a unit's text in one row to `out`; nothing, and false, if it has to be filled column by column. What was
    /// appended for a row stays where it is until the next row's first unit.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn unit(
        &mut self,
        unit: &Unit,
        batch: &Batch,
        row: usize,
        shots: &[u32],
        parts: &Parts,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if !unit.nests {
            return Ok(false);
        }
        if self.row != Some(row) {
            self.row = Some(row);
            self.columns.resize(batch.columns.tokens.len(), None);
            self.forget();
        }
        let start = out.len();
        let mut fine = true;
        for seg in &unit.segs {
            match seg {
                Seg::Lit(s, _) => out.extend_from_slice(s.as_bytes()),
                Seg::Example { slot, part } => out.extend_from_slice(parts.bytes(shots[*slot as usize], *part)),
                Seg::Field(column) => fine = self.fill(*column, batch, row, DEPTH, out)?,
            }
            if !fine {
                break;
            }
        }
        fine = fine && batch.columns.tokens.find(&out[start..], 0).is_none();
        if !fine {
            out.truncate(start);
            self.forget();
        }
        Ok(fine)
    }

    fn forget(&mut self) {
        for column in self.known.drain(..) {
            self.columns[column] = None;
        }
    }

    /// Append a column's value, filled; false if more than `depth` values lie within each other.
    fn fill(&mut self, column: usize, batch: &Batch, row: usize, depth: usize, out: &mut Vec<u8>) -> Result<bool> {
        if let Some(known) = &self.columns[column] {
            out.extend_from_within(known.clone());
            return Ok(true);
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        let tokens = &batch.columns.tokens;
        let value = batch.field(column, row)?;
        let start = out.len();
        let (mut from, mut copied) = (0, 0);
        while let Some((at, inner)) = tokens.find(value, from) {
            from = at + tokens.get(inner).len();
            if inner > column {
                out.extend_from_slice(&value[copied..at]);
                if !self.fill(inner, batch, row, depth, out)? {
                    return Ok(false);
                }
                copied = from;
            }
        }
        out.extend_from_slice(&value[copied..]);
        self.columns[column] = Some(start..out.len());
        self.known.push(column);
        Ok(true)
    }
}
