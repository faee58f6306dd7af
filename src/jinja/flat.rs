//! Programs that only copy literals, columns and items of lists of texts. They may strip texts, and may copy some only
//! if a condition on columns holds. The programs of most tables and chats are like this.
//!
//! The lengths of texts follow from offsets, and from the texts' ends if they are stripped, so measuring a row keeps
//! nothing for writing it. Rows are processed in blocks, piece by piece, so that few decisions are made for each row: a
//! piece that a row doesn't have is empty. A column's bytes are checked while they are in the cache. If the output
//! contains all of them, they are checked there.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::flat_copies::{Content, Copies, Piece, Sources, Unfit};
use super::flat_source::{Cell, Source, TextSlice};
use super::pieces::Bailed;
use super::program::Program;
use super::row_limit::{is_too_long, may_be_too_long};
use super::value::Bail;
use crate::error::{Code, Error, Result};
use crate::render::{CopyStep, Pairs, put};
use crate::threads;

/// The maximum number of rows in a block. The bytes of a block are checked while they are in the cache.
const BLOCK_ROWS: usize = 64;
/// The average number of output bytes in a block.
const BLOCK_BYTES: usize = 24 << 10;
/// The maximum number of pieces that are located before they are written.
const BLOCK_PIECES: usize = 1 << 10;

/// Programs that only copy, and the columns that they copy.
pub(super) struct Flat<'a> {
    programs: Vec<Option<Copies<'a>>>,
    sources: Vec<Source<'a>>,
    /// True for each source whose texts are all in the output, if there is a single program.
    covered: Vec<bool>,
}

/// The branches and pieces of the rows in a block.
#[derive(Default)]
struct Block<'s> {
    conditions: Vec<Vec<bool>>,
    branches: Vec<Vec<bool>>,
    /// The texts of all pieces, row by row.
    slices: Vec<TextSlice<'s>>,
}

impl<'a> Flat<'a> {
    /// Read programs for a batch. Return None if a program does more than copy, or if the values of a column have to be
    /// read row by row.
    ///
    /// # Errors
    ///
    /// If a column is malformed.
    pub(super) fn new(programs: &[Option<&'a Program>], batch: &'a RecordBatch) -> Result<Option<Self>> {
        let mut sources = Sources::new(batch);
        let mut all_copies = Vec::with_capacity(programs.len());
        for program in programs {
            all_copies.push(match program.map(|program| Copies::new(program, &mut sources)).transpose() {
                Ok(copies) => copies,
                Err(Unfit::More) => return Ok(None),
                Err(Unfit::Fault(error)) => return Err(error),
            });
        }
        let sources = sources.all;
        let covered = match &all_copies[..] {
            [Some(copies)] => (0..sources.len()).map(|n| copies.covers(n, sources[n].is_listed())).collect(),
            _ => vec![false; sources.len()],
        };
        Ok(Some(Self { programs: all_copies, sources, covered }))
    }

    /// Return true if a program strips texts. Then, measuring reads the ends of texts.
    pub(super) fn strips(&self) -> bool {
        let strips = |piece: &Piece| matches!(piece.content, Content::Cell(cell) if cell.strip.is_some());
        self.programs.iter().flatten().any(|copies| copies.pieces.iter().any(strips))
    }

    /// Return the lengths of rows' texts, and the rows that aren't rendered here. `program_of` returns the program of a
    /// row.
    pub(super) fn measure(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
    ) -> (Vec<usize>, Vec<Bailed>) {
        self.measured(rows, program_of, false)
    }

    /// Do the same as [`Self::measure`]. If `unstripped` is true, return the lengths without stripping. This reads no
    /// text.
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
            let run_lengths = &mut lengths[run.start - rows.start..run.end - rows.start];
            run_lengths.fill(copies.fixed);
            self.decide(copies, run.clone(), &mut block);
            for piece in &copies.pieces {
                let is_taken = piece.branch.map(|branch| &block.branches[branch][..]);
                match &piece.content {
                    Content::Literal(start, end) => add(run_lengths, is_taken, end - start),
                    Content::Constant(text) => add(run_lengths, is_taken, text.len()),
                    Content::Cell(cell) => {
                        let source = &self.sources[cell.source];
                        let cell = &if unstripped { Cell { strip: None, ..*cell } } else { *cell };
                        match is_taken {
                            None if cell.item.is_none() && cell.strip.is_none() => {
                                source.texts.add_lengths(run.clone(), run_lengths);
                            }
                            None => source.each(*cell, run.clone(), |n, (_, start, end)| run_lengths[n] += end - start),
                            Some(is_taken) => source.each(*cell, run.clone(), |n, (_, start, end)| {
                                run_lengths[n] += if is_taken[n] { end - start } else { 0 };
                            }),
                        }
                    }
                }
            }
            if may_be_too_long(run_lengths) {
                for (row, length) in run.zip(run_lengths) {
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

    /// Return the first run of rows that have the same program and the items that it needs, and the program's copies.
    /// Rows that don't have these items are a run without copies.
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

    /// Find the rows that take each branch of a program.
    fn decide(&self, copies: &Copies, rows: Range<usize>, block: &mut Block) {
        block.conditions.resize_with(copies.conditions.len(), Vec::new);
        block.branches.resize_with(copies.branches.len(), Vec::new);
        for (condition, out) in copies.conditions.iter().zip(&mut block.conditions) {
            condition.holds(rows.clone(), &self.sources, out);
        }
        for (number, branch) in copies.branches.iter().enumerate() {
            let (before, rest) = block.branches.split_at_mut(number);
            let (is_taken, holds) = (&mut rest[0], &block.conditions[branch.condition]);
            is_taken.clear();
            match branch.within {
                None => is_taken.extend(holds.iter().map(|holds| *holds == branch.holds)),
                Some(outer) => {
                    let both = holds.iter().zip(&before[outer]);
                    is_taken.extend(both.map(|(holds, outer)| *outer && *holds == branch.holds));
                }
            }
        }
    }

    /// Return the steps of the only program, if it copies whole columns, all with offsets of 32 bits.
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

    /// Write the texts of rows to `out`. Return false if a column's bytes aren't UTF-8. `others` are the texts of rows
    /// that aren't rendered here, in ascending order from the first row on.
    pub(super) fn write<'o>(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
        others: impl Iterator<Item = (usize, &'o str)>,
        out: &mut [u8],
    ) -> bool {
        let (pairs, mut written, mut others) = (self.pairs(rows.len()), 0, others.peekable());
        let mut block = Block::default();
        let many = (BLOCK_BYTES * rows.len() / out.len().max(1)).clamp(1, BLOCK_ROWS);
        let by_output = self.by_output(rows.len(), out.len());
        for rows in threads::chunks(rows, many) {
            let (first, mut complete) = (written, true);
            let next_other = others.peek().map_or(usize::MAX, |(row, _)| *row);
            if let (Some(pairs), true) = (&pairs, next_other >= rows.end) {
                for row in rows.clone() {
                    written = pairs.write(out, written, row, &[]);
                }
            } else {
                let mut rest = rows.clone();
                while !rest.is_empty() {
                    let (mut run, mut copies) = self.run(rest.clone(), program_of);
                    // A row may have been given up because it is too long.
                    if let Some((row, _)) = others.peek().filter(|(row, _)| copies.is_some() && run.contains(row)) {
                        copies = copies.filter(|_| *row > run.start);
                        run.end = (*row).max(run.start + 1);
                    }
                    if let Some(copies) = copies {
                        run.end = run.end.min(run.start + (BLOCK_PIECES / copies.pieces.len().max(1)).max(1));
                        written = self.write_run(copies, run.clone(), out, written, &mut block);
                    } else {
                        complete = false;
                        for (_, text) in others.by_ref().take(run.len()) {
                            out[written..written + text.len()].copy_from_slice(text.as_bytes());
                            written += text.len();
                        }
                    }
                    rest.start = run.end;
                }
            }
            if !self.are_sound(rows, &out[first..written], by_output.filter(|_| complete)) {
                return false;
            }
        }
        true
    }

    /// Write rows of one program. They must have the items that the program needs. Return the number of written bytes.
    fn write_run<'s>(
        &'s self,
        copies: &'s Copies<'a>,
        rows: Range<usize>,
        out: &mut [u8],
        mut written: usize,
        block: &mut Block<'s>,
    ) -> usize {
        self.decide(copies, rows.clone(), block);
        let (width, many) = (copies.pieces.len(), rows.len());
        let nothing = (copies.literals, 0, 0);
        let Block { branches, slices, .. } = block;
        slices.clear();
        slices.resize(width * many, nothing);
        for (k, piece) in copies.pieces.iter().enumerate() {
            let is_taken = piece.branch.map(|branch| &branches[branch][..]);
            let mut add = |n: usize, slice: TextSlice<'s>| {
                slices[n * width + k] = if is_taken.is_none_or(|is_taken| is_taken[n]) { slice } else { nothing };
            };
            match &piece.content {
                Content::Literal(start, end) => (0..many).for_each(|n| add(n, (copies.literals, *start, *end))),
                Content::Constant(text) => (0..many).for_each(|n| add(n, (text, 0, text.len()))),
                Content::Cell(cell) => self.sources[cell.source].each(*cell, rows.clone(), add),
            }
        }
        for n in 0..many {
            for (piece, (from, start, end)) in copies.pieces.iter().zip(&slices[n * width..(n + 1) * width]) {
                written = put(out, written, copies.literals, piece.literal.0, piece.literal.1);
                written = put(out, written, from, *start, *end);
            }
            written = put(out, written, copies.literals, copies.end.0, copies.end.1);
        }
        written
    }

    /// Return the only program, if it is better to check the output for bytes that aren't UTF-8. The output is in the
    /// cache, but may be much larger than its sources.
    fn by_output(&self, rows: usize, written: usize) -> Option<&Copies<'a>> {
        let [Some(copies)] = &self.programs[..] else { return None };
        (copies.fixed * rows < written / 2).then_some(copies)
    }

    /// Return true if the bytes of rows are UTF-8. If `by_output` is given, check them in the output, otherwise in
    /// their columns.
    fn are_sound(&self, rows: Range<usize>, written: &[u8], by_output: Option<&Copies>) -> bool {
        let is_sound = |source: &Source| source.is_sound(rows.clone());
        let Some(copies) = by_output else { return self.sources.iter().all(is_sound) };
        let (mut any_by_output, mut all) = (false, true);
        for (n, source) in self.sources.iter().enumerate() {
            if !source.unread {
                continue;
            }
            if self.covered[n] && source.has_no_more(rows.clone(), copies.least(n)) {
                any_by_output = true;
            } else {
                all = all && is_sound(source);
            }
        }
        if !all
            || !any_by_output
            || written.is_ascii()
            || copies.are_apart() && simdutf8::basic::from_utf8(written).is_ok()
        {
            return all;
        }
        self.sources.iter().all(is_sound)
    }

    /// Return the error of a column whose bytes aren't UTF-8.
    pub(super) fn fault(&self) -> Error {
        let unknown = || Error::render(Code::InternalError, "texts that were written are none");
        self.sources.iter().filter(|source| source.unread).find_map(Source::fault).unwrap_or_else(unknown)
    }
}

/// Add a length to those of all rows, or of rows for which `is_taken` is true.
fn add(lengths: &mut [usize], is_taken: Option<&[bool]>, more: usize) {
    match is_taken {
        None => lengths.iter_mut().for_each(|length| *length += more),
        Some(is_taken) => {
            for (length, is_taken) in lengths.iter_mut().zip(is_taken) {
                *length += if *is_taken { more } else { 0 };
            }
        }
    }
}
