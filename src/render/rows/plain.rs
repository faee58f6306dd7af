//! Rows that are plain copies of literals and fields, as nearly all are: nothing is decided row by row.
//!
//! Lengths follow from the columns' offsets, before a byte of a column has been read. So the output is laid out first,
//! and each column's bytes are then checked, looked through for placeholders and copied while they are near the
//! processor, be it in the column or in the output: they come from memory once. What is found wrong ends it, and the
//! rows are rendered as others are, which finds it again and says where it is.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bound_program::{BoundProgram, Lengths};
use super::label_group::{SharedRanges, label_groups};
use super::sizes::check_sizes;
use crate::error::Result;
use crate::plan::{Op, Plans, Program, Tokens};
use crate::pytext::TextColumn;
use crate::render::copying::{TextSources, Writer};
use crate::render::fragments::{FragmentStore, FragmentStores, LengthTables, Runs};
use crate::render::input::Batch;
use crate::render::memory::{Bytes, OffsetSlot, OffsetSlots, TextOffsets, Texts};
use crate::threads;

/// Rows that one thread takes at a time.
const CHUNK_ROWS: usize = 1024;
/// Bytes that stay near while they are looked at twice.
const CACHED_BYTES: usize = 24 << 10;
/// Rows at most whose bytes are looked at together, though they are short.
const MAX_BLOCK_ROWS: usize = 64;

/// What comes of an attempt.
pub enum Attempt {
    /// The rows aren't plain.
    No,
    /// The texts pass the limit.
    TooLong,
    /// All texts.
    Texts(Texts),
}

/// A column whose bytes are looked at only when they are copied.
struct UnreadColumn {
    texts: TextColumn,
    /// Whether placeholders are looked for in it.
    scanned: bool,
}

/// Render the texts of rows `rows` if all of them are plain copies.
///
/// # Errors
///
/// What the host stops it with.
pub fn texts(batch: &Batch, plans: &Plans, rows: Range<usize>, limit: usize) -> Result<Attempt> {
    let programs: Vec<&Program> = plans.all.iter().flat_map(|plan| &plan.programs).map(|p| &**p).collect();
    let plain =
        |program: &&Program| !program.always_substituted && program.guards.is_empty() && program.fragments.is_empty();
    if plans.each.is_some() || programs.is_empty() || !programs.iter().all(plain) {
        return Ok(Attempt::No);
    }
    let Some(unread) = Unread::new(batch, &programs) else { return Ok(Attempt::No) };
    let none = FragmentStore::default();
    let fragments = FragmentStores { renderer: &none, batch: &none };
    let (tables, runs) = (LengthTables::new(fragments, 0), Runs::default());
    // A column that is read already was looked through too, and nothing was found.
    let lookup = |column: usize| unread.columns.get(&column).map_or_else(|| batch.texts(column), |own| Ok(&own.texts));
    let sources = TextSources { texts: &lookup, fragments, runs: &runs };
    let ready: Vec<BoundProgram> =
        programs.iter().map(|p| BoundProgram::new(p, sources, Vec::new(), &tables)).collect::<Result<_>>()?;
    let Some(lengths) = ready.iter().map(BoundProgram::plain).collect::<Option<Vec<&Lengths>>>() else {
        return Ok(Attempt::No);
    };

    let chunks = threads::chunks(rows.clone(), CHUNK_ROWS);
    let totals: Vec<usize> =
        chunks.iter().map(|chunk| lengths.iter().map(|one| one.total(chunk.clone())).sum()).collect();
    let total = totals.iter().sum();
    let offsets = offsets(&lengths, &chunks, &totals)?;
    check_sizes(plans, rows.clone(), &offsets, batch.host.limits())?;
    if total > limit {
        return Ok(Attempt::TooLong);
    }
    let mut bytes = Bytes::new(total)?;
    let mut rest = &mut bytes[..];
    let mut slices = Vec::with_capacity(chunks.len());
    for (chunk, total) in chunks.into_iter().zip(totals) {
        let (own, after) = rest.split_at_mut(total);
        slices.push((chunk, own));
        rest = after;
    }
    // What is written is nearer than what it was copied from; but it may be much more, or hold what is looked for.
    let read = unread.columns.values().map(|column| column.texts.total_length(rows.clone())).sum::<usize>();
    let by_output = total < read + read / 2 && programs.iter().all(|p| unread.tokens.find(&p.literals, 0).is_none());
    let apart = programs.iter().all(|program| fields_are_apart(program));
    let label_groups = label_groups(plans, sources)?;
    // Literals of texts that follow each other are one, whatever number of texts they are.
    let joined = (programs.len() > 1).then(|| Program::joined(&programs));
    let joined = joined.as_ref().map(|joined| Writer::new(&joined.ops, &joined.literals, sources)).transpose()?;
    let block = (CACHED_BYTES * rows.len() / total.max(1)).clamp(1, MAX_BLOCK_ROWS);
    let stop = AtomicBool::new(false);
    let fine = threads::try_map(slices, |(rows, own)| -> Result<bool> {
        batch.host.check()?;
        let (mut at, mut marks) = (0, SharedRanges::default());
        for block in threads::chunks(rows, block) {
            let first = at;
            if let [together] = &label_groups[..] {
                for row in block.clone() {
                    at = together.write(own, at, row, &[], &mut marks);
                }
            } else if let Some(joined) = &joined {
                for row in block.clone() {
                    at = joined.write(own, at, row, &[]);
                }
            } else {
                for row in block.clone() {
                    for one in &ready {
                        at = one.write(own, at, row, &[]);
                    }
                }
            }
            let fine = by_output && unread.gave_plain(&own[first..at], apart) || unread.are_plain(block);
            if !fine || stop.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(if fine.into_iter().all(|fine| fine) {
        Attempt::Texts(Texts { offsets, bytes, is_plain: true })
    } else {
        Attempt::No
    })
}

/// The columns that are read while they are copied.
struct Unread<'a> {
    columns: HashMap<usize, UnreadColumn>,
    tokens: &'a Tokens,
}

impl<'a> Unread<'a> {
    /// The columns that programs write, but for those that were read already; None if some column isn't plain.
    fn new(batch: &Batch<'a>, programs: &[&Program]) -> Option<Self> {
        let mut asked: Vec<usize> = programs.iter().flat_map(|p| p.fields.iter().chain(&p.scanned)).copied().collect();
        asked.sort_unstable();
        asked.dedup();
        let mut columns = HashMap::new();
        let is_scanned = |column| programs.iter().any(|program| program.scanned.contains(&column));
        // Side by side, since it goes over all offsets, and prints what isn't text.
        let found = threads::map(asked, |column| {
            let unread = batch.unread(column);
            if unread.is_none() {
                batch.prepare(column, is_scanned(column));
            }
            (column, unread)
        });
        for (column, texts) in found {
            let scanned = is_scanned(column);
            if let Some(texts) = texts {
                columns.insert(column, UnreadColumn { texts, scanned });
            } else if batch.texts(column).is_err() || scanned && !matches!(batch.may_hold_placeholder(column), Ok(None))
            {
                return None;
            }
        }
        Some(Self { columns, tokens: &batch.columns.tokens })
    }

    /// Whether bytes that were written show that rows held text, and that no placeholder formed: one that did would stand
    /// there as a whole, since none of these can share bytes. `apart`: that no two fields meet.
    fn gave_plain(&self, written: &[u8], apart: bool) -> bool {
        let text = written.is_ascii() || apart && simdutf8::basic::from_utf8(written).is_ok();
        text && (!self.columns.values().any(|column| column.scanned) || self.tokens.none_whole_in(written))
    }

    /// Whether rows hold text, and nothing that a placeholder could form from.
    fn are_plain(&self, rows: Range<usize>) -> bool {
        self.columns.values().all(|column| {
            let Some(bytes) = column.texts.checked(rows.clone()) else { return false };
            let ends = |at: usize| column.texts.end_around(rows.clone(), at);
            !column.scanned || self.tokens.none_in_rows(bytes, ends)
        })
    }
}

/// Whether a literal stands before each field, so that the bytes of two never make a character together.
fn fields_are_apart(program: &Program) -> bool {
    let is_literal = |op: &Op| matches!(op, Op::Lit(..));
    program.ops.first().is_none_or(is_literal) && program.ops.windows(2).all(|two| two.iter().any(is_literal))
}

/// Where each text starts: by row, then by program. `totals` are the chunks' lengths.
fn offsets(lengths: &[&Lengths], chunks: &[Range<usize>], totals: &[usize]) -> Result<TextOffsets> {
    let each = lengths.len();
    let count = chunks.iter().map(|chunk| chunk.len() * each).sum();
    let mut offsets = TextOffsets::new(count, totals.iter().sum())?;
    let (mut at, mut work) = (0, Vec::with_capacity(chunks.len()));
    let slots = offsets.split_mut(chunks.iter().map(|chunk| chunk.len() * each));
    for ((slots, chunk), total) in slots.into_iter().zip(chunks).zip(totals) {
        work.push((slots, chunk.clone(), at));
        at += total;
    }
    threads::map(work, |(slots, chunk, at)| match slots {
        OffsetSlots::Narrow(slots) => put_offsets(slots, lengths, chunk, at),
        OffsetSlots::Wide(slots) => put_offsets(slots, lengths, chunk, at),
    });
    Ok(offsets)
}

/// Put down where the texts of some rows end, of which the first starts at `at`.
fn put_offsets(slots: &mut [impl OffsetSlot], lengths: &[&Lengths], rows: Range<usize>, mut at: usize) {
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
