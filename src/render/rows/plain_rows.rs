//! Plain rows bound to what they show: how long their texts are, and writing them.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::label_group::{LabelGroup, SharedRanges, label_groups};
use super::lengths::Lengths;
use super::unread::Unread;
use crate::error::Result;
use crate::plan::{Op, Plans, Program};
use crate::render::copying::{TextSources, Writer};
use crate::render::fragments::{FragmentStore, FragmentStores, LengthTables, RowFragments, Runs};
use crate::render::input::Host;
use crate::render::memory::{OffsetSlot, OffsetSlots, TextOffsets};
use crate::threads;

/// Rows that one thread takes at a time.
const CHUNK_ROWS: usize = 1024;
/// Bytes that stay near while they are looked at twice.
const CACHED_BYTES: usize = 24 << 10;
/// Rows at most whose bytes are looked at together, though they are short.
const MAX_BLOCK_ROWS: usize = 64;

/// What all plain rows of a batch have in common.
pub struct PlainPrograms<'a> {
    plans: &'a Plans,
    /// Every program, of all plans.
    pub programs: Vec<&'a Program>,
    /// Programs that follow each other as one, where there are several.
    joined: Option<Program>,
    /// Whether a literal stands between any two fields, so that the bytes of two never make a character together.
    apart: bool,
    /// Plain rows show no fragments.
    fragments: FragmentStore,
    runs: Runs,
}

impl<'a> PlainPrograms<'a> {
    /// None if they don't make plain copies.
    pub fn new(plans: &'a Plans) -> Option<Self> {
        let programs: Vec<&Program> = plans.all.iter().flat_map(|plan| &plan.programs).map(|p| &**p).collect();
        let plain = |program: &&Program| {
            !program.always_substituted && program.guards.is_empty() && program.fragments.is_empty()
        };
        if plans.each.is_some() || programs.is_empty() || !programs.iter().all(plain) {
            return None;
        }
        // Literals of texts that follow each other are one, whatever number of texts they are.
        let joined = (programs.len() > 1).then(|| Program::joined(&programs));
        let apart = fields_are_apart(&programs);
        Some(Self { plans, programs, joined, apart, fragments: FragmentStore::default(), runs: Runs::default() })
    }
}

/// Plain rows with everything that they read at hand.
pub struct PlainRows<'a> {
    common: &'a PlainPrograms<'a>,
    unread: &'a Unread<'a>,
    /// By program.
    lengths: Vec<Lengths<'a>>,
    writer: PlainWriter<'a>,
    chunks: Vec<Range<usize>>,
    /// The bytes of each chunk.
    totals: Vec<usize>,
    /// The bytes of all texts.
    pub total: usize,
    /// Whether what is written is looked at, and not the columns.
    by_output: bool,
    /// Rows that are looked at together.
    block: usize,
}

/// What writes the texts of a row.
enum PlainWriter<'a> {
    /// All requests at once, one a label.
    Labels(LabelGroup<'a>),
    /// All programs, joined where they are several.
    Rows(Writer<'a>),
}

impl<'a> PlainRows<'a> {
    /// Rows `rows` of the batch that `unread` is of; None if a text is more than literals and fields.
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
        let totals: Vec<usize> =
            chunks.iter().map(|chunk| lengths.iter().map(|one| one.total(chunk.clone())).sum()).collect();
        let total: usize = totals.iter().sum();
        // What is written is nearer than what it was copied from; but it may be much more, or hold what is looked for.
        let read = unread.total_length(&rows);
        let is_clean = |p: &&Program| unread.tokens().find(&p.literals, 0).is_none();
        let by_output = total < read + read / 2 && common.programs.iter().all(is_clean);
        let block = (CACHED_BYTES * rows.len() / total.max(1)).clamp(1, MAX_BLOCK_ROWS);
        Ok(Some(Self { common, unread, lengths, writer, chunks, totals, total, by_output, block }))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.chunks.iter().map(Range::len).sum()
    }

    /// Where each text starts: by row, then by program.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn offsets(&self) -> Result<TextOffsets> {
        let (lengths, each) = (&self.lengths[..], self.lengths.len());
        let count = self.chunks.iter().map(|chunk| chunk.len() * each).sum();
        let mut offsets = TextOffsets::new(count, self.total)?;
        let (mut at, mut work) = (0, Vec::with_capacity(self.chunks.len()));
        let slots = offsets.split_mut(self.chunks.iter().map(|chunk| chunk.len() * each));
        for ((slots, chunk), total) in slots.into_iter().zip(&self.chunks).zip(&self.totals) {
            work.push((slots, chunk.clone(), at));
            at += total;
        }
        threads::map(work, |(slots, chunk, at)| match slots {
            OffsetSlots::Narrow(slots) => put_offsets(slots, lengths, chunk, at),
            OffsetSlots::Wide(slots) => put_offsets(slots, lengths, chunk, at),
        });
        Ok(offsets)
    }

    /// Write all texts to `own`, which has as many bytes; false if they turn out not to be plain.
    ///
    /// # Errors
    ///
    /// What the host stops it with.
    pub fn write(&self, own: &mut [u8], host: &dyn Host) -> Result<bool> {
        let mut rest = own;
        let mut slices = Vec::with_capacity(self.chunks.len());
        for (chunk, total) in self.chunks.iter().zip(&self.totals) {
            let (own, after) = rest.split_at_mut(*total);
            slices.push((chunk.clone(), own));
            rest = after;
        }
        let stop = AtomicBool::new(false);
        let fine = threads::try_map(slices, |(rows, own)| -> Result<bool> {
            host.check()?;
            let (mut at, mut marks) = (0, SharedRanges::default());
            for block in threads::chunks(rows, self.block) {
                let first = at;
                at = self.write_block(own, at, block.clone(), &mut marks);
                let fine = self.by_output && self.unread.gave_plain(&own[first..at], self.common.apart)
                    || self.unread.are_plain(block);
                if !fine || stop.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(fine.into_iter().all(|fine| fine))
    }

    #[inline]
    fn write_block(&self, own: &mut [u8], at: usize, rows: Range<usize>, marks: &mut SharedRanges) -> usize {
        match &self.writer {
            PlainWriter::Labels(group) => rows.fold(at, |at, row| group.write(own, at, row, &[], marks)),
            PlainWriter::Rows(writer) => writer.write_rows(own, at, rows, RowFragments::NONE),
        }
    }
}

/// Whether a literal stands between any two fields of texts that follow each other.
fn fields_are_apart(programs: &[&Program]) -> bool {
    let is_literal = |op: &Op| matches!(op, Op::Lit(..));
    let all = |is: &dyn Fn(&[Op]) -> bool| programs.iter().all(|program| is(&program.ops));
    all(&|ops| ops.windows(2).all(|two| two.iter().any(is_literal)))
        && (all(&|ops| ops.first().is_none_or(is_literal)) || all(&|ops| ops.last().is_none_or(is_literal)))
}

/// Put down where the texts of some rows end, of which the first starts at `at`.
fn put_offsets(slots: &mut [impl OffsetSlot], lengths: &[Lengths], rows: Range<usize>, mut at: usize) {
    let column = |one: &Lengths| {
        let mut column = vec![0; rows.len()];
        one.add(rows.clone(), &mut column);
        column
    };
    if let [one] = lengths {
        for (slot, length) in slots.iter_mut().zip(column(one)) {
            at += length;
            slot.set(at);
        }
        return;
    }
    // Of most messages all are as long: what varies from row to row is looked up.
    let varying: Vec<Option<Vec<usize>>> =
        lengths.iter().map(|one| one.constant().is_none().then(|| column(one))).collect();
    let constant: Vec<usize> = lengths.iter().map(|one| one.constant().unwrap_or(0)).collect();
    for (row, own) in slots.chunks_mut(lengths.len()).enumerate() {
        for ((slot, length), column) in own.iter_mut().zip(&constant).zip(&varying) {
            at += length + column.as_ref().map_or(0, |column| column[row]);
            slot.set(at);
        }
    }
}
