//! Plain rows bound to the texts that they show: computes the lengths of their texts, and writes them.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::label_group::{LabelGroup, SharedRanges, label_groups};
use super::lengths::Lengths;
use super::rows_apart::{FilledRows, RowsApart};
use super::unread::Unread;
use crate::error::Result;
use crate::plan::{Op, Plans, Program};
use crate::render::copying::{TextSources, Writer, put};
use crate::render::fragments::{FragmentStore, FragmentStores, LengthTables, RowFragments, Runs};
use crate::render::input::PythonCallbacks;
use crate::render::memory::{OffsetSlot, OffsetSlots, TextOffsets};
use crate::threads;

/// The number of rows that a thread takes at a time.
const CHUNK_ROWS: usize = 1024;
/// The number of bytes that stay in cache between two passes.
const CACHED_BYTES: usize = 24 << 10;
/// The most rows whose bytes are searched together, even if they are short.
const MAX_BLOCK_ROWS: usize = 64;

/// The data that all plain rows of a batch share.
pub struct PlainPrograms<'a> {
    /// The plans, one for each label.
    pub plans: &'a Plans,
    /// The programs of all plans.
    pub programs: Vec<&'a Program>,
    /// The programs joined into one, if there are several.
    joined: Option<Program>,
    /// True if there is a literal between any two fields, so that the bytes of two fields never form a character
    /// together.
    apart: bool,
    /// Plain rows show no fragments.
    fragments: FragmentStore,
    runs: Runs,
}

impl<'a> PlainPrograms<'a> {
    /// Return the programs of the plans; None if they don't make plain copies.
    pub fn new(plans: &'a Plans) -> Option<Self> {
        let programs: Vec<&Program> = plans.all.iter().flat_map(|plan| &plan.programs).map(|p| &**p).collect();
        let plain = |program: &&Program| {
            !program.always_substituted && program.guards.is_empty() && program.fragments.is_empty()
        };
        if plans.each.is_some() || programs.is_empty() || !programs.iter().all(plain) {
            return None;
        }
        // Literals of adjacent texts are joined, so that the number of texts makes no difference.
        let joined = (programs.len() > 1).then(|| Program::joined(&programs));
        let apart = fields_are_apart(&programs);
        Some(Self { plans, programs, joined, apart, fragments: FragmentStore::default(), runs: Runs::default() })
    }
}

/// Plain rows, bound to everything that they read.
pub struct PlainRows<'a> {
    common: &'a PlainPrograms<'a>,
    unread: &'a Unread<'a>,
    rows: Range<usize>,
    /// The lengths of the texts, by program.
    lengths: Vec<Lengths<'a>>,
    writer: PlainWriter<'a>,
    chunks: Vec<Range<usize>>,
    /// The bytes of each chunk.
    totals: Vec<usize>,
    /// The bytes of all texts.
    pub total: usize,
    /// True if the output is searched instead of the columns.
    by_output: bool,
    /// The number of rows that are searched together.
    block: usize,
}

/// Writes the texts of a row.
enum PlainWriter<'a> {
    /// All requests of a row together, one for each label.
    Labels(LabelGroup<'a>),
    /// All programs, joined if there are several.
    Rows(Writer<'a>),
}

impl<'a> PlainRows<'a> {
    /// Prepare rows `rows` of the batch that `unread` belongs to; None if a text is more than literals and fields.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn new(common: &'a PlainPrograms<'a>, unread: &'a Unread<'a>, rows: Range<usize>) -> Result<Option<Self>> {
        let fragments = FragmentStores { renderer: &common.fragments, batch: &common.fragments };
        let tables = LengthTables::new(fragments, 0);
        let lookup = |column: usize| unread.texts(column);
        let sources = TextSources { texts: &lookup, fragments, runs: &common.runs, rows: rows.len() };
        let lengths = common.programs.iter().map(|program| Lengths::new(program, sources.texts, &tables));
        let Some(lengths) = lengths.collect::<Result<Option<Vec<Lengths>>>>()? else { return Ok(None) };
        if lengths.iter().any(Lengths::have_fragments) {
            return Ok(None);
        }
        let writer = match <[LabelGroup; 1]>::try_from(label_groups(common.plans, sources)?) {
            Ok([group]) => PlainWriter::Labels(group),
            Err(_) => {
                let all = common.joined.as_ref().unwrap_or(common.programs[0]);
                PlainWriter::Rows(Writer::new(&all.ops, &all.literals, sources)?)
            }
        };
        let chunks = threads::chunks(rows.clone(), CHUNK_ROWS);
        let totals: Vec<usize> = chunks
            .iter()
            .map(|chunk| lengths.iter().map(|program_lengths| program_lengths.total(chunk.clone())).sum())
            .collect();
        let total: usize = totals.iter().sum();
        // The output is likelier to be in cache than the columns; but it may be much larger, or contain placeholders in
        // its literals.
        let read = unread.total_length(&rows);
        let is_clean = |p: &&Program| unread.tokens().find(&p.literals, 0).is_none();
        let by_output = total < read + read / 2 && common.programs.iter().all(is_clean);
        let block = (CACHED_BYTES * rows.len() / total.max(1)).clamp(1, MAX_BLOCK_ROWS);
        Ok(Some(Self { common, unread, rows, lengths, writer, chunks, totals, total, by_output, block }))
    }

    /// Return the rows.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Return the number of texts of a row.
    pub fn texts_of_row(&self) -> usize {
        self.lengths.len()
    }

    /// Fill in those of some rows whose values form placeholders; None if filling them in is more than that, or if some
    /// row isn't text.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work.
    pub fn apart(&self, rows: &Range<usize>) -> Result<Option<RowsApart>> {
        let filled = FilledRows::new(self.unread, &self.common.plans.all, rows)?;
        Ok(filled.and_then(|filled| self.among(filled)))
    }

    /// Put filled rows among these rows; None if they differ in what is the same in all rows.
    pub fn among(&self, filled: FilledRows) -> Option<RowsApart> {
        RowsApart::new(filled, &self.lengths)
    }

    /// Return the number of bytes of the texts of some rows, with those of the rows apart among them.
    pub fn total_with(&self, rows: &Range<usize>, apart: &RowsApart) -> usize {
        let copied = if *rows == self.rows {
            self.total
        } else {
            self.lengths.iter().map(|program_lengths| program_lengths.total(rows.clone())).sum()
        };
        copied.wrapping_add_signed(apart.difference(rows))
    }

    /// Return the offsets of the texts: by row, then by program.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn offsets(&self, apart: &RowsApart) -> Result<TextOffsets> {
        let (lengths, each) = (&self.lengths[..], self.lengths.len());
        let count = self.chunks.iter().map(|chunk| chunk.len() * each).sum();
        let mut offsets = TextOffsets::new(count, self.total_with(&self.rows, apart))?;
        let (mut position, mut work) = (0, Vec::with_capacity(self.chunks.len()));
        let slots = offsets.split_mut(self.chunks.iter().map(|chunk| chunk.len() * each));
        for ((slots, chunk), total) in slots.into_iter().zip(&self.chunks).zip(&self.totals) {
            work.push((slots, chunk.clone(), position));
            position = (position + total).wrapping_add_signed(apart.difference(chunk));
        }
        threads::map(work, |(slots, chunk, position)| match slots {
            OffsetSlots::Narrow(slots) => put_offsets(slots, lengths, chunk, position, apart),
            OffsetSlots::Wide(slots) => put_offsets(slots, lengths, chunk, position, apart),
        });
        Ok(offsets)
    }

    /// Write all texts to `out`, which has as many bytes, until some turn out not to be plain. Return the end of the rows
    /// that are written.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work.
    pub fn write(&self, out: &mut [u8], host: &dyn PythonCallbacks) -> Result<usize> {
        let mut rest = out;
        let mut slices = Vec::with_capacity(self.chunks.len());
        for (chunk, total) in self.chunks.iter().zip(&self.totals) {
            let (output, after) = rest.split_at_mut(*total);
            slices.push((chunk.clone(), output));
            rest = after;
        }
        // Rows before the first that isn't plain are written in any case.
        let end = AtomicUsize::new(self.rows.end);
        threads::try_map(slices, |(rows, output)| -> Result<()> {
            host.check()?;
            let (mut position, mut marks) = (0, SharedRanges::default());
            for block in threads::chunks(rows, self.block) {
                if end.load(Ordering::Relaxed) < block.start {
                    break;
                }
                let first = position;
                position = self.write_block(output, position, block.clone(), &mut marks);
                let is_plain = self.by_output && self.unread.gave_plain(&output[first..position], self.common.apart)
                    || self.unread.are_plain(block.clone());
                if !is_plain {
                    end.fetch_min(block.start, Ordering::Relaxed);
                    break;
                }
            }
            Ok(())
        })?;
        Ok(end.into_inner())
    }

    /// Write the texts of some rows to `out`, which has as many bytes: those of the rows apart, and of the others, which
    /// are known to be plain.
    pub fn write_with(&self, rows: &Range<usize>, apart: &RowsApart, out: &mut [u8]) {
        let (mut position, mut start, mut marks) = (0, rows.start, SharedRanges::default());
        for (row, text) in apart.texts() {
            position = self.write_block(out, position, start..row, &mut marks);
            position = put(out, position, apart.bytes(), text.start, text.end);
            start = row + 1;
        }
        self.write_block(out, position, start..rows.end, &mut marks);
    }

    #[inline]
    fn write_block(&self, out: &mut [u8], position: usize, rows: Range<usize>, marks: &mut SharedRanges) -> usize {
        match &self.writer {
            PlainWriter::Labels(group) => {
                rows.fold(position, |position, row| group.write(out, position, row, &[], marks))
            }
            PlainWriter::Rows(writer) => writer.write_rows(out, position, rows, RowFragments::NONE),
        }
    }
}

/// Return true if there is a literal between any two fields of adjacent texts.
fn fields_are_apart(programs: &[&Program]) -> bool {
    let is_literal = |op: &Op| matches!(op, Op::Lit(..));
    let all = |is: &dyn Fn(&[Op]) -> bool| programs.iter().all(|program| is(&program.ops));
    all(&|ops| ops.windows(2).all(|two| two.iter().any(is_literal)))
        && (all(&|ops| ops.first().is_none_or(is_literal)) || all(&|ops| ops.last().is_none_or(is_literal)))
}

/// Write the end of each text of some rows; the first text starts at `position`. The rows apart have lengths of their
/// own.
fn put_offsets(
    slots: &mut [impl OffsetSlot],
    lengths: &[Lengths],
    rows: Range<usize>,
    mut position: usize,
    apart: &RowsApart,
) {
    let column = |program_lengths: &Lengths| {
        let mut column = vec![0; rows.len()];
        program_lengths.add(rows.clone(), &mut column);
        column
    };
    if let [program_lengths] = lengths {
        let mut of_rows = column(program_lengths);
        apart.put_lengths(&rows, 0, &mut of_rows);
        for (slot, length) in slots.iter_mut().zip(of_rows) {
            position += length;
            slot.set(position);
        }
        return;
    }
    // Most messages have the same length in all rows; only the others are looked up by row.
    let varying: Vec<Option<Vec<usize>>> = (lengths.iter().enumerate())
        .map(|(number, program_lengths)| {
            program_lengths.constant().is_none().then(|| {
                let mut of_rows = column(program_lengths);
                apart.put_lengths(&rows, number, &mut of_rows);
                of_rows
            })
        })
        .collect();
    let constant: Vec<usize> = lengths.iter().map(|program_lengths| program_lengths.constant().unwrap_or(0)).collect();
    for (row, row_slots) in slots.chunks_mut(lengths.len()).enumerate() {
        for ((slot, length), column) in row_slots.iter_mut().zip(&constant).zip(&varying) {
            position += length + column.as_ref().map_or(0, |column| column[row]);
            slot.set(position);
        }
    }
}
