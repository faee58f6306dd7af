//! Texts that requests show as they are: the parts of examples, of the pairs of a conversation, the contents of messages.

use std::sync::Arc;

use super::run_cache::{Run, RunCache, RunKey, RunPiece};
use crate::pytext::TextColumn;
use crate::render::memory::Texts;
use crate::template::{FragmentRef, FragmentSet};
use crate::threads;

/// Bytes that a run of all fragments may have: they are there a second time in it.
const MAX_RUN_BYTES: usize = 64 << 20;
/// Fragments that one thread takes at a time.
const CHUNK_FRAGMENTS: usize = 1024;

/// Texts of fragments, by fragment and part.
#[derive(Default)]
pub struct FragmentStore {
    /// The number of each fragment's first part.
    starts: Vec<usize>,
    texts: Texts,
    /// How many parts each fragment has, where all have as many, and where these lie, with 32-bit offsets.
    even: Option<(usize, Vec<i32>)>,
    /// Which parts a field could be filled into; empty if none.
    may_hold_placeholder: Vec<bool>,
    /// By part, the column that it is as it stands: nothing of it is copied.
    columns: Vec<Option<TextColumn>>,
    /// How many fragments have such parts; what is added behind them has none.
    rows: usize,
    /// Runs of them that were asked for, of all fragments as they are now.
    runs: RunCache,
}

impl FragmentStore {
    /// The text of part `part` of fragment `fragment`.
    #[inline]
    pub fn bytes(&self, fragment: u32, part: u32) -> &[u8] {
        let (bytes, start, end) = self.place(fragment, part);
        &bytes[start..end]
    }

    /// The bytes of all parts, and where this one's are among them.
    #[inline]
    pub fn place(&self, fragment: u32, part: u32) -> (&[u8], usize, usize) {
        if let Some(column) = self.column(fragment, part) {
            return column.place(fragment as usize);
        }
        let at = self.starts[fragment as usize] + part as usize;
        let (start, end) = self.texts.offsets.text(at);
        (&self.texts.bytes, start, end)
    }

    /// Whether a field could be filled into it.
    #[inline]
    pub fn may_hold_placeholder(&self, fragment: u32, part: u32) -> bool {
        self.any_may_hold_placeholder()
            && self.column(fragment, part).is_none()
            && self.may_hold_placeholder[self.starts[fragment as usize] + part as usize]
    }

    /// Whether a field could be filled into any part.
    pub fn any_may_hold_placeholder(&self) -> bool {
        !self.may_hold_placeholder.is_empty()
    }

    /// Where all fragments have as many parts: how many, and where each begins and ends among which bytes.
    pub fn even(&self) -> Option<(usize, &[i32], &[u8])> {
        self.even.as_ref().map(|(each, offsets)| (*each, &offsets[..], &self.texts.bytes[..]))
    }

    fn make_even(&mut self, each: Option<usize>) {
        let narrow =
            || self.texts.offsets.iter().map(|offset| i32::try_from(offset).ok()).collect::<Option<Vec<i32>>>();
        self.even = each.and_then(|each| Some((each, narrow()?)));
    }

    /// How many fragments there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The lengths of some parts of each fragment, added up; of parts that each fragment has.
    pub fn lengths(&self, parts: &[u32]) -> Option<Vec<usize>> {
        let mut lengths = vec![0; self.starts.len()];
        for part in parts {
            if let Some(column) = self.as_column(*part) {
                let chunks: Vec<_> = lengths.chunks_mut(CHUNK_FRAGMENTS).enumerate().collect();
                threads::map(chunks, |(chunk, own)| {
                    let first = chunk * CHUNK_FRAGMENTS;
                    column.add_lengths(first..first + own.len(), own);
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

    /// A run of these fragments' parts, put together when it is first asked for; None where it can't be.
    pub fn run(&self, key: &RunKey) -> Option<Arc<Run>> {
        self.runs.get(key, || self.make_run(key))
    }

    /// Put the runs of all fragments together; None where they differ in their parts, or it is too much.
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
        threads::map(work, |(fragments, own)| {
            let mut at = 0;
            for fragment in fragments {
                for piece in key {
                    let piece = match piece {
                        RunPiece::Part(part) => self.bytes(fragment as u32, *part),
                        RunPiece::Lit(literal) => literal,
                    };
                    own[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                }
            }
        });
        Some(Run { offsets, bytes })
    }

    /// The column that a part of every fragment is, as it stands.
    pub fn as_column(&self, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| self.rows == self.starts.len())
    }

    #[inline]
    fn column(&self, fragment: u32, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| (fragment as usize) < self.rows)
    }

    /// The texts of some rows' parts, where `starts` says the number of each row's first part; `each` how many parts
    /// each row has, where all have as many; `may_hold_placeholder` which of them a field could be filled into.
    pub fn new(starts: Vec<usize>, texts: Texts, each: Option<usize>, may_hold_placeholder: Vec<bool>) -> Self {
        let may_hold_placeholder = if may_hold_placeholder.contains(&true) { may_hold_placeholder } else { Vec::new() };
        let mut out = Self { starts, texts, may_hold_placeholder, ..Self::default() };
        out.make_even(each);
        out
    }

    /// FragmentStore of so many rows of which some are columns as they stand, in place of the texts among `texts`.
    #[must_use]
    pub fn with_columns(self, rows: usize, columns: Vec<Option<TextColumn>>) -> Self {
        let starts = if self.starts.is_empty() { vec![0; rows] } else { self.starts };
        Self { starts, columns, rows, ..self }
    }

    /// The texts of all parts that are no columns, and how many.
    pub fn texts<'t>(&'t self) -> (impl Fn(usize) -> &'t [u8] + Sync, usize) {
        let text = |n: usize| {
            let (start, end) = self.texts.offsets.text(n);
            &self.texts.bytes[start..end]
        };
        (text, self.texts.offsets.len().saturating_sub(1))
    }

    /// The columns that parts are.
    pub fn columns(&self) -> &[Option<TextColumn>] {
        &self.columns
    }

    /// As many fragments of other texts, which nothing is filled into.
    #[must_use]
    pub fn with_texts(&self, texts: Texts, columns: Vec<Option<TextColumn>>) -> Self {
        let each = self.even.as_ref().map(|(each, _)| *each);
        Self { columns, rows: self.rows, ..Self::new(self.starts.clone(), texts, each, Vec::new()) }
    }

    /// The same parts, each a fragment of its own.
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
    /// The renderer's.
    pub renderer: &'a FragmentStore,
    /// The batch's.
    pub batch: &'a FragmentStore,
}

impl<'a> FragmentStores<'a> {
    /// The fragments of a set.
    #[inline]
    pub fn of(self, set: FragmentSet) -> &'a FragmentStore {
        match set {
            FragmentSet::Renderer => self.renderer,
            FragmentSet::Batch => self.batch,
        }
    }

    /// The text of a fragment, in a row that shows these.
    #[inline]
    pub fn bytes(self, place: FragmentRef, shown: &[u32]) -> &'a [u8] {
        self.of(place.set).bytes(shown[place.slot as usize], place.part)
    }
}
