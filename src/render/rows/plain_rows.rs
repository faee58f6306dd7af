//! Plain rows bound to the texts that they show: computes the lengths of their texts, and writes them.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::label_group::{LabelGroup, SharedRanges, label_groups};
use super::lengths::Lengths;
use super::unread::Unread;
use crate::error::Result;
use crate::plan::{Op, Plans, Program};
use crate::render::copying::{TextSources, Writer};
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
    plans: &'a Plans,
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
        Ok(Some(Self { common, unread, lengths, writer, chunks, totals, total, by_output, block }))
    }

    /// Return the number of rows.
    pub fn rows(&self) -> usize {
        self.chunks.iter().map(Range::len).sum()
    }

    /// Return the offsets of the texts: by row, then by program.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn offsets(&self) -> Result<TextOffsets> {
        let (lengths, each) = (&self.lengths[..], self.lengths.len());
        let count = self.chunks.iter().map(|chunk| chunk.len() * each).sum();
        let mut offsets = TextOffsets::new(count, self.total)?;
        let (mut position, mut work) = (0, Vec::with_capacity(self.chunks.len()));
        let slots = offsets.split_mut(self.chunks.iter().map(|chunk| chunk.len() * each));
        for ((slots, chunk), total) in slots.into_iter().zip(&self.chunks).zip(&self.totals) {
            work.push((slots, chunk.clone(), position));
            position += total;
        }
        threads::map(work, |(slots, chunk, position)| match slots {
            OffsetSlots::Narrow(slots) => put_offsets(slots, lengths, chunk, position),
            OffsetSlots::Wide(slots) => put_offsets(slots, lengths, chunk, position),
        });
        Ok(offsets)
    }

    /// Write all texts to `out`, which has as many bytes; false if they turn out not to be plain.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work.
    pub fn write(&self, out: &mut [u8], host: &dyn PythonCallbacks) -> Result<bool> {
        let mut rest = out;
        let mut slices = Vec::with_capacity(self.chunks.len());
        for (chunk, total) in self.chunks.iter().zip(&self.totals) {
            let (output, after) = rest.split_at_mut(*total);
            slices.push((chunk.clone(), output));
            rest = after;
        }
        let stop = AtomicBool::new(false);
        let is_plain = threads::try_map(slices, |(rows, output)| -> Result<bool> {
            host.check()?;
            let (mut position, mut marks) = (0, SharedRanges::default());
            for block in threads::chunks(rows, self.block) {
                let first = position;
                position = self.write_block(output, position, block.clone(), &mut marks);
                let is_plain = self.by_output && self.unread.gave_plain(&output[first..position], self.common.apart)
                    || self.unread.are_plain(block);
                if !is_plain || stop.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(is_plain.into_iter().all(|is_plain| is_plain))
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

/// Write the end of each text of some rows; the first text starts at `position`.
fn put_offsets(slots: &mut [impl OffsetSlot], lengths: &[Lengths], rows: Range<usize>, mut position: usize) {
    let column = |program_lengths: &Lengths| {
        let mut column = vec![0; rows.len()];
        program_lengths.add(rows.clone(), &mut column);
        column
    };
    if let [program_lengths] = lengths {
        for (slot, length) in slots.iter_mut().zip(column(program_lengths)) {
            position += length;
            slot.set(position);
        }
        return;
    }
    // Most messages have the same length in all rows; only the others are looked up by row.
    let varying: Vec<Option<Vec<usize>>> = lengths
        .iter()
        .map(|program_lengths| program_lengths.constant().is_none().then(|| column(program_lengths)))
        .collect();
    let constant: Vec<usize> = lengths.iter().map(|program_lengths| program_lengths.constant().unwrap_or(0)).collect();
    for (row, row_slots) in slots.chunks_mut(lengths.len()).enumerate() {
        for ((slot, length), column) in row_slots.iter_mut().zip(&constant).zip(&varying) {
            position += length + column.as_ref().map_or(0, |column| column[row]);
            slot.set(position);
        }
    }
}
