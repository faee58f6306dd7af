//! The row loop: each row evaluated into pieces, then all of them copied to where they belong.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};
use bumpalo::Bump;

use super::column::Column;
use super::evaluate::Evaluation;
use super::pieces::{Bailed, COMPUTED, Chunk};
use super::print;
use super::program::{Program, Step};
use super::scratch::Scratch;
use super::value::{Bail, Value, Valued};
use crate::error::{Code, Error, Result};
use crate::plan::Layout;
use crate::render::{Bytes, TextBlock, Texts, limit, put};
use crate::threads;

/// Rows that one thread takes at a time.
const CHUNK_ROWS: usize = 1024;
/// Rows whose values are computed into the same memory, as long as they don't take more of it than that.
const BLOCK_ROWS: usize = 128;
/// What such rows may take until the memory is used anew.
const BLOCK_BYTES: usize = 256 << 10;

/// Rows of a batch, and the programs that they are rendered by.
pub struct Rendering<'a> {
    programs: &'a [Option<&'a Program>],
    which: Option<&'a [u32]>,
    columns: Vec<Column<'a>>,
    /// By program, which of these its columns are.
    bound: Vec<Vec<usize>>,
    rows: usize,
}

/// Rows evaluated: what their texts are made of.
#[derive(Debug)]
pub struct Evaluated {
    rows: Range<usize>,
    chunks: Vec<Chunk>,
}

impl Evaluated {
    /// The rows that aren't rendered here, in ascending order.
    pub fn bailed(&self) -> impl Iterator<Item = Bailed> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.bailed.iter().copied())
    }
}

impl<'a> Rendering<'a> {
    /// The rows of `batch`, each by the program that `which` says; without it by the first.
    ///
    /// # Errors
    ///
    /// If a column is missing or malformed, or there is no such program.
    pub fn new(programs: &'a [Option<&'a Program>], which: Option<&'a [u32]>, batch: &'a RecordBatch) -> Result<Self> {
        let rows = batch.num_rows();
        let unfit = match which {
            None => programs.is_empty() && rows > 0,
            Some(which) => which.len() != rows || which.iter().any(|one| *one as usize >= programs.len()),
        };
        if unfit {
            return Err(Error::render(Code::InternalError, "there is no program for some row"));
        }
        let schema = batch.schema_ref();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let (mut columns, mut bound) = (Vec::new(), Vec::with_capacity(programs.len()));
        for program in programs {
            let mut own = Vec::new();
            for name in program.iter().flat_map(|program| &program.columns) {
                if let Some(at) = places.get(&**name) {
                    own.push(*at);
                    continue;
                }
                let at = schema
                    .index_of(name)
                    .map_err(|_| Error::render(Code::MissingColumn, "the table has no such column").in_column(name))?;
                let column = Column::new(schema.field(at), batch.column(at)).map_err(|error| error.in_column(name))?;
                places.insert(name, columns.len());
                own.push(columns.len());
                columns.push(column);
            }
            bound.push(own);
        }
        Ok(Self { programs, which, columns, bound, rows })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What texts are slices of: of columns first, then the literals of each program.
    fn bases(&self) -> (Vec<&[u8]>, u32) {
        let mut bases: Vec<&[u8]> = Vec::new();
        for column in &self.columns {
            column.each_base(&mut |base| bases.push(base));
        }
        let literals = bases.len() as u32;
        bases.extend(self.programs.iter().map(|program| program.map_or(&[][..], |program| &program.literals)));
        (bases, literals)
    }

    fn program_of(&self, row: usize) -> u32 {
        self.which.map_or(0, |which| which[row])
    }

    /// Evaluate rows. `check` is asked between chunks of them whether to go on.
    ///
    /// # Errors
    ///
    /// What `check` returns.
    pub fn evaluate(&self, rows: Range<usize>, check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Evaluated> {
        let (bases, literals) = self.bases();
        let columns: Vec<Vec<&Column>> =
            self.bound.iter().map(|own| own.iter().map(|at| &self.columns[*at]).collect()).collect();
        let chunks = threads::try_map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| -> Result<Chunk> {
            check()?;
            let mut chunk = Chunk::new(rows.clone());
            let mut arena = Bump::new();
            let mut row = rows.start;
            while row < rows.end {
                let bases = Bases { all: &bases[..literals as usize], literals };
                row = self.block(row..rows.end, &columns, &bases, &arena, &mut chunk);
                arena.reset();
            }
            Ok(chunk)
        })?;
        Ok(Evaluated { rows, chunks })
    }

    /// Evaluate the first of some rows, as far as they have the same program; where the next one begins.
    fn block(
        &self,
        rows: Range<usize>,
        columns: &[Vec<&Column>],
        bases: &Bases,
        arena: &Bump,
        chunk: &mut Chunk,
    ) -> usize {
        let number = self.program_of(rows.start);
        let Some(program) = self.programs[number as usize] else {
            let (first, computed) = (chunk.pieces.len(), chunk.computed.len());
            let bailed = Bailed { row: rows.start, program: number, reason: Bail::VALUE };
            chunk.give_up(bailed, first, computed);
            return rows.start + 1;
        };
        let scratch = Scratch::new(arena);
        let evaluation = Evaluation::new(program, &columns[number as usize], &scratch);
        let mut writing = Writing { evaluation, bases, literals: bases.literals + number, chunk, first: 0, hint: 0 };
        for row in rows.start..rows.end.min(rows.start + BLOCK_ROWS) {
            if row > rows.start && (self.program_of(row) != number || scratch.taken() > BLOCK_BYTES) {
                return row;
            }
            scratch.next_row();
            writing.evaluation.row(row);
            let (first, computed) = (writing.chunk.pieces.len(), writing.chunk.computed.len());
            writing.first = first;
            match writing.steps(&program.block) {
                Ok(()) => writing.chunk.end_row(first),
                Err(reason) => writing.chunk.give_up(Bailed { row, program: number, reason }, first, computed),
            }
        }
        rows.end.min(rows.start + BLOCK_ROWS)
    }

    /// The texts of rows that were evaluated, in as many arrays as the layout needs; `others` are those of the rows that
    /// bailed, in their order.
    ///
    /// # Errors
    ///
    /// If a text is longer than an array of the layout can hold, or there aren't as many others as rows that bailed.
    pub fn texts(&self, evaluated: &Evaluated, others: &[String], layout: Layout) -> Result<Vec<ArrayRef>> {
        self.texts_within(evaluated, others, layout, limit(layout))
    }

    fn texts_within(
        &self,
        evaluated: &Evaluated,
        others: &[String],
        layout: Layout,
        limit: usize,
    ) -> Result<Vec<ArrayRef>> {
        let bailed: Vec<usize> = evaluated.bailed().map(|bailed| bailed.row).collect();
        if bailed.len() != others.len() {
            let message = format!("{} texts came for {} rows", others.len(), bailed.len());
            return Err(Error::render(Code::InternalError, message));
        }
        let mut lengths: Vec<usize> = Vec::with_capacity(evaluated.rows.len());
        evaluated.chunks.iter().for_each(|chunk| lengths.extend_from_slice(&chunk.lengths));
        for (row, text) in bailed.iter().zip(others) {
            lengths[row - evaluated.rows.start] = text.len();
        }
        let mut out = Vec::new();
        let mut start = 0;
        loop {
            let (mut end, mut total) = (start, 0_usize);
            while let Some(length) = lengths.get(end)
                && total.checked_add(*length).is_some_and(|total| total <= limit)
            {
                total += length;
                end += 1;
            }
            if end == start && end < lengths.len() {
                let message =
                    format!("the text passes the 2 GiB that {layout:?} can hold; use strings=\"large_string\"",);
                return Err(Error::render(Code::OffsetOverflow, message).at_row(evaluated.rows.start + start));
            }
            let texts = self.copied(evaluated, start..end, &lengths, total, &bailed, others);
            out.push(TextBlock::new(texts).array(layout, None));
            start = end;
            if start == lengths.len() {
                return Ok(out);
            }
        }
    }

    /// Copy the texts of some of the rows, counted from the first, to where they belong.
    fn copied(
        &self,
        evaluated: &Evaluated,
        part: Range<usize>,
        lengths: &[usize],
        total: usize,
        bailed: &[usize],
        others: &[String],
    ) -> Texts {
        let mut offsets = Vec::with_capacity(part.len() + 1);
        offsets.push(0);
        let mut at = 0;
        for length in &lengths[part.clone()] {
            at += length;
            offsets.push(at);
        }
        let mut bytes = Bytes::new(total);
        let mut rest = &mut bytes[..];
        let mut slices = Vec::with_capacity(evaluated.chunks.len());
        let first_row = evaluated.rows.start;
        for chunk in &evaluated.chunks {
            let rows = chunk.rows.start.max(first_row + part.start)..chunk.rows.end.min(first_row + part.end);
            if !rows.is_empty() {
                let len = lengths[rows.start - first_row..rows.end - first_row].iter().sum();
                let (own, after) = rest.split_at_mut(len);
                slices.push((chunk, rows, own));
                rest = after;
            }
        }
        let (bases, _) = self.bases();
        threads::map(slices, |(chunk, rows, own)| {
            let mut at = 0;
            let mut other = bailed.partition_point(|row| *row < rows.start);
            let mut from = match rows.start - chunk.rows.start {
                0 => 0,
                before => chunk.ends[before - 1],
            };
            for row in rows {
                if bailed.get(other) == Some(&row) {
                    let text = others[other].as_bytes();
                    own[at..at + text.len()].copy_from_slice(text);
                    at += text.len();
                    other += 1;
                }
                let end = chunk.ends[row - chunk.rows.start];
                for piece in &chunk.pieces[from..end] {
                    let base = if piece.base == COMPUTED { &chunk.computed } else { bases[piece.base as usize] };
                    at = put(own, at, base, piece.start, piece.start + piece.len as usize);
                }
                from = end;
            }
        });
        Texts { offsets, bytes }
    }

    /// The values of expressions of a program for each row: ints alone, -1 for anything else.
    ///
    /// # Errors
    ///
    /// What `check` returns.
    pub fn ints(&self, nodes: &[u32], check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Vec<i64>> {
        let Some(program) = self.programs.first().copied().flatten() else { return Ok(Vec::new()) };
        let columns: Vec<&Column> = self.bound[0].iter().map(|at| &self.columns[*at]).collect();
        let chunks = threads::try_map(threads::chunks(0..self.rows, CHUNK_ROWS), |rows| -> Result<Vec<i64>> {
            check()?;
            let mut out = Vec::with_capacity(rows.len() * nodes.len());
            let mut arena = Bump::new();
            for rows in threads::chunks(rows, BLOCK_ROWS) {
                let scratch = Scratch::new(&arena);
                let mut evaluation = Evaluation::new(program, &columns, &scratch);
                for row in rows {
                    scratch.next_row();
                    evaluation.row(row);
                    out.extend(nodes.iter().map(|node| match evaluation.value(*node) {
                        Ok(Value::Int(value)) => value,
                        _ => -1,
                    }));
                }
                drop(evaluation);
                arena.reset();
            }
            Ok(out)
        })?;
        Ok(chunks.concat())
    }
}

/// Where texts are slices of.
struct Bases<'r> {
    all: &'r [&'r [u8]],
    /// The base of the first program's literals.
    literals: u32,
}

impl Bases<'_> {
    /// Which base a text is part of, and where in it; the one at `hint` is the likeliest.
    #[inline]
    fn find(&self, text: &[u8], hint: &mut usize) -> Option<(u32, usize)> {
        let address = text.as_ptr().addr();
        let within = |base: &[u8]| {
            let at = address.wrapping_sub(base.as_ptr().addr());
            (at < base.len() && text.len() <= base.len() - at).then_some(at)
        };
        if let Some(at) = within(self.all.get(*hint)?) {
            return Some((*hint as u32, at));
        }
        let (found, at) = self.all.iter().enumerate().find_map(|(n, base)| Some((n, within(base)?)))?;
        *hint = found;
        Some((found as u32, at))
    }
}

/// A row on its way to pieces.
struct Writing<'r, 'c> {
    evaluation: Evaluation<'r>,
    bases: &'c Bases<'c>,
    literals: u32,
    chunk: &'c mut Chunk,
    /// How many pieces stand before the row's.
    first: usize,
    hint: usize,
}

impl Writing<'_, '_> {
    fn steps(&mut self, steps: &[Step]) -> Valued<()> {
        for step in steps {
            match step {
                Step::Literal(start, end) => self.chunk.slice(self.literals, *start, end - start),
                Step::Emit(node) => {
                    let value = self.evaluation.value(*node)?;
                    self.emit(value)?;
                }
                Step::Check(node) => {
                    self.evaluation.value(*node)?;
                }
                Step::If(node, then, otherwise) => {
                    let holds = self.evaluation.value(*node)?.truth()?;
                    self.steps(if holds { then } else { otherwise })?;
                }
                Step::Bail(reason) => return Err(Bail(*reason)),
            }
        }
        Ok(())
    }

    #[inline]
    fn emit(&mut self, value: Value) -> Valued<()> {
        if let Value::Str(text) = value
            && let Some((base, start)) = self.bases.find(text, &mut self.hint)
        {
            self.chunk.slice(base, start, text.len());
            return Ok(());
        }
        let start = self.chunk.computed.len();
        print::text(value, &mut self.chunk.computed, self.evaluation.scratch)?;
        self.evaluation.scratch.spend(self.chunk.computed.len() - start)?;
        self.chunk.computed_from(start, self.first);
        Ok(())
    }
}
