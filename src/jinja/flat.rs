//! Programs that only copy: literals, columns, and items of lists of texts, stripped or as they are, and which of them by
//! conditions on columns; as the programs of most tables and chats are.
//!
//! Lengths follow from offsets, and from the ends of texts where these are stripped, so nothing is put down between
//! measuring a row and writing it. Rows are gone through in blocks, piece by piece, so that nothing is decided row by row:
//! a piece that a row hasn't is one without bytes. A column's bytes are checked when they are near: in what was written,
//! where all of them were.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::flat_copies::{Content, Copies, Piece, Sources, Unfit};
use super::flat_source::{Cell, Place, Source};
use super::pieces::Bailed;
use super::program::Program;
use super::row_limit::{is_too_long, may_be_too_long};
use super::value::Bail;
use crate::error::{Code, Error, Result};
use crate::render::{CopyStep, Pairs, put};
use crate::threads;

/// Rows at most whose bytes are checked while they are near, and bytes at most that stay near.
const BLOCK_ROWS: usize = 64;
/// Bytes of a row's pieces that such rows have on average.
const BLOCK_BYTES: usize = 24 << 10;
/// Pieces whose places are put down before they are written.
const BLOCK_PIECES: usize = 1 << 10;

/// Rows whose programs only copy.
pub(super) struct Flat<'a> {
    programs: Vec<Option<Copies<'a>>>,
    sources: Vec<Source<'a>>,
    /// The sources of which all is written, if there is one program.
    covered: Vec<bool>,
}

/// Which rows take which branches, and where their pieces are.
#[derive(Default)]
struct Block<'s> {
    conditions: Vec<Vec<bool>>,
    branches: Vec<Vec<bool>>,
    /// Of each row all of its pieces.
    places: Vec<Place<'s>>,
}

impl<'a> Flat<'a> {
    /// Programs over a batch; None if one of them does more than copy, or a column has to be looked at more closely.
    ///
    /// # Errors
    ///
    /// If a column is malformed.
    pub(super) fn new(programs: &[Option<&'a Program>], batch: &'a RecordBatch) -> Result<Option<Self>> {
        let mut sources = Sources::new(batch);
        let mut own = Vec::with_capacity(programs.len());
        for program in programs {
            own.push(match program.map(|program| Copies::new(program, &mut sources)).transpose() {
                Ok(copies) => copies,
                Err(Unfit::More) => return Ok(None),
                Err(Unfit::Fault(error)) => return Err(error),
            });
        }
        let sources = sources.all;
        let covered = match &own[..] {
            [Some(copies)] => (0..sources.len()).map(|n| copies.covers(n, sources[n].is_listed())).collect(),
            _ => vec![false; sources.len()],
        };
        Ok(Some(Self { programs: own, sources, covered }))
    }

    /// Whether anything is stripped, so that the ends of texts are looked at to measure them.
    pub(super) fn strips(&self) -> bool {
        let strips = |piece: &Piece| matches!(piece.content, Content::Cell(cell) if cell.strip.is_some());
        self.programs.iter().flatten().any(|copies| copies.pieces.iter().any(strips))
    }

    /// The lengths of rows' texts, and the rows that aren't rendered here. `program_of` says which program a row has.
    pub(super) fn measure(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
    ) -> (Vec<usize>, Vec<Bailed>) {
        self.measured(rows, program_of, false)
    }

    /// The same, or by `unstripped` the lengths if nothing were stripped, for which no text is looked at.
    pub(super) fn measured(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
        unstripped: bool,
    ) -> (Vec<usize>, Vec<Bailed>) {
        let (mut lengths, mut bailed) = (vec![0; rows.len()], Vec::new());
        let mut block = Block::default();
        let mut rest = rows.clone();
        while !rest.is_empty() {
            let (run, copies) = self.run(rest.clone(), program_of);
            rest.start = run.end;
            let Some(copies) = copies else {
                bailed.extend(run.map(|row| Bailed { row, program: program_of(row), reason: Bail::VALUE }));
                continue;
            };
            let own = &mut lengths[run.start - rows.start..run.end - rows.start];
            own.fill(copies.fixed);
            self.decide(copies, run.clone(), &mut block);
            for piece in &copies.pieces {
                let taken = piece.branch.map(|branch| &block.branches[branch][..]);
                match &piece.content {
                    Content::Literal(start, end) => add(own, taken, end - start),
                    Content::Constant(text) => add(own, taken, text.len()),
                    Content::Cell(cell) => {
                        let source = &self.sources[cell.source];
                        let cell = &if unstripped { Cell { strip: None, ..*cell } } else { *cell };
                        match taken {
                            None if cell.item.is_none() && cell.strip.is_none() => {
                                source.texts.add_lengths(run.clone(), own);
                            }
                            None => source.each(*cell, run.clone(), |n, (_, start, end)| own[n] += end - start),
                            Some(taken) => source.each(*cell, run.clone(), |n, (_, start, end)| {
                                own[n] += if taken[n] { end - start } else { 0 };
                            }),
                        }
                    }
                }
            }
            if may_be_too_long(own) {
                for (row, length) in run.zip(own) {
                    let input = || self.sources.iter().map(|source| source.input_bytes(row)).sum();
                    if is_too_long(*length, input) {
                        *length = 0;
                        bailed.push(Bailed { row, program: program_of(row), reason: Bail::VALUE });
                    }
                }
            }
        }
        (lengths, bailed)
    }

    /// The first of some rows, as far as they have the same program and what it needs; None where they haven't.
    fn run(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
    ) -> (Range<usize>, Option<&Copies<'a>>) {
        let program = program_of(rows.start);
        let copies = self.programs[program as usize].as_ref();
        let fits = |row: usize| {
            copies.is_some_and(|copies| {
                copies.lists.iter().all(|(list, least)| self.sources[*list].has_items(row, *least))
            })
        };
        let alone = self.programs.len() == 1;
        let all_have = |(list, least): &(usize, usize)| self.sources[*list].all_have_items(rows.clone(), *least);
        if alone && copies.is_some_and(|copies| copies.lists.iter().all(all_have)) {
            return (rows, copies);
        }
        let fine = fits(rows.start);
        let same = |row: &usize| (alone || program_of(*row) == program) && fits(*row) == fine;
        let end = (rows.start + 1..rows.end).find(|row| !same(row)).unwrap_or(rows.end);
        (rows.start..end, copies.filter(|_| fine))
    }

    /// Which rows take which branches of a program.
    fn decide(&self, copies: &Copies, rows: Range<usize>, block: &mut Block) {
        block.conditions.resize_with(copies.conditions.len(), Vec::new);
        block.branches.resize_with(copies.branches.len(), Vec::new);
        for (condition, out) in copies.conditions.iter().zip(&mut block.conditions) {
            condition.holds(rows.clone(), &self.sources, out);
        }
        for (at, branch) in copies.branches.iter().enumerate() {
            let (before, own) = block.branches.split_at_mut(at);
            let (own, found) = (&mut own[0], &block.conditions[branch.condition]);
            own.clear();
            match branch.within {
                None => own.extend(found.iter().map(|found| *found == branch.holds)),
                Some(outer) => {
                    let both = found.iter().zip(&before[outer]);
                    own.extend(both.map(|(found, outer)| *outer && *found == branch.holds));
                }
            }
        }
    }

    /// The only program, if it copies columns as they are, and these are of one kind.
    fn pairs(&self, rows: usize) -> Option<Pairs<'_, i32>> {
        let [Some(copies)] = &self.programs[..] else { return None };
        if !copies.is_plain() {
            return None;
        }
        let mut steps = Vec::with_capacity(2 * copies.pieces.len() + 1);
        for piece in &copies.pieces {
            let Content::Cell(cell) = &piece.content else { return None };
            steps.push(CopyStep::Lit(copies.literals, piece.literal.0, piece.literal.1));
            steps.push(CopyStep::column(&self.sources[cell.source].texts));
        }
        steps.push(CopyStep::Lit(copies.literals, copies.end.0, copies.end.1));
        Pairs::new(&steps, copies.literals, rows)
    }

    /// Write rows' texts one behind the other; false if a column's bytes turn out to be none. `others` are the texts of
    /// rows that aren't rendered here, the first of these rows first.
    pub(super) fn write<'o>(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
        others: impl Iterator<Item = (usize, &'o str)>,
        own: &mut [u8],
    ) -> bool {
        let (pairs, mut at, mut others) = (self.pairs(rows.len()), 0, others.peekable());
        let mut block = Block::default();
        let many = (BLOCK_BYTES * rows.len() / own.len().max(1)).clamp(1, BLOCK_ROWS);
        let by_output = self.by_output(rows.len(), own.len());
        for rows in threads::chunks(rows, many) {
            let (first, mut complete) = (at, true);
            let next_other = others.peek().map_or(usize::MAX, |(row, _)| *row);
            if let (Some(pairs), true) = (&pairs, next_other >= rows.end) {
                for row in rows.clone() {
                    at = pairs.write(own, at, row, &[]);
                }
            } else {
                let mut rest = rows.clone();
                while !rest.is_empty() {
                    let (mut run, mut copies) = self.run(rest.clone(), program_of);
                    // A program's row may have been given up for its length.
                    if let Some((row, _)) = others.peek().filter(|(row, _)| copies.is_some() && run.contains(row)) {
                        copies = copies.filter(|_| *row > run.start);
                        run.end = (*row).max(run.start + 1);
                    }
                    if let Some(copies) = copies {
                        run.end = run.end.min(run.start + (BLOCK_PIECES / copies.pieces.len().max(1)).max(1));
                        at = self.write_run(copies, run.clone(), own, at, &mut block);
                    } else {
                        complete = false;
                        for (_, text) in others.by_ref().take(run.len()) {
                            own[at..at + text.len()].copy_from_slice(text.as_bytes());
                            at += text.len();
                        }
                    }
                    rest.start = run.end;
                }
            }
            if !self.are_sound(rows, &own[first..at], by_output.filter(|_| complete)) {
                return false;
            }
        }
        true
    }

    /// Write rows of one program, which have what it needs.
    fn write_run<'s>(
        &'s self,
        copies: &'s Copies<'a>,
        rows: Range<usize>,
        own: &mut [u8],
        mut at: usize,
        block: &mut Block<'s>,
    ) -> usize {
        self.decide(copies, rows.clone(), block);
        let (width, many) = (copies.pieces.len(), rows.len());
        let nothing = (copies.literals, 0, 0);
        let Block { branches, places, .. } = block;
        places.clear();
        places.resize(width * many, nothing);
        for (k, piece) in copies.pieces.iter().enumerate() {
            let taken = piece.branch.map(|branch| &branches[branch][..]);
            let mut put_down = |n: usize, place: Place<'s>| {
                places[n * width + k] = if taken.is_none_or(|taken| taken[n]) { place } else { nothing };
            };
            match &piece.content {
                Content::Literal(start, end) => (0..many).for_each(|n| put_down(n, (copies.literals, *start, *end))),
                Content::Constant(text) => (0..many).for_each(|n| put_down(n, (text, 0, text.len()))),
                Content::Cell(cell) => self.sources[cell.source].each(*cell, rows.clone(), put_down),
            }
        }
        for n in 0..many {
            for (piece, (from, start, end)) in copies.pieces.iter().zip(&places[n * width..(n + 1) * width]) {
                at = put(own, at, copies.literals, piece.literal.0, piece.literal.1);
                at = put(own, at, from, *start, *end);
            }
            at = put(own, at, copies.literals, copies.end.0, copies.end.1);
        }
        at
    }

    /// The only program, if it is better to look for what is no text in what was written: that is nearer than what it was
    /// copied from, but may be much more.
    fn by_output(&self, rows: usize, written: usize) -> Option<&Copies<'a>> {
        let [Some(copies)] = &self.programs[..] else { return None };
        (copies.fixed * rows < written / 2).then_some(copies)
    }

    /// Whether the bytes of rows are texts, by what was written of them, or as they lie in their columns.
    fn are_sound(&self, rows: Range<usize>, written: &[u8], by_output: Option<&Copies>) -> bool {
        let is_sound = |source: &Source| source.is_sound(rows.clone());
        let Some(copies) = by_output else { return self.sources.iter().all(is_sound) };
        let (mut shown, mut all) = (false, true);
        for (n, source) in self.sources.iter().enumerate() {
            if !source.unread {
                continue;
            }
            if self.covered[n] && source.has_no_more(rows.clone(), copies.least(n)) {
                shown = true;
            } else {
                all = all && is_sound(source);
            }
        }
        if !all || !shown || written.is_ascii() || copies.are_apart() && simdutf8::basic::from_utf8(written).is_ok() {
            return all;
        }
        self.sources.iter().all(is_sound)
    }

    /// What is wrong with a column whose bytes turned out to be no texts.
    pub(super) fn fault(&self) -> Error {
        let unknown = || Error::render(Code::InternalError, "texts that were written are none");
        self.sources.iter().filter(|source| source.unread).find_map(Source::fault).unwrap_or_else(unknown)
    }
}

/// Add a length to those of rows, or of the ones that are taken.
fn add(lengths: &mut [usize], taken: Option<&[bool]>, more: usize) {
    match taken {
        None => lengths.iter_mut().for_each(|length| *length += more),
        Some(taken) => {
            for (length, taken) in lengths.iter_mut().zip(taken) {
                *length += if *taken { more } else { 0 };
            }
        }
    }
}
