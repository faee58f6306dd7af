//! Counts the bytes of all requests by origin: the sum of the explanations of each request.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::request_origins::{OriginTotals, PlanTally, Requests};
use super::span_steps::Numbers;
use crate::error::Result;
use crate::plan::Draws;
use crate::render::compiled::{BoundConfig, CompiledConfig};
use crate::render::input::PythonCallbacks;
use crate::render::traces::origin_in_slot;
use crate::template::{FragmentRef, FragmentSet};
use crate::threads;
use crate::value::Value;

/// The number of rows between two checks for signals.
const SLICE_ROWS: usize = 65_536;
/// The number of requests that a thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

/// Count the bytes of the requests of a batch by origin; the first row of the batch is row `start` of the samples. The
/// count covers the bytes that `explain` explains: texts, the contents of messages, the payloads of parts.
///
/// # Errors
///
/// The errors of rendering, with the row (counted from the first batch) and the column.
pub fn origin_totals(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    host: &dyn PythonCallbacks,
) -> Result<OriginTotals> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let step = (SLICE_ROWS / labels.len().max(1)).max(1);
    let mut totals = OriginTotals::new();
    for offset in (0..batch.num_rows()).step_by(step) {
        host.check()?;
        let slice = batch.slice(offset, step.min(batch.num_rows() - offset));
        let first = start + offset;
        let batch_totals = bound.with_requests(&slice, first, labels, draws, host, |requests| requests.totals());
        merge(&mut totals, batch_totals.map_err(|e| e.into_render().shifted(first))?);
    }
    Ok(totals)
}

fn merge(totals: &mut OriginTotals, more: OriginTotals) {
    for (origin, bytes) in more {
        *totals.entry(origin).or_default() += bytes;
    }
}

/// The totals of a chunk of requests.
#[derive(Default)]
struct Counted {
    origins: Vec<u64>,
    /// The number of bytes in each slot of fragments, by the number of the origin within fragments.
    fragment_slots: Vec<Vec<u64>>,
    traced: OriginTotals,
}

impl Requests<'_> {
    fn totals(&self) -> Result<OriginTotals> {
        let mut numbers = Numbers::default();
        let tallies = self.tallies(&mut numbers)?;
        let add = |request: usize, counted: &mut Counted| -> Result<()> {
            let (row, plan) = (request / self.plans.labels.max(1), self.plans.of(request));
            let (tally, row_fragments) = (&tallies[plan], self.row_fragments.of(row));
            self.message_bytes(tally, row, |origin, bytes| counted.origins[origin] += bytes);
            self.add_media(tally, row, &mut counted.traced)?;
            if self.add_copied(tally, row, row_fragments, counted)? {
                return Ok(());
            }
            self.trace(&self.plans.all[plan].request, row, row_fragments, &mut counted.traced)
        };
        let count = |chunk: Range<usize>| -> Result<Counted> {
            self.values.host.check()?;
            let fragment_slots = vec![Vec::new(); numbers.fragment_slots.len()];
            let mut counted =
                Counted { origins: vec![0; numbers.origins.all.len()], fragment_slots, ..Counted::default() };
            for request in chunk {
                let row = request / self.plans.labels.max(1);
                add(request, &mut counted).map_err(|e| e.into_render().at_row(row))?;
            }
            Ok(counted)
        };
        let mut totals = OriginTotals::new();
        let inner = |set: FragmentSet| self.traces.of(set).origins();
        let counted = threads::try_map(threads::chunks(0..self.count(), CHUNK_REQUESTS), count)?;
        let (of_renderer, of_batch) = (inner(FragmentSet::Renderer), inner(FragmentSet::Batch));
        for chunk in counted {
            for (origin, bytes) in numbers.origins.all.iter().zip(chunk.origins).filter(|(_, bytes)| *bytes > 0) {
                *totals.entry(origin.clone()).or_default() += bytes;
            }
            for ((set, slot, speaker), counts) in numbers.fragment_slots.iter().zip(chunk.fragment_slots) {
                let origins = if *set == FragmentSet::Renderer { &of_renderer } else { &of_batch };
                for (origin, bytes) in origins.iter().zip(counts).filter(|(_, bytes)| *bytes > 0) {
                    *totals.entry(origin_in_slot(origin.clone(), *set, *slot, speaker.as_ref())).or_default() += bytes;
                }
            }
            merge(&mut totals, chunk.traced);
        }
        totals.retain(|_, bytes| *bytes > 0);
        Ok(totals)
    }

    /// Add the texts of a request that is a copy. Return false, and add nothing, if it is none.
    fn add_copied(&self, tally: &PlanTally, row: usize, row_fragments: &[u32], counted: &mut Counted) -> Result<bool> {
        if self.needs_substitution(tally, row, row_fragments) {
            return Ok(false);
        }
        let part = |reference: &FragmentRef| {
            self.traces.of(reference.set).part(row_fragments[reference.slot as usize], reference.part)
        };
        for reference in &tally.speakers {
            if part(reference)?.names_speaker {
                return Ok(false);
            }
        }
        for (origin, bytes) in &tally.literals {
            counted.origins[*origin] += bytes;
        }
        for (texts, origin) in &tally.fields {
            counted.origins[*origin] += texts.length(row) as u64;
        }
        for (reference, number) in &tally.fragments {
            let counts = &mut counted.fragment_slots[*number];
            for (origin, bytes) in &part(reference)?.bytes {
                if counts.len() <= *origin {
                    counts.resize(*origin + 1, 0);
                }
                counts[*origin] += bytes;
            }
        }
        for line in &tally.lines {
            counted.origins[tally.newline] += u64::from(self.writes(line, row, row_fragments));
        }
        Ok(true)
    }
}
