//! What rows' texts are made of: slices of what lies in memory already, and what was computed.

use std::ops::Range;

use super::value::Bail;
use crate::render::put;

/// A piece of what was computed for a chunk's rows.
const COMPUTED: u32 = u32::MAX;

/// A stretch of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Which of the bases it is of, or [`COMPUTED`].
    pub(super) base: u32,
    pub(super) len: u32,
    pub(super) start: usize,
}

/// A row that isn't rendered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bailed {
    /// The row, within the batch.
    pub row: usize,
    /// The program that it was to be rendered by.
    pub program: u32,
    /// Why not.
    pub reason: Bail,
}

/// What some rows' texts are made of.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) rows: Range<usize>,
    pub(super) pieces: Vec<Piece>,
    /// How many pieces there are up to each row's end, and how long the row's text is.
    pub(super) ends: Vec<usize>,
    pub(super) lengths: Vec<usize>,
    pub(super) computed: Vec<u8>,
    pub(super) bailed: Vec<Bailed>,
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
        }
    }

    /// How long the row's text is so far, whose pieces begin behind `first` others.
    pub(super) fn length(&self, first: usize) -> usize {
        self.pieces[first..].iter().map(|piece| piece.len as usize).sum()
    }

    /// End a row whose pieces begin behind `first` others.
    pub(super) fn end_row(&mut self, first: usize) {
        self.lengths.push(self.length(first));
        self.ends.push(self.pieces.len());
    }

    /// Give a row up whose pieces begin behind `first` others, and what was computed for it behind `computed` bytes.
    pub(super) fn give_up(&mut self, bailed: Bailed, first: usize, computed: usize) {
        self.pieces.truncate(first);
        self.computed.truncate(computed);
        self.bailed.push(bailed);
        self.end_row(first);
    }

    /// Add a stretch of a base.
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

    /// Write some of the rows' texts one behind the other. `others` are the texts of rows that were given up, the first
    /// of these rows first.
    pub(super) fn write<'o>(
        &self,
        rows: Range<usize>,
        bases: &[&[u8]],
        mut others: impl Iterator<Item = (usize, &'o str)>,
        own: &mut [u8],
    ) {
        let (mut at, mut other) = (0, others.next());
        let mut from = match rows.start - self.rows.start {
            0 => 0,
            before => self.ends[before - 1],
        };
        for row in rows {
            if let Some((number, text)) = other
                && number == row
            {
                own[at..at + text.len()].copy_from_slice(text.as_bytes());
                at += text.len();
                other = others.next();
            }
            let end = self.ends[row - self.rows.start];
            for piece in &self.pieces[from..end] {
                let base = if piece.base == COMPUTED { &self.computed } else { bases[piece.base as usize] };
                at = put(own, at, base, piece.start, piece.start + piece.len as usize);
            }
            from = end;
        }
    }

    /// Add what was computed from byte `start` on.
    pub(super) fn computed_from(&mut self, start: usize, first: usize) {
        let len = self.computed.len() - start;
        if self.pieces.len() > first
            && let Some(last) = self.pieces.last_mut()
            && last.base == COMPUTED
            && let Some(both) = last.len.checked_add(u32::try_from(len).unwrap_or(u32::MAX))
        {
            // Nothing but pieces is computed, so that they lie one behind the other.
            last.len = both;
            return;
        }
        self.slice(COMPUTED, start, len);
    }
}
