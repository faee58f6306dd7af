//! The row loop: each row evaluated into pieces, then all of them copied to where they belong.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};
use bumpalo::Bump;

use super::column::Column;
use super::evaluate::Evaluation;
use super::flat::Flat;
use super::pieces::{Bailed, Chunk};
use super::print;
use super::program::{Program, Step};
use super::row_limit::{input_bytes, is_too_long};
use super::scratch::Scratch;
use super::value::{Bail, Value, Valued};
use crate::error::{Code, Error, Result};
use crate::plan::Layout;
use crate::render::{Bytes, TextBlock, Texts, limit};
use crate::threads;

/// Rows that one thread takes at a time.
const CHUNK_ROWS: usize = 1024;
/// Such chunks that each thread has to itself before it waits for others.
const CHUNKS_AT_ONCE: usize = 4;
/// Rows that are copied before others are measured: where their texts lie is near still.
const FLAT_SLICE_ROWS: usize = 1 << 16;
/// Rows that are evaluated before any of them is written.
const SLICE_ROWS: usize = 1 << 17;
/// Rows whose values are computed into the same memory, as long as they don't take more of it than that.
const BLOCK_ROWS: usize = 128;
/// What such rows may take until the memory is used anew.
const BLOCK_BYTES: usize = 256 << 10;

/// Rows of a batch, and the programs that they are rendered by.
pub struct Rendering<'a> {
    programs: &'a [Option<&'a Program>],
    which: Option<&'a [u32]>,
    work: Work<'a>,
    rows: usize,
}

enum Work<'a> {
    /// Programs that only copy.
    Flat(Flat<'a>),
    /// Any programs: the columns, and by program which of these its columns are.
    Any(Vec<Column<'a>>, Vec<Vec<usize>>),
}

/// Rows evaluated: what their texts are made of.
#[derive(Debug)]
pub struct Evaluated {
    rows: Range<usize>,
    /// How long each text is; 0 for rows that bailed.
    lengths: Vec<usize>,
    bailed: Vec<Bailed>,
    /// The pieces, but for programs that only copy.
    chunks: Vec<Chunk>,
}

impl Evaluated {
    /// The rows that aren't rendered here, in ascending order.
    pub fn bailed(&self) -> &[Bailed] {
        &self.bailed
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
        let work = match Flat::new(programs, batch)? {
            Some(flat) => Work::Flat(flat),
            None => {
                let (columns, bound) = bound(programs, batch, |program| vec![true; program.columns.len()])?;
                Work::Any(columns, bound)
            }
        };
        Ok(Self { programs, which, work, rows })
    }

    /// The rows of `batch`, for the values that nodes of a program have; columns that they don't read aren't looked at.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn of_nodes(program: &'a [Option<&'a Program>; 1], nodes: &[u32], batch: &'a RecordBatch) -> Result<Self> {
        let (columns, bound) = bound(program, batch, |program| program.columns_of(nodes))?;
        Ok(Self { programs: program, which: None, work: Work::Any(columns, bound), rows: batch.num_rows() })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many rows are best evaluated before they are written: what their texts are made of is kept so long.
    pub fn rows_at_once(&self) -> usize {
        match &self.work {
            Work::Flat(_) => FLAT_SLICE_ROWS,
            Work::Any(..) => SLICE_ROWS,
        }
    }

    /// What texts are slices of: of columns first, then the literals of each program.
    fn bases(&self) -> (Vec<&[u8]>, u32) {
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

    fn program_of(&self, row: usize) -> u32 {
        self.which.map_or(0, |which| which[row])
    }

    /// Evaluate rows. `check` is asked between chunks of them whether to go on.
    ///
    /// # Errors
    ///
    /// What `check` returns.
    pub fn evaluate(&self, rows: Range<usize>, check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Evaluated> {
        let (columns, bound) = match &self.work {
            Work::Any(columns, bound) => (columns, bound),
            Work::Flat(flat) => {
                let measured = threads::try_map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| -> Result<_> {
                    check()?;
                    Ok(flat.measure(rows, &|row| self.program_of(row)))
                })?;
                let (mut lengths, mut bailed) = (Vec::with_capacity(rows.len()), Vec::new());
                for (own, given_up) in measured {
                    lengths.extend(own);
                    bailed.extend(given_up);
                }
                return Ok(Evaluated { rows, lengths, bailed, chunks: Vec::new() });
            }
        };
        let (bases, literals) = self.bases();
        let columns: Vec<Vec<&Column>> = bound.iter().map(|own| own.iter().map(|at| &columns[*at]).collect()).collect();
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
        let lengths = chunks.iter().flat_map(|chunk| chunk.lengths.iter().copied()).collect();
        let bailed = chunks.iter().flat_map(|chunk| chunk.bailed.iter().copied()).collect();
        Ok(Evaluated { rows, lengths, bailed, chunks })
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
            let mut written = writing.steps(&program.block);
            let input = || columns[number as usize].iter().map(|column| input_bytes(column.value(row))).sum();
            if written.is_ok() && is_too_long(writing.chunk.length(first), input) {
                written = Err(Bail::VALUE);
            }
            match written {
                Ok(()) => writing.chunk.end_row(first),
                Err(reason) => writing.chunk.give_up(Bailed { row, program: number, reason }, first, computed),
            }
        }
        rows.end.min(rows.start + BLOCK_ROWS)
    }

    /// The texts of rows that are measured and written a few at a time, while what they are made of is near; None where
    /// programs do more than copy, some row is given up, or the texts may be too long for one array.
    ///
    /// # Errors
    ///
    /// If a column turns out to be malformed, and what `check` returns.
    pub fn at_once(
        &self,
        rows: Range<usize>,
        layout: Layout,
        check: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Option<ArrayRef>> {
        let Work::Flat(flat) = &self.work else { return Ok(None) };
        // Lengths that follow from offsets alone are measured fast enough that threads needn't wait for each other.
        if threads::several() && !flat.strips() {
            return Ok(None);
        }
        let program_of = |row: usize| self.program_of(row);
        let most = threads::map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| {
            let (lengths, bailed) = flat.measured(rows, &program_of, true);
            bailed.is_empty().then(|| lengths.iter().sum::<usize>())
        });
        let most = most.into_iter().try_fold(0_usize, |sum, own| sum.checked_add(own?));
        let Some(most) = most.filter(|most| *most <= limit(layout)) else { return Ok(None) };
        let mut bytes = Bytes::new(most)?;
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        let (mut rest, mut at) = (&mut bytes[..], 0);
        offsets.push(0);
        // What threads do next to each other waits for the last of them, so that each has some chunks to take.
        let many = if threads::several() { CHUNK_ROWS * CHUNKS_AT_ONCE * threads::count() } else { CHUNK_ROWS };
        for rows in threads::chunks(rows, many) {
            check()?;
            let chunks = threads::chunks(rows, CHUNK_ROWS);
            let measured = threads::map(chunks.clone(), |rows| flat.measure(rows, &program_of).0);
            let mut slices = Vec::with_capacity(chunks.len());
            for (rows, lengths) in chunks.into_iter().zip(measured) {
                let start = at;
                offsets.extend(lengths.iter().map(|length| {
                    at += length;
                    at
                }));
                let (own, after) = std::mem::take(&mut rest).split_at_mut(at - start);
                slices.push((rows, own));
                rest = after;
            }
            let fine = threads::map(slices, |(rows, own)| flat.write(rows, &program_of, std::iter::empty(), own));
            if fine.contains(&false) {
                return Err(flat.fault());
            }
        }
        bytes.truncate(at);
        Ok(Some(TextBlock::new(Texts { offsets: offsets.into(), bytes, is_plain: false }).array(layout, None)))
    }

    /// The texts of rows that were evaluated, in as many arrays as the layout needs; `others` are those of the rows that
    /// bailed, in their order.
    ///
    /// # Errors
    ///
    /// If a text is longer than an array of the layout can hold, there aren't as many others as rows that bailed, or a
    /// column turns out to be malformed.
    pub fn texts(&self, evaluated: Evaluated, others: &[String], layout: Layout) -> Result<Vec<ArrayRef>> {
        self.texts_within(evaluated, others, layout, limit(layout))
    }

    fn texts_within(
        &self,
        mut evaluated: Evaluated,
        others: &[String],
        layout: Layout,
        limit: usize,
    ) -> Result<Vec<ArrayRef>> {
        if evaluated.bailed.len() != others.len() {
            let message = format!("{} texts came for {} rows", others.len(), evaluated.bailed.len());
            return Err(Error::render(Code::InternalError, message));
        }
        let first = evaluated.rows.start;
        for (bailed, text) in evaluated.bailed.iter().zip(others) {
            evaluated.lengths[bailed.row - first] = text.len();
        }
        let mut out = Vec::new();
        let mut rest = evaluated.rows.clone();
        loop {
            let (mut end, mut total) = (rest.start, 0_usize);
            while end < rest.end
                && let Some(more) = total.checked_add(evaluated.lengths[end - first]).filter(|more| *more <= limit)
            {
                total = more;
                end += 1;
            }
            if end == rest.start && end < rest.end {
                let message =
                    format!("the text passes the 2 GiB that {layout:?} can hold; use strings=\"large_string\"");
                return Err(Error::render(Code::OffsetOverflow, message).at_row(end));
            }
            let texts = self.copied(&evaluated, rest.start..end, total, others)?;
            out.push(TextBlock::new(texts).array(layout, None));
            rest.start = end;
            if rest.is_empty() {
                return Ok(out);
            }
        }
    }

    /// Copy the texts of some rows to where they belong.
    fn copied(&self, evaluated: &Evaluated, part: Range<usize>, total: usize, others: &[String]) -> Result<Texts> {
        let first = evaluated.rows.start;
        let mut offsets = Vec::with_capacity(part.len() + 1);
        offsets.push(0);
        let mut at = 0;
        offsets.extend(evaluated.lengths[part.start - first..part.end - first].iter().map(|length| {
            at += length;
            at
        }));
        let mut bytes = Bytes::new(total)?;
        let mut rest = &mut bytes[..];
        let mut slices = Vec::with_capacity(part.len() / CHUNK_ROWS + 2);
        // Chunks as they were evaluated, or what is left of them.
        let mut start = part.start;
        while start < part.end {
            let end = part.end.min(first + ((start - first) / CHUNK_ROWS + 1) * CHUNK_ROWS);
            let (own, after) = rest.split_at_mut(offsets[end - part.start] - offsets[start - part.start]);
            slices.push((start..end, own));
            rest = after;
            start = end;
        }
        let (bases, _) = self.bases();
        let fine = threads::map(slices, |(rows, own)| {
            let skipped = evaluated.bailed.partition_point(|bailed| bailed.row < rows.start);
            let numbers = evaluated.bailed[skipped..].iter().map(|bailed| bailed.row);
            let others = numbers.zip(others[skipped..].iter().map(String::as_str));
            match (&self.work, evaluated.chunks.get((rows.start - first) / CHUNK_ROWS)) {
                (Work::Flat(flat), _) => flat.write(rows, &|row| self.program_of(row), others, own),
                (_, Some(chunk)) => {
                    chunk.write(rows, &bases, others, own);
                    true
                }
                (_, None) => false,
            }
        });
        match &self.work {
            Work::Flat(flat) if fine.contains(&false) => Err(flat.fault()),
            _ => Ok(Texts { offsets: offsets.into(), bytes, is_plain: false }),
        }
    }

    /// The values of expressions of a program for each row: ints alone, -1 for anything else.
    ///
    /// # Errors
    ///
    /// What `check` returns.
    pub fn ints(&self, nodes: &[u32], check: &(dyn Fn() -> Result<()> + Sync)) -> Result<Vec<i64>> {
        let Some(program) = self.programs.first().copied().flatten() else { return Ok(Vec::new()) };
        let Work::Any(columns, bound) = &self.work else { return Ok(vec![-1; nodes.len() * self.rows]) };
        let columns: Vec<&Column> = bound[0].iter().map(|at| &columns[*at]).collect();
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

/// The columns of a batch that programs name, and by program which of these its columns are.
fn bound<'a>(
    programs: &'a [Option<&'a Program>],
    batch: &'a RecordBatch,
    read: impl Fn(&Program) -> Vec<bool>,
) -> Result<(Vec<Column<'a>>, Vec<Vec<usize>>)> {
    let schema = batch.schema_ref();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let (mut columns, mut bound) = (vec![Column::unread()], Vec::with_capacity(programs.len()));
    for program in programs {
        let mut own = Vec::new();
        let names = program.iter().flat_map(|program| program.columns.iter().zip(read(program)));
        for (name, read) in names {
            if !read {
                own.push(0);
                continue;
            }
            if let Some(at) = places.get(&**name) {
                own.push(*at);
                continue;
            }
            let missing = |_| Error::render(Code::MissingColumn, "the table has no such column").in_column(name);
            let at = schema.index_of(name).map_err(missing)?;
            let column = Column::new(schema.field(at), batch.column(at)).map_err(|error| error.in_column(name))?;
            places.insert(name, columns.len());
            own.push(columns.len());
            columns.push(column);
        }
        bound.push(own);
    }
    Ok((columns, bound))
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
        // Rows take their texts in the same order, so that the next one is likely to be of the next base.
        let (before, behind) = (0..*hint, *hint + 1..self.all.len());
        let (found, at) = behind.chain(before).find_map(|n| Some((n, within(self.all[n])?)))?;
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
                Step::EmitText(node) => {
                    let text = self.evaluation.value(*node)?.str()?;
                    self.emit(Value::Str(text))?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::jinja::{Expression, Operand, Statement};

    fn program(strip: bool) -> Program {
        let nodes = vec![
            Expression::Column(0),
            Expression::Operation(
                "strip".into(),
                vec![Operand::Node(0), Operand::Constant(crate::jinja::Constant::None)],
            ),
        ];
        let block = vec![Statement::Literal("<".into()), Statement::Emit(strip.into()), Statement::Literal(">".into())];
        Program::new(vec!["q".into()], nodes, block, 0).unwrap()
    }

    #[test]
    fn texts_come_in_as_many_arrays_as_they_need() {
        let texts: StringArray = (0..3000).map(|n| (n % 7 != 3).then(|| "x".repeat(n % 5))).collect();
        let batch = RecordBatch::try_from_iter([("q", Arc::new(texts) as ArrayRef)]).unwrap();
        for strip in [false, true] {
            let program = program(strip);
            let programs = [Some(&program), None];
            let which: Vec<u32> = (0..3000).map(|row| u32::from(row % 11 == 0)).collect();
            let rendering = Rendering::new(&programs, Some(&which), &batch).unwrap();
            let texts = |limit: usize| {
                let evaluated = rendering.evaluate(0..3000, &|| Ok(())).unwrap();
                let others: Vec<String> = evaluated.bailed().iter().map(|one| format!("{}", one.row)).collect();
                rendering.texts_within(evaluated, &others, Layout::String, limit)
            };
            let whole = texts(usize::MAX).unwrap();
            assert_eq!(whole.len(), 1);
            let parts = texts(1000).unwrap();
            assert!(parts.len() > 5 && parts.iter().all(|part| part.as_string::<i32>().value_data().len() <= 1000));
            let all: Vec<Option<&str>> = parts.iter().flat_map(|part| part.as_string::<i32>().iter()).collect();
            assert_eq!(all, whole[0].as_string::<i32>().iter().collect::<Vec<_>>());
            assert_eq!(texts(3).unwrap_err().code(), Code::OffsetOverflow);
        }
    }

    #[test]
    fn rows_that_are_written_while_they_are_near_are_the_same() {
        let texts: StringArray = (0..9000).map(|n| Some(format!(" {}\u{2003}", "é".repeat(n % 9)))).collect();
        let batch = RecordBatch::try_from_iter([("q", Arc::new(texts) as ArrayRef)]).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for strip in [false, true] {
            let program = program(strip);
            let programs = [Some(&program)];
            let rendering = Rendering::new(&programs, None, &batch).unwrap();
            let evaluated = rendering.evaluate(0..9000, &|| Ok(())).unwrap();
            let expected = rendering.texts(evaluated, &[], Layout::String).unwrap().remove(0);
            let at_once = || rendering.at_once(0..9000, Layout::String, &|| Ok(())).unwrap();
            let among_threads = pool.install(at_once);
            assert_eq!(among_threads.is_some(), strip, "only what is stripped is measured slowly");
            for found in at_once().into_iter().chain(among_threads) {
                found.to_data().validate_full().unwrap();
                assert_eq!(&found, &expected);
            }
            assert_eq!(expected.as_string::<i32>().value(2), if strip { "<éé>" } else { "< éé\u{2003}>" });
        }
    }

    #[test]
    fn more_or_fewer_texts_of_others_are_no_result() {
        let batch = RecordBatch::try_from_iter([("q", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
        let rendering = Rendering::new(&[None], None, &batch).unwrap();
        let evaluated = rendering.evaluate(0..1, &|| Ok(())).unwrap();
        assert!(rendering.texts(evaluated, &[], Layout::String).is_err());
        assert!(Rendering::new(&[], None, &batch).is_err());
        assert!(Rendering::new(&[None], Some(&[1]), &batch).is_err());
        assert!(Rendering::new(&[None], Some(&[]), &batch).is_err());
    }
}
