//! Finds the columns that the requests of a batch show, and the rows that show them. A column counts if its values give
//! bytes of a request directly, not through an example.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::request_origins::{OriginTotals, PlanTally, Requests, expanded};
use super::span_steps::Numbers;
use crate::error::Result;
use crate::plan::{Draws, Plan, Seg};
use crate::render::compiled::{BoundConfig, CompiledConfig};
use crate::render::input::{Batch, PythonCallbacks};
use crate::render::rows::any_needs_substitution;
use crate::role::Join;
use crate::template::{FragmentSet, Origin, Template};
use crate::threads;
use crate::value::Value;

/// The number of requests that a thread takes at a time.
const CHUNK_REQUESTS: usize = 1024;

/// Some rows of a batch; None means all rows.
pub type RowMask = Option<BooleanBuffer>;

/// The columns that the requests of a batch show.
#[derive(Debug, Default)]
pub struct ShownColumns {
    /// The samples' columns, each with the rows whose requests show it.
    pub columns: Vec<(Arc<str>, RowMask)>,
    /// The rows whose requests show examples.
    pub examples: RowMask,
    /// The literals of each plan, without those of examples; a NUL marks anything else between two literals.
    pub literals: Vec<String>,
    /// The plan of each request; None if the plans are one for each label.
    pub plans: Option<Vec<u32>>,
}

/// Return the columns that the requests of a batch show; the first row of the batch is row `start` of the samples. If
/// `copies` is true, no value is known to bring in another column, so that the values needn't be searched again.
///
/// # Errors
///
/// The errors of rendering, with the row (counted from the first batch) and the column.
#[allow(clippy::too_many_arguments, reason = "a batch, its place, and what is known of it")]
pub fn shown_columns(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    labels: &[Option<Value>],
    draws: &mut Option<Draws>,
    copies: bool,
    host: &dyn PythonCallbacks,
) -> Result<ShownColumns> {
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let by_row = matches!(compiled.config.main(), Template::Turns(_) | Template::Chat(_) | Template::Media(_));
    if let Some(plans) = bound.constant_plans().filter(|_| !by_row)
        && plans.iter().all(|plan| expanded(&plan.request).next().is_none())
    {
        let batch = Batch::new(bound.columns(), batch, host);
        let forms = if copies { Ok(false) } else { any_needs_substitution(&batch, &plans) };
        if !forms.map_err(|e| e.into_render().shifted(start))? {
            return Ok(of_plans(&bound, &plans, batch.rows));
        }
    }
    let rows = batch.num_rows();
    let columns = bound.with_requests(batch, start, labels, draws, host, |requests| requests.shown_columns(rows));
    columns.map_err(|e| e.into_render().shifted(start))
}

/// Return the columns that requests show if all requests are copies and their plans don't depend on rows.
fn of_plans(bound: &BoundConfig, plans: &[Arc<Plan>], rows: usize) -> ShownColumns {
    let mut fields: Vec<usize> = plans.iter().flat_map(|p| &p.programs).flat_map(|p| p.fields.clone()).collect();
    fields.sort_unstable();
    fields.dedup();
    let examples = plans.iter().any(|plan| shows_examples(plan));
    ShownColumns {
        columns: fields.into_iter().map(|column| (bound.columns().names[column].clone(), None)).collect(),
        examples: if examples { None } else { Some(BooleanBuffer::new_unset(rows)) },
        literals: plans.iter().map(|plan| literals(plan)).collect(),
        plans: None,
    }
}

/// Return true if a plan's requests show examples.
fn shows_examples(plan: &Plan) -> bool {
    let is_of_example = |seg: &Seg| match seg {
        Seg::Lit(text, origin) => origin.example.is_some() && !text.is_empty(),
        Seg::Fragment(reference) => reference.set == FragmentSet::Renderer,
        Seg::Field(..) => false,
    };
    plan.programs.iter().flat_map(|program| &program.units).flat_map(|unit| &unit.segs).any(is_of_example)
}

/// Return the literals of a plan, without those of examples; a NUL marks anything else between two literals.
fn literals(plan: &Plan) -> String {
    let mut out = String::new();
    for program in &plan.programs {
        out.push('\0');
        for unit in &program.units {
            if unit.join == Join::Line {
                out.push('\n');
            }
            for seg in &unit.segs {
                match seg {
                    Seg::Lit(text, origin) if origin.example.is_none() => out.push_str(text),
                    _ => out.push('\0'),
                }
            }
        }
    }
    out
}

/// The names of columns, each with a number.
#[derive(Default)]
struct Names(Vec<Arc<str>>);

impl Names {
    fn number(&mut self, name: &Arc<str>) -> u32 {
        self.0.iter().position(|column| column == name).unwrap_or_else(|| {
            self.0.push(name.clone());
            self.0.len() - 1
        }) as u32
    }
}

/// Return the column of the samples that bytes come from, if they come from a column.
fn sample_column(origin: &Origin) -> Option<&Arc<str>> {
    origin.column.as_ref().filter(|_| origin.source.is_field() && origin.example.is_none())
}

/// The columns that a chunk of requests shows.
#[derive(Default)]
struct ChunkColumns {
    /// The numbers of columns, each with a row.
    columns: Vec<(u32, u32)>,
    /// The numbers of origins of the batch's fragments, each with a row.
    fragments: Vec<(u32, u32)>,
    /// The rows that show examples.
    examples: Vec<u32>,
}

impl Requests<'_> {
    fn shown_columns(&self, rows: usize) -> Result<ShownColumns> {
        let mut numbers = Numbers::default();
        let tallies = self.tallies(&mut numbers)?;
        let mut names = Names::default();
        let column = |number: usize| sample_column(&numbers.origins.all[number]);
        let mut fields: Vec<Vec<u32>> = Vec::with_capacity(tallies.len());
        for PlanTally { fields: columns, .. } in &tallies {
            let columns = columns.iter().filter_map(|(_, origin)| column(*origin));
            let mut columns: Vec<u32> = columns.map(|name| names.number(name)).collect();
            columns.sort_unstable();
            columns.dedup();
            fields.push(columns);
        }
        let examples: Vec<bool> = self.plans.all.iter().map(|plan| shows_examples(plan)).collect();
        let names = Mutex::new(names);
        let number = |name: &Arc<str>| names.lock().unwrap_or_else(PoisonError::into_inner).number(name);
        let add_request = |request: usize, sample: u32, out: &mut ChunkColumns| -> Result<()> {
            let (row, plan) = (request / self.plans.labels.max(1), self.plans.of(request));
            let (tally, row_fragments) = (&tallies[plan], self.row_fragments.of(row));
            if examples[plan] {
                out.examples.push(sample);
            }
            let mut traced = OriginTotals::new();
            self.add_media(tally, row, &mut traced)?;
            self.message_bytes(tally, row, |origin, bytes| {
                if let Some(name) = column(origin).filter(|_| bytes > 0) {
                    out.columns.push((number(name), sample));
                }
            });
            if self.needs_substitution(tally, row, row_fragments) {
                self.trace(&self.plans.all[plan].request, row, row_fragments, &mut traced)?;
            } else {
                out.columns.extend(fields[plan].iter().map(|column| (*column, sample)));
                for (reference, _) in
                    tally.fragments.iter().filter(|(reference, _)| reference.set == FragmentSet::Batch)
                {
                    let part =
                        self.traces.of(reference.set).part(row_fragments[reference.slot as usize], reference.part)?;
                    out.fragments.extend(part.bytes.iter().map(|(origin, _)| (*origin as u32, sample)));
                }
            }
            let traced = traced.iter().filter(|(_, bytes)| **bytes > 0).filter_map(|(origin, _)| sample_column(origin));
            out.columns.extend(traced.map(|name| (number(name), sample)));
            Ok(())
        };
        let chunk = |requests: Range<usize>| -> Result<ChunkColumns> {
            self.values.host.check()?;
            let mut out = ChunkColumns::default();
            for request in requests {
                let row = request / self.plans.labels.max(1);
                let sample = self.rows.as_ref().map_or(row, |rows| rows[request]);
                add_request(request, sample as u32, &mut out).map_err(|e| e.into_render().at_row(row))?;
            }
            Ok(out)
        };
        let chunks = threads::try_map(threads::chunks(0..self.count(), CHUNK_REQUESTS), chunk)?;
        let origins = self.traces.of(FragmentSet::Batch).origins();
        let mut names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
        let of_fragments: Vec<Option<u32>> =
            origins.iter().map(|origin| sample_column(origin).map(|name| names.number(name))).collect();
        let mut masks: Vec<BooleanBufferBuilder> = names.0.iter().map(|_| unset(rows)).collect();
        let mut with_examples = unset(rows);
        for chunk in chunks {
            chunk.columns.iter().for_each(|(column, row)| masks[*column as usize].set_bit(*row as usize, true));
            for (origin, row) in chunk.fragments {
                if let Some(column) = of_fragments[origin as usize] {
                    masks[column as usize].set_bit(row as usize, true);
                }
            }
            chunk.examples.iter().for_each(|row| with_examples.set_bit(*row as usize, true));
        }
        Ok(ShownColumns {
            columns: names.0.into_iter().zip(masks).map(|(name, mask)| (name, row_mask(mask))).collect(),
            examples: row_mask(with_examples),
            literals: self.plans.all.iter().map(|plan| literals(plan)).collect(),
            plans: self.plans.each.clone(),
        })
    }
}

fn unset(rows: usize) -> BooleanBufferBuilder {
    let mut out = BooleanBufferBuilder::new(rows);
    out.append_n(rows, false);
    out
}

fn row_mask(mut rows: BooleanBufferBuilder) -> RowMask {
    let rows = rows.finish();
    if rows.count_set_bits() == rows.len() { None } else { Some(rows) }
}
