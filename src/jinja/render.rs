//! The row loop: it evaluates each row into pieces.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use bumpalo::Bump;

use super::bound_columns::bound;
use super::column::Column;
use super::evaluate::Evaluation;
use super::flat::Flat;
use super::left_out::{LeftOut, Seen, are_never_written};
use super::origins::{Marks, Origins, Sources, Spans, Trace, array};
use super::pieces::{Bailed, Chunk};
use super::program::Program;
use super::row_limit::{input_bytes, is_too_long};
use super::row_writer::{Bases, RowWriter};
use super::scratch::Scratch;
use super::value::{Bail, Value};
use crate::error::{Code, Error, Result};
use crate::threads;

/// The number of rows in a chunk. A thread handles one chunk at a time.
pub(super) const CHUNK_ROWS: usize = 1024;
/// The number of rows that are copied before further rows are measured, so that their texts are still in the cache.
const FLAT_SLICE_ROWS: usize = 1 << 16;
/// The number of rows that are evaluated before any of them is written.
const SLICE_ROWS: usize = 1 << 17;
/// The maximum number of rows whose values are computed into the same memory.
const BLOCK_ROWS: usize = 128;
/// The number of bytes after which the memory is reset, even if there were fewer rows.
const BLOCK_BYTES: usize = 256 << 10;

/// The rows of a batch, with the program of each.
pub struct Rendering<'a> {
    programs: &'a [Option<&'a Program>],
    which: Option<&'a [u32]>,
    pub(super) work: Work<'a>,
    rows: usize,
}

pub(super) enum Work<'a> {
    /// Programs that only copy.
    Flat(Flat<'a>),
    /// Any programs. The columns, and for each program the index of each of its columns among these.
    Any(Vec<Column<'a>>, Vec<Vec<usize>>),
}

impl<'a> Work<'a> {
    fn any(programs: &'a [Option<&'a Program>], batch: &'a RecordBatch) -> Result<Self> {
        let (columns, bound) = bound(programs, batch, |program| vec![true; program.columns.len()])?;
        Ok(Self::Any(columns, bound))
    }
}

/// Evaluated rows, and the pieces of their texts.
#[derive(Debug)]
pub struct Evaluated {
    pub(super) rows: Range<usize>,
    /// The length of each text. It is 0 for rows that bailed.
    pub(super) lengths: Vec<usize>,
    pub(super) bailed: Vec<Bailed>,
    /// The pieces. There are none for programs that only copy.
    pub(super) chunks: Vec<Chunk>,
    left_out: Vec<LeftOut>,
}

impl Evaluated {
    /// Return the rows that aren't rendered here, in ascending order.
    pub fn bailed(&self) -> &[Bailed] {
        &self.bailed
    }

    /// Return the parts of the input that texts lack, in the order of the rows. There are none for programs that only
    /// copy: [`Rendering::left_out`] returns those.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

impl<'a> Rendering<'a> {
    /// Prepare the rows of `batch`. `which` is the number of each row's program; all have the first one if it is None.
    ///
    /// # Errors
    ///
    /// If a column is missing or malformed, or there is no such program.
    pub fn new(programs: &'a [Option<&'a Program>], which: Option<&'a [u32]>, batch: &'a RecordBatch) -> Result<Self> {
        let rows = batch.num_rows();
        let unfit = match which {
            None => programs.is_empty() && rows > 0,
            Some(which) => which.len() != rows || which.iter().any(|program| *program as usize >= programs.len()),
        };
        if unfit {
            return Err(Error::render(Code::InternalError, "there is no program for some row"));
        }
        let work = match Flat::new(programs, batch)? {
            Some(flat) => Work::Flat(flat),
            None => Work::any(programs, batch)?,
        };
        Ok(Self { programs, which, work, rows })
    }

    /// Prepare the same rows, for the spans of their texts.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::new`].
    pub fn traced(
        programs: &'a [Option<&'a Program>],
        which: Option<&'a [u32]>,
        batch: &'a RecordBatch,
    ) -> Result<Self> {
        let rendering = Self::new(programs, which, batch)?;
        Ok(Self { work: Work::any(programs, batch)?, ..rendering })
    }

    /// Prepare the rows of `batch` for the values of some nodes of a program. Columns that they don't use aren't read.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::new`].
    pub fn of_nodes(program: &'a [Option<&'a Program>; 1], nodes: &[u32], batch: &'a RecordBatch) -> Result<Self> {
        let (columns, bound) = bound(program, batch, |program| program.columns_of(nodes))?;
        Ok(Self { programs: program, which: None, work: Work::Any(columns, bound), rows: batch.num_rows() })
    }

    /// Return the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Return the number of rows that should be evaluated before they are written. Their pieces are kept until then.
    pub fn rows_at_once(&self) -> usize {
        match &self.work {
            Work::Flat(_) => FLAT_SLICE_ROWS,
            Work::Any(..) => SLICE_ROWS,
        }
    }

    /// Return the bytes that texts are slices of: first those of columns, then the literals of each program. Return the
    /// index of the first program's literals too.
    pub(super) fn bases(&self) -> (Vec<&[u8]>, u32) {
        let mut bases: Vec<&[u8]> = Vec::new();
        if let Work::Any(columns, _) = &self.work {
            for column in columns {
                column.each_base(&mut |base| bases.push(base));
            }
        }
        let literals = bases.len() as u32;
        bases.extend(self.programs.iter().map(|program| program.map_or(&[][..], |program| &program.literals)));
        (bases, literals)
    }

    pub(super) fn program_of(&self, row: usize) -> u32 {
        self.which.map_or(0, |which| which[row])
    }

    /// Evaluate rows. `check` is called between chunks; it returns an error to stop.
    ///
    /// # Errors
    ///
    /// The errors of `check`.
    pub fn evaluate(&self, rows: Range<usize>, check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Evaluated> {
        let (columns, bound) = match &self.work {
            Work::Any(columns, bound) => (columns, bound),
            Work::Flat(flat) => {
                let measured = threads::try_map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| -> Result<_> {
                    check()?;
                    Ok(flat.measure(rows, &|row| self.program_of(row)))
                })?;
                let (mut lengths, mut bailed) = (Vec::with_capacity(rows.len()), Vec::new());
                for (of_chunk, given_up) in measured {
                    lengths.extend(of_chunk);
                    bailed.extend(given_up);
                }
                return Ok(Evaluated { rows, lengths, bailed, chunks: Vec::new(), left_out: Vec::new() });
            }
        };
        let (bases, literals) = self.bases();
        let columns: Vec<Vec<&Column>> =
            bound.iter().map(|indices| indices.iter().map(|index| &columns[*index]).collect()).collect();
        let has_gaps = self.has_gaps();
        let chunks = threads::try_map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| -> Result<Chunk> {
            check()?;
            let mut chunk = Chunk::new(rows.clone());
            let mut arena = Bump::new();
            let mut seen = Seen::new(self.programs);
            let mut row = rows.start;
            while row < rows.end {
                let bases = Bases { all: &bases[..literals as usize], literals };
                row = if has_gaps {
                    self.block(row..rows.end, &columns, &bases, &arena, &mut chunk, &mut seen)
                } else {
                    self.block(row..rows.end, &columns, &bases, &arena, &mut chunk, &mut ())
                };
                arena.reset();
            }
            chunk.left_out = seen.left_out;
            Ok(chunk)
        })?;
        let lengths = chunks.iter().flat_map(|chunk| chunk.lengths.iter().copied()).collect();
        let bailed = chunks.iter().flat_map(|chunk| chunk.bailed.iter().copied()).collect();
        let left_out = chunks.iter().flat_map(|chunk| chunk.left_out.iter().copied()).collect();
        Ok(Evaluated { rows, lengths, bailed, chunks, left_out })
    }

    fn has_gaps(&self) -> bool {
        self.programs.iter().flatten().any(|program| program.has_gaps())
    }

    /// Return true if the rows' programs only copy, and texts may lack parts of the input.
    pub fn copies_with_gaps(&self) -> bool {
        matches!(self.work, Work::Flat(_)) && self.has_gaps()
    }

    /// Return the parts of the input that texts lack, in the order of the rows; `self` comes from [`Self::traced`].
    ///
    /// # Errors
    ///
    /// The errors of `check`.
    pub fn left_out(&self, check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Vec<LeftOut>> {
        let Work::Any(columns, bound) = &self.work else {
            return Err(Error::render(Code::InternalError, "what texts lack needs rows that are traced"));
        };
        let (bases, literals) = self.bases();
        let columns: Vec<Vec<&Column>> =
            bound.iter().map(|indices| indices.iter().map(|index| &columns[*index]).collect()).collect();
        let parts = threads::try_map(threads::chunks(0..self.rows, CHUNK_ROWS), |rows| -> Result<Vec<LeftOut>> {
            check()?;
            let (mut seen, mut arena) = (Seen::new(self.programs), Bump::new());
            for row in rows {
                let number = self.program_of(row);
                let Some(program) = self.programs[number as usize].filter(|program| program.has_gaps()) else {
                    continue;
                };
                if are_never_written(program) {
                    seen.begin(number);
                    seen.end(true, &columns[number as usize], row);
                    continue;
                }
                let mut chunk = Chunk::new(row..row + 1);
                let bases = Bases { all: &bases[..literals as usize], literals };
                self.block(row..row + 1, &columns, &bases, &arena, &mut chunk, &mut seen);
                arena.reset();
            }
            Ok(seen.left_out)
        })?;
        Ok(parts.concat())
    }

    /// Return the spans of all rows: the ranges of a row's text and the origin of each. `origins` are the numbers of
    /// the columns or items of each program. `lengths` are the lengths of the texts, null for rows without a text.
    ///
    /// # Errors
    ///
    /// If the spans don't fit the texts, or are too many for an array. The errors of `check`.
    pub fn spans(
        &self,
        batch: &RecordBatch,
        sources: Sources,
        origins: &[Vec<u32>],
        lengths: &Int64Array,
        check: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<ArrayRef> {
        let Work::Any(columns, bound) = &self.work else {
            return Err(Error::render(Code::InternalError, "spans need rows that are traced"));
        };
        if lengths.len() != self.rows || origins.len() != self.programs.len() {
            return Err(Error::render(Code::InternalError, "there is no length or no origin for some row"));
        }
        let origins: Vec<Option<Origins>> = self
            .programs
            .iter()
            .zip(origins)
            .map(|(program, numbers)| program.map(|program| Origins::new(program, sources, numbers)))
            .collect();
        let (bases, literals) = self.bases();
        let columns: Vec<Vec<&Column>> =
            bound.iter().map(|indices| indices.iter().map(|index| &columns[*index]).collect()).collect();
        let parts = threads::try_map(threads::chunks(0..self.rows, CHUNK_ROWS), |rows| -> Result<Spans> {
            check()?;
            let (mut spans, mut arena) = (Spans::default(), Bump::new());
            for row in rows {
                let mut chunk = Chunk::new(row..row + 1);
                let bases = Bases { all: &bases[..literals as usize], literals };
                if let Some(origins) = &origins[self.program_of(row) as usize] {
                    let mut trace = Trace { origins, spans: &mut spans };
                    self.block(row..row + 1, &columns, &bases, &arena, &mut chunk, &mut trace);
                    arena.reset();
                }
                let length = lengths.is_valid(row).then(|| lengths.value(row) as usize);
                let is_rendered = chunk.bailed.is_empty() && !chunk.ends.is_empty();
                spans.end_row(length, is_rendered).map_err(|error| error.at_row(row))?;
            }
            Ok(spans)
        })?;
        array(parts, lengths, batch)
    }

    /// Evaluate the first of some rows that have the same program. Return the first row that wasn't evaluated.
    fn block(
        &self,
        rows: Range<usize>,
        columns: &[Vec<&Column>],
        bases: &Bases,
        arena: &Bump,
        chunk: &mut Chunk,
        marks: &mut impl Marks,
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
        let columns = &columns[number as usize];
        let literals = bases.literals + number;
        let mut writing = RowWriter { evaluation, bases, literals, chunk, first: 0, hint: 0, columns, row: 0, marks };
        for row in rows.start..rows.end.min(rows.start + BLOCK_ROWS) {
            if row > rows.start && (self.program_of(row) != number || scratch.used_bytes() > BLOCK_BYTES) {
                return row;
            }
            scratch.next_row();
            writing.evaluation.row(row);
            writing.row = row;
            writing.marks.begin(number);
            let (first, computed) = (writing.chunk.pieces.len(), writing.chunk.computed.len());
            writing.first = first;
            let mut written = writing.steps(&program.block);
            let input = || columns.iter().map(|column| input_bytes(column.value(row))).sum();
            if written.is_ok() && is_too_long(writing.chunk.length(first), input) {
                written = Err(Bail::VALUE);
            }
            writing.marks.end(written.is_ok(), columns, row);
            match written {
                Ok(()) => writing.chunk.end_row(first),
                Err(reason) => writing.chunk.give_up(Bailed { row, program: number, reason }, first, computed),
            }
        }
        rows.end.min(rows.start + BLOCK_ROWS)
    }

    /// Return the values of some expressions of a program for each row. A value that isn't an int becomes -1.
    ///
    /// # Errors
    ///
    /// The errors of `check`.
    pub fn ints(&self, nodes: &[u32], check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Vec<i64>> {
        let Some(program) = self.programs.first().copied().flatten() else { return Ok(Vec::new()) };
        let Work::Any(columns, bound) = &self.work else { return Ok(vec![-1; nodes.len() * self.rows]) };
        let columns: Vec<&Column> = bound[0].iter().map(|index| &columns[*index]).collect();
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
