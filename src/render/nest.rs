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

/// What a column's value in the row at hand has become.
#[derive(Clone, Debug)]
enum Filled {
    /// The value as it is.
    Raw,
    /// These bytes of the row's own.
    Own(Range<usize>),
}

/// The filled values of one row, in memory that serves row after row.
#[derive(Debug, Default)]
pub struct Nest {
    row: Option<usize>,
    bytes: Vec<u8>,
    columns: Vec<Option<Filled>>,
    /// The columns that are known.
    known: Vec<usize>,
    /// The tokens in the values that are being filled, and whose they are.
    found: Vec<(Range<usize>, usize)>,
}

impl Nest {
    /// Append a unit's text in one row to `out`; nothing, and false, if it has to be filled column by column.
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
        self.begin(row, batch.columns.tokens.len());
        let start = out.len();
        for seg in &unit.segs {
            match seg {
                Seg::Lit(s, _) => out.extend_from_slice(s.as_bytes()),
                Seg::Example { slot, part } => out.extend_from_slice(parts.bytes(shots[*slot as usize], *part)),
                Seg::Field(column) => {
                    if !self.fill(*column, batch, row, DEPTH)? {
                        out.truncate(start);
                        return Ok(false);
                    }
                    out.extend_from_slice(self.filled(*column, batch, row)?);
                }
            }
        }
        let fine = batch.columns.tokens.find(&out[start..], 0).is_none();
        if !fine {
            out.truncate(start);
        }
        Ok(fine)
    }

    fn begin(&mut self, row: usize, columns: usize) {
        if self.row == Some(row) {
            return;
        }
        self.row = Some(row);
        self.bytes.clear();
        self.found.clear();
        self.columns.resize(columns, None);
        for column in self.known.drain(..) {
            self.columns[column] = None;
        }
    }

    /// The bytes of a column that [`Self::fill`] has filled.
    fn filled<'a>(&'a self, column: usize, batch: &'a Batch, row: usize) -> Result<&'a [u8]> {
        match &self.columns[column] {
            Some(Filled::Own(range)) => Ok(&self.bytes[range.clone()]),
            _ => batch.field(column, row),
        }
    }

    /// Fill a column's value; false if more than `depth` values lie within each other.
    fn fill(&mut self, column: usize, batch: &Batch, row: usize, depth: usize) -> Result<bool> {
        if self.columns[column].is_some() {
            return Ok(true);
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        let tokens = &batch.columns.tokens;
        let value = batch.field(column, row)?;
        let first = self.found.len();
        let mut from = 0;
        while let Some((at, inner)) = tokens.find(value, from) {
            from = at + tokens.get(inner).len();
            if inner > column {
                self.found.push((at..from, inner));
                if !self.fill(inner, batch, row, depth)? {
                    return Ok(false);
                }
            }
        }
        self.known.push(column);
        if self.found.len() == first {
            self.columns[column] = Some(Filled::Raw);
            return Ok(true);
        }
        let (start, mut copied) = (self.bytes.len(), 0);
        for (place, inner) in self.found.drain(first..) {
            self.bytes.extend_from_slice(&value[copied..place.start]);
            match &self.columns[inner] {
                Some(Filled::Own(range)) => self.bytes.extend_from_within(range.clone()),
                _ => self.bytes.extend_from_slice(batch.field(inner, row)?),
            }
            copied = place.end;
        }
        self.bytes.extend_from_slice(&value[copied..]);
        self.columns[column] = Some(Filled::Own(start..self.bytes.len()));
        Ok(true)
    }
}
