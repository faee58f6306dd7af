//! Texts that requests show unchanged: the parts of examples, of the pairs of a conversation, and the contents of
//! messages.

use std::sync::Arc;

use super::run_cache::{Run, RunCache, RunKey, RunPiece};
use crate::python_text::TextColumn;
use crate::render::memory::Texts;
use crate::template::{FragmentRef, FragmentSet};
use crate::threads;

/// The most bytes of a run of all fragments, because a run duplicates their bytes.
const MAX_RUN_BYTES: usize = 64 << 20;
/// The number of fragments that a thread takes at a time.
const CHUNK_FRAGMENTS: usize = 1024;

/// Texts of fragments, by fragment and part.
#[derive(Default)]
pub struct FragmentStore {
    /// The number of each fragment's first part.
    starts: Vec<usize>,
    texts: Texts,
    /// The number of parts of each fragment and their offsets in 32 bits, if all fragments have the same number of
    /// parts.
    even: Option<(usize, Vec<i32>)>,
    /// True for each part that a field could be filled into; empty if there is none.
    may_hold_placeholder: Vec<bool>,
    /// The column that each part is a plain copy of, if any, so that no byte of the column is copied.
    columns: Vec<Option<TextColumn>>,
    /// The number of fragments that have such parts; fragments that are added after them have none.
    rows: usize,
    /// The requested runs of all current fragments.
    runs: RunCache,
}

impl FragmentStore {
    /// Return the text of part `part` of fragment `fragment`.
    #[inline]
    pub fn bytes(&self, fragment: u32, part: u32) -> &[u8] {
        let (bytes, start, end) = self.location(fragment, part);
        &bytes[start..end]
    }

    /// Return the bytes of all parts, and the start and end of this part among them.
    #[inline]
    pub fn location(&self, fragment: u32, part: u32) -> (&[u8], usize, usize) {
        if let Some(column) = self.column(fragment, part) {
            return column.location(fragment as usize);
        }
        let index = self.starts[fragment as usize] + part as usize;
        let (start, end) = self.texts.offsets.text(index);
        (&self.texts.bytes, start, end)
    }

    /// Return true if a field could be filled into it.
    #[inline]
    pub fn may_hold_placeholder(&self, fragment: u32, part: u32) -> bool {
        self.any_may_hold_placeholder()
            && self.column(fragment, part).is_none()
            && self.may_hold_placeholder[self.starts[fragment as usize] + part as usize]
    }

    /// Return true if a field could be filled into any part.
    pub fn any_may_hold_placeholder(&self) -> bool {
        !self.may_hold_placeholder.is_empty()
    }

    /// If all fragments have the same number of parts, return this number, the offsets of the parts, and the bytes.
    pub fn even(&self) -> Option<(usize, &[i32], &[u8])> {
        self.even.as_ref().map(|(each, offsets)| (*each, &offsets[..], &self.texts.bytes[..]))
    }

    fn make_even(&mut self, each: Option<usize>) {
        let narrow =
            || self.texts.offsets.iter().map(|offset| i32::try_from(offset).ok()).collect::<Option<Vec<i32>>>();
        self.even = each.and_then(|each| Some((each, narrow()?)));
    }

    /// Return true if no text was filled in column by column.
    pub fn are_copies(&self) -> bool {
        self.starts.is_empty() || self.texts.is_plain
    }

    /// Return true if another store has the same texts.
    pub fn has_texts_of(&self, other: &Self) -> bool {
        self.starts == other.starts
            && self.texts.offsets.iter().eq(other.texts.offsets.iter())
            && self.texts.bytes[..] == other.texts.bytes[..]
    }

    /// Return the number of fragments.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Return the sum of the lengths of some parts, for each fragment; every fragment must have these parts.
    pub fn lengths(&self, parts: &[u32]) -> Option<Vec<usize>> {
        let mut lengths = vec![0; self.starts.len()];
        for part in parts {
            if let Some(column) = self.as_column(*part) {
                let chunks: Vec<_> = lengths.chunks_mut(CHUNK_FRAGMENTS).enumerate().collect();
                threads::map(chunks, |(chunk, slots)| {
                    let first = chunk * CHUNK_FRAGMENTS;
                    column.add_lengths(first..first + slots.len(), slots);
                });
                continue;
            }
            let (each, offsets) = self.even.as_ref().filter(|(each, _)| (*part as usize) < *each)?;
            let ends = offsets[*part as usize..].windows(2).step_by(*each);
            for (length, ends) in lengths.iter_mut().zip(ends) {
                *length += (ends[1] - ends[0]) as usize;
            }
        }
        Some(lengths)
    }

    /// Return a run of these fragments' parts, and make it on first use; None if it can't be made.
    pub fn run(&self, key: &RunKey) -> Option<Arc<Run>> {
        self.runs.get(key, || self.make_run(key))
    }

    /// Put the runs of all fragments together; None if the fragments differ in their parts, or if the run is too large.
    fn make_run(&self, key: &RunKey) -> Option<Run> {
        let numbers: Vec<u32> =
            key.iter().filter_map(|piece| if let RunPiece::Part(part) = piece { Some(*part) } else { None }).collect();
        let between: usize =
            key.iter().map(|piece| if let RunPiece::Lit(bytes) = piece { bytes.len() } else { 0 }).sum();
        let mut offsets = Vec::with_capacity(self.len() + 1);
        offsets.push(0);
        let mut total = 0_usize;
        for length in self.lengths(&numbers)? {
            total = total.checked_add(length + between).filter(|total| *total <= MAX_RUN_BYTES)?;
            offsets.push(total as i32);
        }
        let mut bytes = vec![0; total];
        let (mut rest, mut work) = (&mut bytes[..], Vec::new());
        for fragments in threads::chunks(0..self.len(), CHUNK_FRAGMENTS) {
            let size = (offsets[fragments.end] - offsets[fragments.start]) as usize;
            work.push((fragments, rest.split_off_mut(..size)?));
        }
        threads::map(work, |(fragments, output)| {
            let mut piece_start = 0;
            for fragment in fragments {
                for piece in key {
                    let piece = match piece {
                        RunPiece::Part(part) => self.bytes(fragment as u32, *part),
                        RunPiece::Lit(literal) => literal,
                    };
                    output[piece_start..piece_start + piece.len()].copy_from_slice(piece);
                    piece_start += piece.len();
                }
            }
        });
        Some(Run { offsets, bytes })
    }

    /// Return the column that this part of every fragment is a plain copy of.
    pub fn as_column(&self, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| self.rows == self.starts.len())
    }

    #[inline]
    fn column(&self, fragment: u32, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| (fragment as usize) < self.rows)
    }

    /// Make a store of some rows' parts. `starts` are the numbers of each row's first part, `each` is the number of
    /// parts of a row if all rows have the same number, and `may_hold_placeholder` is true for parts that a field could
    /// be filled into.
    pub fn new(starts: Vec<usize>, texts: Texts, each: Option<usize>, may_hold_placeholder: Vec<bool>) -> Self {
        let may_hold_placeholder = if may_hold_placeholder.contains(&true) { may_hold_placeholder } else { Vec::new() };
        let mut out = Self { starts, texts, may_hold_placeholder, ..Self::default() };
        out.make_even(each);
        out
    }

    /// Return a store of `rows` rows in which some parts are plain columns instead of texts.
    #[must_use]
    pub fn with_columns(self, rows: usize, columns: Vec<Option<TextColumn>>) -> Self {
        let starts = if self.starts.is_empty() { vec![0; rows] } else { self.starts };
        Self { starts, columns, rows, ..self }
    }

    /// Return the texts of all parts that are no columns, and their number.
    pub fn texts<'t>(&'t self) -> (impl Fn(usize) -> &'t [u8] + Sync, usize) {
        let text = |n: usize| {
            let (start, end) = self.texts.offsets.text(n);
            &self.texts.bytes[start..end]
        };
        (text, self.texts.offsets.len().saturating_sub(1))
    }

    /// Return the columns that parts are plain copies of.
    pub fn columns(&self) -> &[Option<TextColumn>] {
        &self.columns
    }

    /// Return a store of as many fragments with other texts, which nothing is filled into.
    #[must_use]
    pub fn with_texts(&self, texts: Texts, columns: Vec<Option<TextColumn>>) -> Self {
        let each = self.even.as_ref().map(|(each, _)| *each);
        Self { columns, rows: self.rows, ..Self::new(self.starts.clone(), texts, each, Vec::new()) }
    }

    /// Return the same parts, each as a fragment by itself.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.runs = RunCache::default();
        self.starts = (0..self.texts.offsets.len().saturating_sub(1)).collect();
        self.make_even(Some(1));
        self
    }

    /// Add a fragment with one part that nothing is filled into.
    pub fn push(&mut self, text: &[u8]) -> u32 {
        if self.texts.offsets.len() == 0 {
            self.texts.offsets.push(0);
        }
        self.starts.push(self.texts.offsets.len() - 1);
        self.texts.bytes.extend(text);
        self.texts.offsets.push(self.texts.bytes.len());
        if self.any_may_hold_placeholder() {
            self.may_hold_placeholder.push(false);
        }
        self.even = None;
        self.runs = RunCache::default();
        self.starts.len() as u32 - 1
    }
}

/// The fragments that requests show, by set.
#[derive(Clone, Copy)]
pub struct FragmentStores<'a> {
    /// The renderer's fragments.
    pub renderer: &'a FragmentStore,
    /// The batch's fragments.
    pub batch: &'a FragmentStore,
}

impl<'a> FragmentStores<'a> {
    /// Return the fragments of a set.
    #[inline]
    pub fn of(self, set: FragmentSet) -> &'a FragmentStore {
        match set {
            FragmentSet::Renderer => self.renderer,
            FragmentSet::Batch => self.batch,
        }
    }

    /// Return the text of a fragment's part in a row with these fragments.
    #[inline]
    pub fn bytes(self, reference: FragmentRef, row_fragments: &[u32]) -> &'a [u8] {
        self.of(reference.set).bytes(row_fragments[reference.slot as usize], reference.part)
    }
}
