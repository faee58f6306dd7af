//! The row loop: measures every text, allocates a buffer of exactly that size, and writes every text to its position.
//!
//! Both passes run over chunks of requests on all threads. The second pass writes into slices that don't overlap, so it
//! needs no lock. A text that copying can't render (see [`crate::plan`]'s segments) is rendered while it is measured,
//! and kept until it is written.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::bound_program::BoundProgram;
use super::label_group::{SharedRanges, label_groups};
use super::plain;
use super::plain::Attempt;
use crate::error::{Code, Result};
use crate::plan::{Plan, Plans};
use crate::render::copying::{TextSources, put};
use crate::render::fragments::{FragmentStore, FragmentStores, LengthTables, RowFragments, Runs};
use crate::render::input::Batch;
use crate::render::memory::{Bytes, OffsetSlot, OffsetSlots, Scratch, TextOffsets, Texts};
use crate::render::substitution::{Filler, Room};
use crate::template::FragmentSet;
use crate::threads;

/// Return true if some text that these plans give for some row has to be filled column by column.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn any_needs_substitution(batch: &Batch, plans: &[Arc<Plan>]) -> Result<bool> {
    search(batch, plans, |needs| {
        let easy = |rows: Range<usize>| !rows.into_iter().any(needs);
        !threads::all(threads::chunks(0..batch.rows, CHUNK_REQUESTS), easy)
    })
}

/// Return the rows of which some text that these plans give has to be filled column by column, in order.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn rows_that_need_substitution(batch: &Batch, plans: &[Arc<Plan>]) -> Result<Vec<usize>> {
    search(batch, plans, |needs| {
        let in_chunk = |rows: Range<usize>| rows.filter(|row| needs(*row)).collect::<Vec<_>>();
        threads::map(threads::chunks(0..batch.rows, CHUNK_REQUESTS), in_chunk).concat()
    })
}

/// Return what `find` makes of the test whether a row has to be filled column by column; the default if none has.
fn search<T: Default>(
    batch: &Batch,
    plans: &[Arc<Plan>],
    find: impl FnOnce(&(dyn Fn(usize) -> bool + Sync)) -> T,
) -> Result<T> {
    prepare(batch, plans);
    let none = FragmentStore::default();
    let fragments = FragmentStores { renderer: &none, batch: &none };
    let (tables, runs) = (LengthTables::new(fragments, 0), Runs::default());
    let lookup = |column: usize| batch.texts(column);
    let sources = TextSources { texts: &lookup, fragments, runs: &runs, rows: 0 };
    let programs: Vec<BoundProgram> = plans
        .iter()
        .flat_map(|plan| &plan.programs)
        .map(|p| BoundProgram::of_batch(p, batch, sources, &tables))
        .collect::<Result<_>>()?;
    if programs.iter().all(BoundProgram::never_needs_substitution) {
        return Ok(T::default());
    }
    Ok(find(&|row| programs.iter().any(|p| p.needs_substitution(row, &[], fragments))))
}

/// Return true if the values of some row, without examples, could be such that it has to be filled column by column.
pub fn any_may_need_substitution(plans: &[Arc<Plan>]) -> bool {
    let mut programs = plans.iter().flat_map(|plan| &plan.programs);
    programs.any(|p| p.always_substituted || !p.scanned.is_empty() || !p.guards.is_empty())
}

/// Check and search the columns that plans show, in parallel. An error of a column is raised when the column is bound.
fn prepare(batch: &Batch, plans: &[Arc<Plan>]) {
    let programs = || plans.iter().flat_map(|plan| &plan.programs);
    let mut columns: Vec<usize> = programs().flat_map(|p| p.fields.clone()).collect();
    columns.sort_unstable();
    columns.dedup();
    let scanned = |column: &usize| programs().any(|p| p.scanned.contains(column));
    threads::map(columns, |column| batch.prepare(column, scanned(&column)));
}

/// The lengths of the requests of one chunk.
struct Measured {
    requests: Range<usize>,
    lengths: Vec<usize>,
    /// The sum of all lengths.
    total: usize,
    /// Texts that were rendered already: their numbers in the chunk, ascending, and the texts one after the other.
    substituted: Vec<usize>,
    texts: Scratch,
}

/// The number of requests that a thread takes at a time: enough to make the cost of taking them negligible, few enough
/// to share.
const CHUNK_REQUESTS: usize = 1024;

/// The average number of times that a batch's fragments must be shown before it pays to put their parts together, which
/// copies them again into fresh memory.
const MIN_TIMES_SHOWN: usize = 4;

/// Return the offsets of all texts, and their total length.
fn laid_out(measured: &[Measured]) -> Result<(TextOffsets, usize)> {
    fn put(slots: &mut [impl OffsetSlot], lengths: &[usize], mut position: usize) {
        for (slot, length) in slots.iter_mut().zip(lengths) {
            position += length;
            slot.set(position);
        }
    }
    let total = measured.iter().map(|chunk| chunk.total).sum();
    let mut offsets = TextOffsets::new(measured.iter().map(|chunk| chunk.lengths.len()).sum(), total)?;
    let (mut position, mut work) = (0, Vec::with_capacity(measured.len()));
    for (chunk, slots) in measured.iter().zip(offsets.split_mut(measured.iter().map(|chunk| chunk.lengths.len()))) {
        work.push((chunk, slots, position));
        position += chunk.total;
    }
    threads::map(work, |(chunk, slots, position)| match slots {
        OffsetSlots::Narrow(slots) => put(slots, &chunk.lengths, position),
        OffsetSlots::Wide(slots) => put(slots, &chunk.lengths, position),
    });
    Ok((offsets, total))
}

/// Render the texts of the requests of rows `rows`, or nothing if they pass `limit` bytes in all.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn texts(
    batch: &Batch,
    plans: &Plans,
    rows: Range<usize>,
    row_fragments: &RowFragments,
    fragments: FragmentStores,
    limit: usize,
) -> Result<Option<Texts>> {
    match plain::texts(batch, plans, rows.clone(), limit)? {
        Attempt::Texts(texts) => return Ok(Some(texts)),
        Attempt::TooLong => return Ok(None),
        Attempt::No => {}
    }
    prepare(batch, &plans.all);
    let labels = plans.labels;
    let tables = LengthTables::new(fragments, rows.len() * labels);
    let programs = plans.all.iter().flat_map(|plan| &plan.programs).map(|program| &**program);
    let is_often_shown = |set| match set {
        // The tables are kept for all batches.
        FragmentSet::Renderer => true,
        FragmentSet::Batch => row_fragments.count(rows.clone()) >= MIN_TIMES_SHOWN * fragments.batch.len(),
    };
    let runs = Runs::of(programs, fragments, |set| tables.pays(set) && is_often_shown(set));
    let lookup = |column: usize| batch.texts(column);
    // If rows decide the plan, each row may have a different plan.
    let alike = if plans.each.is_some() { 0 } else { rows.len() };
    let sources = TextSources { texts: &lookup, fragments, runs: &runs, rows: alike };
    let bound: Vec<Vec<BoundProgram>> = plans
        .all
        .iter()
        .map(|plan| {
            plan.programs.iter().map(|program| BoundProgram::of_batch(program, batch, sources, &tables)).collect()
        })
        .collect::<Result<_>>()?;
    let label_groups = label_groups(plans, sources)?;
    let never_needs_substitution = bound.iter().flatten().all(BoundProgram::never_needs_substitution);
    let (limits, kept) = (batch.host.limits(), AtomicUsize::new(0));
    let measure = |chunk: Range<usize>| -> Result<Measured> {
        batch.host.check()?;
        let mut lengths = Vec::with_capacity(chunk.len());
        let (mut substituted, mut texts) = (Vec::new(), Scratch::new());
        let mut filler = Filler::new(batch, chunk.end / labels.max(1));
        for request in chunk.clone() {
            let row = request / labels;
            let row_fragments = row_fragments.of(row);
            let first = lengths.len();
            let row_length = |lengths: &[usize]| lengths[first..].iter().sum::<usize>();
            for bound_program in &bound[plans.of(request)] {
                if !never_needs_substitution && bound_program.needs_substitution(row, row_fragments, fragments) {
                    let start = texts.0.len();
                    let room = Room::new(limits, row_length(&lengths));
                    let filled =
                        filler.program(bound_program.program, row, row_fragments, fragments, room, &mut texts.0);
                    filled.map_err(|error| error.or_at_row(row))?;
                    substituted.push(lengths.len());
                    lengths.push(texts.0.len() - start);
                } else {
                    lengths.push(bound_program.length(row, row_fragments));
                }
            }
            if row_length(&lengths) > limits.prompt_bytes {
                return Err(limits.prompt_too_long().at_row(row));
            }
        }
        if !substituted.is_empty() {
            batch.host.has_substituted();
        }
        // Texts that were filled in are kept until they are written.
        let kept = kept.fetch_add(texts.0.len(), Ordering::Relaxed) + texts.0.len();
        if kept > limits.batch_bytes {
            return Err(limits.batch_too_large());
        }
        let total = lengths.iter().sum();
        Ok(Measured { requests: chunk, lengths, total, substituted, texts })
    };
    let requests_of = |rows: Range<usize>| rows.start * labels..rows.end * labels;
    let chunks: Vec<_> =
        threads::chunks(rows.clone(), (CHUNK_REQUESTS / labels.max(1)).max(1)).into_iter().map(requests_of).collect();
    let measured = threads::try_map(chunks.clone(), measure).map_err(|error| {
        if error.code() != Code::LimitExceeded {
            return error;
        }
        // Threads take rows in any order, so the error names the first row that exceeds a limit.
        kept.store(0, Ordering::Relaxed);
        chunks.into_iter().find_map(|chunk| measure(chunk).err()).unwrap_or(error)
    })?;

    let (offsets, total) = laid_out(&measured)?;
    if total > limits.batch_bytes {
        return Err(limits.batch_too_large());
    }
    if total > limit {
        return Ok(None);
    }
    let mut bytes = Bytes::new(total)?;
    let mut rest = &mut bytes[..];
    let mut slices = Vec::with_capacity(measured.len());
    for chunk in &measured {
        let (output, after) = rest.split_at_mut(chunk.total);
        slices.push((chunk, output));
        rest = after;
    }
    let write_copies = |output: &mut [u8], mut position: usize, rows: Range<usize>| -> usize {
        if !label_groups.is_empty() {
            let mut marks = SharedRanges::default();
            for row in rows {
                let group = &label_groups[plans.of(row * labels) / labels];
                position = group.write(output, position, row, row_fragments.of(row), &mut marks);
            }
            return position;
        }
        if let [programs] = &bound[..]
            && let [bound_program] = &programs[..]
            && labels == 1
        {
            return bound_program.write_rows(output, position, rows, row_fragments);
        }
        for request in rows.start * labels..rows.end * labels {
            let row = request / labels;
            let row_fragments = row_fragments.of(row);
            for bound_program in &bound[plans.of(request)] {
                position = bound_program.write(output, position, row, row_fragments);
            }
        }
        position
    };
    threads::map(slices, |(chunk, output)| {
        // A chunk of substituted texts only is written with a single copy.
        if !chunk.lengths.is_empty() && chunk.substituted.len() == chunk.lengths.len() {
            output.copy_from_slice(&chunk.texts.0);
            return;
        }
        let rows = chunk.requests.start / labels.max(1)..chunk.requests.end / labels.max(1);
        let (mut position, mut copies, mut number, mut from) = (0, rows.start, 0, 0);
        let mut substituted = chunk.substituted.iter().peekable();
        for row in rows.clone() {
            let Some(next) = substituted.peek() else { break };
            let requests = row * labels..(row + 1) * labels;
            let after = number + requests.clone().map(|request| bound[plans.of(request)].len()).sum::<usize>();
            if **next >= after {
                number = after;
                continue;
            }
            // The rows before it are copies.
            position = write_copies(output, position, copies..row);
            copies = row + 1;
            for bound_program in requests.flat_map(|request| &bound[plans.of(request)]) {
                if substituted.next_if_eq(&&number).is_some() {
                    let length = chunk.lengths[number];
                    position = put(output, position, &chunk.texts.0, from, from + length);
                    from += length;
                } else {
                    position = bound_program.write(output, position, row, row_fragments.of(row));
                }
                number += 1;
            }
        }
        write_copies(output, position, copies..rows.end);
    });
    Ok(Some(Texts { offsets, bytes, is_plain: never_needs_substitution, changed: None }))
}
