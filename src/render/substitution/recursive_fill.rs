//! Values that bring in values: what a row's fields become when the placeholders in them are filled in turn.
//!
//! The harness replaces one column after the other over the whole text. So a value is looked into by the columns behind
//! its own, and the same comes out if each value is filled once, later columns first, and put in wherever it is asked
//! for. That holds as long as no placeholder forms where two pieces meet, or is one that came too late. What is formed
//! so stays in the text that is made here, since tokens that can't share bytes take none of it away: a text without
//! any token is right, and any other has to be filled column by column.

use std::ops::Range;

use super::placeholder_index::PlaceholderIndex;
use super::room::Room;
use crate::error::{Code, Result};
use crate::plan::{Seg, Unit};
use crate::render::copying::Step;
use crate::render::fragments::FragmentStores;
use crate::render::input::{Batch, BroughtIn};

/// Placeholders that are filled in between two looks at signals.
pub const PLACEHOLDERS_PER_SIGNAL_CHECK: usize = 4096;

/// Values within values within values, and so on, that are followed; as many calls lie on the stack.
const MAX_FILL_DEPTH: usize = 64;

/// Fills rows, one after the other, and knows where the values of the last one stand among what was written.
pub struct RecursiveFill<'a> {
    batch: &'a Batch<'a>,
    /// Where the rows end that are asked about.
    end: usize,
    row: Option<usize>,
    /// Counts rows, and attempts that came to nothing: what was written before is no more.
    turn: usize,
    columns: Vec<Option<Box<FilledColumn<'a>>>>,
}

/// A column that some text or value brought in.
struct FilledColumn<'a> {
    values: Step<'a>,
    /// The column's texts, unless it is masked.
    texts: Option<BroughtIn<'a>>,
    sites: PlaceholderIndex,
    /// The turn in which its value was written last, filled.
    turn: usize,
    /// Where that was.
    written: Range<usize>,
}

impl<'a> RecursiveFill<'a> {
    /// For rows of a batch up to `end`.
    pub fn new(batch: &'a Batch<'a>, end: usize) -> Self {
        let columns = (0..batch.columns.tokens.len()).map(|_| None).collect();
        Self { batch, end, row: None, turn: 0, columns }
    }

    /// Append a unit's text in one row to `out`; nothing, and false, if it has to be filled column by column. What was
    /// appended for a row stays where it is until the next row's first unit.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text, and where there isn't `room` behind where the request's texts begin.
    pub fn unit(
        &mut self,
        unit: &Unit,
        row: usize,
        shown: &[u32],
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
        let mut fine = true;
        for seg in &unit.segs {
            let filled = match seg {
                Seg::Lit(s, _) => put(s.as_bytes(), room, out).map(|()| true),
                Seg::Fragment(place) => put(fragments.bytes(*place, shown), room, out).map(|()| true),
                Seg::Field(column) => self.fill(*column, row, MAX_FILL_DEPTH, room, out),
            };
            fine = match filled {
                // Placeholders that the values form may give way to less, and the text be short enough at last.
                Err(error) if error.code() == Code::LimitExceeded => false,
                filled => filled?,
            };
            if !fine {
                break;
            }
        }
        fine = fine && self.batch.columns.tokens.find(&out[start..], 0).is_none();
        if !fine {
            out.truncate(start);
            self.turn += 1;
        }
        Ok(fine)
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
        let known = self.columns[number].take();
        if let Some(written) = known.as_ref().filter(|column| column.turn == self.turn).map(|c| c.written.clone()) {
            room.0.make(out, room.1, written.len())?;
            out.extend_from_within(written);
            self.columns[number] = known;
            return Ok(true);
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        let mut column = known.map_or_else(|| FilledColumn::new(self.batch, number), Ok)?;
        let tokens = &self.batch.columns.tokens;
        if let Some(texts) = &column.texts {
            texts.check(row)?;
        }
        let start = out.len();
        let (bytes, mut copied, end) = column.values.place(row, &[]);
        for (n, site) in column.sites.of(row, self.end, number, &column.values, tokens).enumerate() {
            if n % PLACEHOLDERS_PER_SIGNAL_CHECK == PLACEHOLDERS_PER_SIGNAL_CHECK - 1 {
                self.batch.host.check()?;
            }
            let site = column.sites.get(site);
            put(&bytes[copied..site.at], room, out)?;
            // Its own place stays empty until it is back: only later columns are asked for.
            if !self.fill(site.column, row, depth, room, out)? {
                return Ok(false);
            }
            copied = site.at + tokens.get(site.column).len();
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
