//! How many bytes of all requests come from where: what `explain` says of each, added up.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::fragment_traces::placed;
use super::input::Host;
use super::request_origins::{OriginTotals, PlanTally, Requests};
use super::span_steps::Numbers;
use crate::error::Result;
use crate::plan::Draws;
use crate::template::{FragmentRef, FragmentSet};
use crate::threads;
use crate::value::Value;

/// Rows that are counted between two looks at signals.
const SLICE_ROWS: usize = 65_536;
/// Requests that one thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

/// How many bytes of the requests of a batch, whose first row is row `start` of the samples, come from where. What is
/// counted is what `explain` explains: texts, what messages say, the payloads of parts.
///
/// # Errors
///
/// `RenderError` for what rendering refuses, with the row (counted from the first batch) and the column.
pub fn origin_totals(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    host: &dyn Host,
) -> Result<OriginTotals> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let step = (SLICE_ROWS / labels.len().max(1)).max(1);
    let mut totals = OriginTotals::new();
    for at in (0..batch.num_rows()).step_by(step) {
        host.check()?;
        let slice = batch.slice(at, step.min(batch.num_rows() - at));
        let first = start + at;
        let own = bound.with_requests(&slice, first, labels, draws, host, |requests| requests.totals());
        merge(&mut totals, own.map_err(|e| e.into_render().shifted(first))?);
    }
    Ok(totals)
}

fn merge(totals: &mut OriginTotals, more: OriginTotals) {
    for (origin, bytes) in more {
        *totals.entry(origin).or_default() += bytes;
    }
}

/// What a chunk of requests adds up to.
#[derive(Default)]
struct Counted {
    origins: Vec<u64>,
    /// By place, by the number of the origin within fragments.
    places: Vec<Vec<u64>>,
    traced: OriginTotals,
}

impl Requests<'_> {
    fn totals(&self) -> Result<OriginTotals> {
        let mut numbers = Numbers::default();
        let tallies = self.tallies(&mut numbers)?;
        let add = |request: usize, counted: &mut Counted| -> Result<()> {
            let (row, plan) = (request / self.plans.labels.max(1), self.plans.of(request));
            let (tally, shown) = (&tallies[plan], self.shown.of(row));
            self.said_bytes(tally, row, |origin, bytes| counted.origins[origin] += bytes);
            self.add_media(tally, row, &mut counted.traced)?;
            if self.add_copied(tally, row, shown, counted)? {
                return Ok(());
            }
            self.trace(&self.plans.all[plan].request, row, shown, &mut counted.traced)
        };
        let count = |chunk: Range<usize>| -> Result<Counted> {
            self.values.host.check()?;
            let places = vec![Vec::new(); numbers.places.len()];
            let mut counted = Counted { origins: vec![0; numbers.origins.all.len()], places, ..Counted::default() };
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
            for ((set, slot, speaker), own) in numbers.places.iter().zip(chunk.places) {
                let origins = if *set == FragmentSet::Renderer { &of_renderer } else { &of_batch };
                for (origin, bytes) in origins.iter().zip(own).filter(|(_, bytes)| *bytes > 0) {
                    *totals.entry(placed(origin.clone(), *set, *slot, speaker.as_ref())).or_default() += bytes;
                }
            }
            merge(&mut totals, chunk.traced);
        }
        totals.retain(|_, bytes| *bytes > 0);
        Ok(totals)
    }

    /// Add the texts of a request that is a copy. Return false, and add nothing, if it is none.
    fn add_copied(&self, tally: &PlanTally, row: usize, shown: &[u32], counted: &mut Counted) -> Result<bool> {
        if self.needs_substitution(tally, row, shown) {
            return Ok(false);
        }
        let part = |place: &FragmentRef| self.traces.of(place.set).part(shown[place.slot as usize], place.part);
        for place in &tally.speakers {
            if part(place)?.names_speaker {
                return Ok(false);
            }
        }
        for (origin, bytes) in &tally.literals {
            counted.origins[*origin] += bytes;
        }
        for (texts, origin) in &tally.fields {
            counted.origins[*origin] += texts.length(row) as u64;
        }
        for (place, number) in &tally.fragments {
            let own = &mut counted.places[*number];
            for (origin, bytes) in &part(place)?.bytes {
                if own.len() <= *origin {
                    own.resize(*origin + 1, 0);
                }
                own[*origin] += bytes;
            }
        }
        for line in &tally.lines {
            counted.origins[tally.newline] += u64::from(self.writes(line, row, shown));
        }
        Ok(true)
    }
}
