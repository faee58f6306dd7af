//! Fills in values recursively: the placeholders in a row's fields are filled in turn.
//!
//! The harness replaces one column after the other in the whole text. So the columns after a value's column are
//! replaced in the value. The result is the same if each value is filled once, later columns first, and inserted
//! wherever a placeholder names it. This holds unless a placeholder forms where two pieces meet, or a placeholder names
//! an earlier column. Such a placeholder stays in the text that is made here, because tokens that can't share bytes
//! don't remove any part of it. So a text without any token is right, and any other text has to be filled column by
//! column.

use std::ops::Range;

use super::placeholder_index::PlaceholderIndex;
use super::room::Room;
use crate::error::{Code, Result};
use crate::plan::{Seg, Unit};
use crate::render::copying::Step;
use crate::render::fragments::FragmentStores;
use crate::render::input::{Batch, BroughtIn};

/// The number of placeholders that are filled in between two checks for signals.
pub const PLACEHOLDERS_PER_SIGNAL_CHECK: usize = 4096;

/// The greatest depth of values within values, which is the depth of recursive calls.
const MAX_FILL_DEPTH: usize = 64;

/// Fills rows, one after the other, and keeps the positions of the last row's values in the output.
pub struct RecursiveFill<'a> {
    batch: &'a Batch<'a>,
    /// The end of the rows that are filled.
    end: usize,
    row: Option<usize>,
    /// The number of the current row or attempt: texts that were written before it are invalid.
    turn: usize,
    columns: Vec<Option<Box<FilledColumn<'a>>>>,
}

/// A column that some text or value brought in.
struct FilledColumn<'a> {
    values: Step<'a>,
    /// The column's texts, unless it is masked.
    texts: Option<BroughtIn<'a>>,
    sites: PlaceholderIndex,
    /// The turn in which its filled value was written last.
    turn: usize,
    /// The range of the output that the value was written to.
    written: Range<usize>,
}

impl<'a> RecursiveFill<'a> {
    /// Make a filler for rows of a batch up to `end`.
    pub fn new(batch: &'a Batch<'a>, end: usize) -> Self {
        let columns = (0..batch.columns.tokens.len()).map(|_| None).collect();
        Self { batch, end, row: None, turn: 0, columns }
    }

    /// Append a unit's text in a row to `out`; append nothing and return false if the unit has to be filled column by
    /// column. The text of a row must stay in `out` until the next row's first unit.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text, and if the request's texts exceed `room`.
    pub fn unit(
        &mut self,
        unit: &Unit,
        row: usize,
        row_fragments: &[u32],
        fragments: FragmentStores,
        room: (Room, usize),
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if !unit.fills_recursively {
            return Ok(false);
        }
        if self.row != Some(row) {
            self.row = Some(row);
            self.turn += 1;
        }
        let start = out.len();
        let mut is_filled = true;
        for seg in &unit.segs {
            let filled = match seg {
                Seg::Lit(s, _) => put(s.as_bytes(), room, out).map(|()| true),
                Seg::Fragment(location) => put(fragments.bytes(*location, row_fragments), room, out).map(|()| true),
                Seg::Field(column, _) => self.fill(*column, row, MAX_FILL_DEPTH, room, out),
            };
            is_filled = match filled {
                // Placeholders that values form may be replaced by shorter texts, so the final text may be short
                // enough.
                Err(error) if error.code() == Code::LimitExceeded => false,
                filled => filled?,
            };
            if !is_filled {
                break;
            }
        }
        is_filled = is_filled && self.batch.columns.tokens.find(&out[start..], 0).is_none();
        if !is_filled {
            out.truncate(start);
            self.turn += 1;
        }
        Ok(is_filled)
    }

    /// Append a column's value, filled; false if more than `depth` values lie within each other.
    fn fill(
        &mut self,
        number: usize,
        row: usize,
        depth: usize,
        room: (Room, usize),
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let cached = self.columns[number].take();
        if let Some(written) = cached.as_ref().filter(|column| column.turn == self.turn).map(|c| c.written.clone()) {
            room.0.make(out, room.1, written.len())?;
            out.extend_from_within(written);
            self.columns[number] = cached;
            return Ok(true);
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        let mut column = cached.map_or_else(|| FilledColumn::new(self.batch, number), Ok)?;
        let tokens = &self.batch.columns.tokens;
        if let Some(texts) = &column.texts {
            texts.check(row)?;
        }
        let start = out.len();
        let (bytes, mut copied, end) = column.values.location(row, &[]);
        for (n, site) in column.sites.of(row, self.end, number, &column.values, tokens).enumerate() {
            if n % PLACEHOLDERS_PER_SIGNAL_CHECK == PLACEHOLDERS_PER_SIGNAL_CHECK - 1 {
                self.batch.host.check()?;
            }
            let site = column.sites.get(site);
            put(&bytes[copied..site.position], room, out)?;
            // The entry of the column stays empty until the column is put back, because only later columns are read
            // meanwhile.
            if !self.fill(site.column, row, depth, room, out)? {
                return Ok(false);
            }
            copied = site.position + tokens.get(site.column).len();
        }
        put(&bytes[copied..end], room, out)?;
        (column.turn, column.written) = (self.turn, start..out.len());
        self.columns[number] = Some(column);
        Ok(true)
    }
}

fn put(bytes: &[u8], (room, start): (Room, usize), out: &mut Vec<u8>) -> Result<()> {
    room.make(out, start, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

impl<'a> FilledColumn<'a> {
    fn new(batch: &'a Batch<'a>, number: usize) -> Result<Box<Self>> {
        let (values, texts) = match batch.columns.mask(number) {
            Some(by) => (Step::Lit(by.as_bytes(), 0, by.len()), None),
            None => {
                let texts = batch.brought_in(number)?;
                (Step::column(texts.texts), Some(texts))
            }
        };
        Ok(Box::new(Self { values, texts, sites: PlaceholderIndex::default(), turn: 0, written: 0..0 }))
    }
}
