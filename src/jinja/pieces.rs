//! The pieces of rows' texts: slices of bytes that are in memory already, and computed bytes.

use std::ops::Range;

use super::left_out::LeftOut;
use super::value::Bail;
use crate::render::put;

/// The base of a piece that was computed.
const COMPUTED: u32 = u32::MAX;

/// A stretch of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The number of its base, or [`COMPUTED`].
    pub(super) base: u32,
    pub(super) len: u32,
    pub(super) start: usize,
}

/// A row that the program doesn't render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bailed {
    /// The row, within the batch.
    pub row: usize,
    /// The program of the row.
    pub program: u32,
    /// The reason.
    pub reason: Bail,
}

/// The pieces of some rows' texts.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) rows: Range<usize>,
    pub(super) pieces: Vec<Piece>,
    /// The number of pieces up to each row's end.
    pub(super) ends: Vec<usize>,
    /// The length of each row's text.
    pub(super) lengths: Vec<usize>,
    pub(super) computed: Vec<u8>,
    pub(super) bailed: Vec<Bailed>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Chunk {
    pub(super) fn new(rows: Range<usize>) -> Self {
        let many = rows.len();
        Self {
            rows,
            pieces: Vec::with_capacity(4 * many),
            ends: Vec::with_capacity(many),
            lengths: Vec::with_capacity(many),
            computed: Vec::new(),
            bailed: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Return the length so far of a row's text. The row's pieces begin after `first` others.
    pub(super) fn length(&self, first: usize) -> usize {
        self.pieces[first..].iter().map(|piece| piece.len as usize).sum()
    }

    /// End a row. Its pieces begin after `first` others.
    pub(super) fn end_row(&mut self, first: usize) {
        self.lengths.push(self.length(first));
        self.ends.push(self.pieces.len());
    }

    /// Give up a row. Its pieces begin after `first` others, and its computed bytes after `computed` others.
    pub(super) fn give_up(&mut self, bailed: Bailed, first: usize, computed: usize) {
        self.pieces.truncate(first);
        self.computed.truncate(computed);
        self.bailed.push(bailed);
        self.end_row(first);
    }

    /// Add a slice of a base.
    #[inline]
    pub(super) fn slice(&mut self, base: u32, start: usize, len: usize) {
        if let Ok(len) = u32::try_from(len) {
            if len > 0 {
                self.pieces.push(Piece { base, len, start });
            }
            return;
        }
        self.slice(base, start, u32::MAX as usize);
        self.slice(base, start + u32::MAX as usize, len - u32::MAX as usize);
    }
    /// Write the texts of some rows to `out`. `others` are the texts of rows that were given up, in ascending order
    /// from the first row on.
    /// the first row on.
    pub(super) fn write<'o>(
        &self,
        rows: Range<usize>,
        bases: &[&[u8]],
        mut others: impl Iterator<Item = (usize, &'o str)>,
        out: &mut [u8],
    ) {
        let (mut end, mut other) = (0, others.next());
        let mut from = match rows.start - self.rows.start {
            0 => 0,
            before => self.ends[before - 1],
        };
        for row in rows {
            if let Some((number, text)) = other
                && number == row
            {
                out[end..end + text.len()].copy_from_slice(text.as_bytes());
                end += text.len();
                other = others.next();
            }
            let last = self.ends[row - self.rows.start];
            for piece in &self.pieces[from..last] {
                let base = if piece.base == COMPUTED { &self.computed } else { bases[piece.base as usize] };
                end = put(out, end, base, piece.start, piece.start + piece.len as usize);
            }
            from = last;
        }
    }

    /// Add a piece for the bytes that were computed from byte `start` on.
    pub(super) fn computed_from(&mut self, start: usize, first: usize) {
        let len = self.computed.len() - start;
        if self.pieces.len() > first
            && let Some(last) = self.pieces.last_mut()
            && last.base == COMPUTED
            && let Some(both) = last.len.checked_add(u32::try_from(len).unwrap_or(u32::MAX))
        {
            // Only pieces are computed, so these two are adjacent.
            last.len = both;
            return;
        }
        self.slice(COMPUTED, start, len);
    }
}
