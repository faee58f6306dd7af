//! Evaluated rows as arrays of texts.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::render::{CHUNK_ROWS, Evaluated, Rendering, Work};
use crate::error::{Code, Error, Result};
use crate::plan::Layout;
use crate::render::{Bytes, TextBlock, Texts, limit};
use crate::threads;

/// The number of chunks for each thread before the threads wait for each other.
const CHUNKS_AT_ONCE: usize = 4;

impl Rendering<'_> {
    /// Render rows a few at a time, so that their pieces are still in the cache when they are copied. Return None if a
    /// program does more than copy, if a row is given up, or if the texts may be too long for one array.
    ///
    /// # Errors
    ///
    /// If a column is malformed. The errors of `check`.
    pub fn at_once(
        &self,
        rows: Range<usize>,
        layout: Layout,
        check: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Option<ArrayRef>> {
        let Work::Flat(flat) = &self.work else { return Ok(None) };
        // Lengths that follow from offsets alone are measured so fast that threads needn't wait for each other.
        if threads::several() && !flat.strips() {
            return Ok(None);
        }
        let program_of = |row: usize| self.program_of(row);
        let most = threads::map(threads::chunks(rows.clone(), CHUNK_ROWS), |rows| {
            let (lengths, bailed) = flat.measured(rows, &program_of, true);
            bailed.is_empty().then(|| lengths.iter().sum::<usize>())
        });
        let most = most.into_iter().try_fold(0_usize, |sum, bytes| sum.checked_add(bytes?));
        let Some(most) = most.filter(|most| *most <= limit(layout)) else { return Ok(None) };
        let mut bytes = Bytes::new(most)?;
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        let (mut rest, mut written) = (&mut bytes[..], 0);
        offsets.push(0);
        // Each round waits for its slowest thread, so each thread gets several chunks.
        let many = if threads::several() { CHUNK_ROWS * CHUNKS_AT_ONCE * threads::count() } else { CHUNK_ROWS };
        for rows in threads::chunks(rows, many) {
            check()?;
            let chunks = threads::chunks(rows, CHUNK_ROWS);
            let measured = threads::map(chunks.clone(), |rows| flat.measure(rows, &program_of).0);
            let mut slices = Vec::with_capacity(chunks.len());
            for (rows, lengths) in chunks.into_iter().zip(measured) {
                let start = written;
                offsets.extend(lengths.iter().map(|length| {
                    written += length;
                    written
                }));
                let (out, after) = std::mem::take(&mut rest).split_at_mut(written - start);
                slices.push((rows, out));
                rest = after;
            }
            let fine = threads::map(slices, |(rows, out)| flat.write(rows, &program_of, std::iter::empty(), out));
            if fine.contains(&false) {
                return Err(flat.fault());
            }
        }
        bytes.truncate(written);
        Ok(Some(
            TextBlock::new(Texts { offsets: offsets.into(), bytes, is_plain: false, changed: None })
                .array(layout, None),
        ))
    }

    /// Return the texts of evaluated rows, in as many arrays as the layout needs. `others` are the texts of the rows
    /// that bailed, in ascending order of the rows.
    ///
    /// # Errors
    ///
    /// If a text is too long for an array of the layout, if the number of `others` isn't the number of rows that
    /// bailed, or if a column is malformed.
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

    /// Copy the texts of some rows to the output.
    fn copied(&self, evaluated: &Evaluated, part: Range<usize>, total: usize, others: &[String]) -> Result<Texts> {
        let first = evaluated.rows.start;
        let mut offsets = Vec::with_capacity(part.len() + 1);
        offsets.push(0);
        let mut end = 0;
        offsets.extend(evaluated.lengths[part.start - first..part.end - first].iter().map(|length| {
            end += length;
            end
        }));
        let mut bytes = Bytes::new(total)?;
        let mut rest = &mut bytes[..];
        let mut slices = Vec::with_capacity(part.len() / CHUNK_ROWS + 2);
        // Chunks as they were evaluated, or their rows that are in this part.
        let mut start = part.start;
        while start < part.end {
            let end = part.end.min(first + ((start - first) / CHUNK_ROWS + 1) * CHUNK_ROWS);
            let (out, after) = rest.split_at_mut(offsets[end - part.start] - offsets[start - part.start]);
            slices.push((start..end, out));
            rest = after;
            start = end;
        }
        let (bases, _) = self.bases();
        let fine = threads::map(slices, |(rows, out)| {
            let skipped = evaluated.bailed.partition_point(|bailed| bailed.row < rows.start);
            let numbers = evaluated.bailed[skipped..].iter().map(|bailed| bailed.row);
            let others = numbers.zip(others[skipped..].iter().map(String::as_str));
            match (&self.work, evaluated.chunks.get((rows.start - first) / CHUNK_ROWS)) {
                (Work::Flat(flat), _) => flat.write(rows, &|row| self.program_of(row), others, out),
                (_, Some(chunk)) => {
                    chunk.write(rows, &bases, others, out);
                    true
                }
                (_, None) => false,
            }
        });
        match &self.work {
            Work::Flat(flat) if fine.contains(&false) => Err(flat.fault()),
            _ => Ok(Texts { offsets: offsets.into(), bytes, is_plain: false, changed: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{Array, RecordBatch, StringArray};

    use super::*;
    use crate::jinja::{Expression, Operand, Program, Statement};

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
                let others: Vec<String> = evaluated.bailed().iter().map(|bailed| format!("{}", bailed.row)).collect();
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
    fn rows_that_are_written_while_they_are_in_the_cache_are_the_same() {
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
            for texts in at_once().into_iter().chain(among_threads) {
                texts.to_data().validate_full().unwrap();
                assert_eq!(&texts, &expected);
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
