//! Finds the rows where the two ways of substituting differ.
//!
//! Samples are rendered both ways, and the results are compared. So this module needn't know how fields are filled in,
//! which texts are removed from examples, or which text replaces a masked field; each of these affects both renderings.
//! Origins are traced only for the rows that differ.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::compiled::{BoundConfig, CompiledConfig, conversation_programs, conversations};
use super::conversations::empty_replies;
use super::input::{Batch, PythonCallbacks};
use super::messages::SliceCache;
use super::rendered::{RenderRequest, RenderedRows, RenderedRowsSink};
use super::rows::{any_may_need_substitution, any_needs_substitution, rows_that_need_substitution};
use super::substitution::InvolvedColumns;
use super::values::value_at;
use crate::error::{Kind, Result};
use crate::plan::{Draws, Plan, Program};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

/// The number of rows that are rendered both ways at a time: enough for all threads, and few enough that many slices
/// hold no odd row if a table has only a few of them.
const SLICE_ROWS: usize = 8192;
/// The number of rows that are tested together for a possible difference.
const BLOCK_ROWS: usize = 1 << 16;

/// The greatest number of rows between two rows to compare that are rendered with them: a slice of its own takes as long
/// as some sixty short rows.
const MAX_GAP_ROWS: usize = 64;

/// A row in which the two ways of substituting differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The row.
    pub row: usize,
    /// Columns whose values brought in, or completed, a placeholder; none if the row wasn't traced.
    pub columns: Vec<Arc<str>>,
}

/// A compiled configuration bound to the samples.
struct Way<'a> {
    bound: BoundConfig<'a>,
}

/// The arguments that both ways of rendering share.
struct Query<'a> {
    labels: &'a [Option<Value>],
    host: &'a dyn PythonCallbacks,
}

/// A request of a slice: its row, and its label or turn in the row.
type RequestId = (usize, usize);

/// The requests of a slice, as consecutive arrays, and their identities.
struct Rendered {
    prompts: Vec<ArrayRef>,
    ids: Vec<RequestId>,
}

/// Return the rows in which replacing column by column gives another request than replacing each placeholder once,
/// because of what values hold. If conversations hold a model's replies, these are taken to be empty, because the table doesn't have them.
///
/// # Errors
///
/// The errors of rendering the samples.
pub fn divergence(
    compiled: &CompiledConfig,
    samples: &[RecordBatch],
    labels: &[Option<Value>],
    host: &dyn PythonCallbacks,
) -> Result<Vec<Divergence>> {
    // Doubled braces are the template's, and differ in every row.
    let plain = compiled.config.unescapes.then(|| compiled.under(compiled.config.substitution, host)).transpose()?;
    let compiled = plain.as_ref().unwrap_or(compiled);
    let other = opposite(compiled, host)?;
    divergence_from(compiled, &other, samples, (0, None), labels, usize::MAX, host)
}

/// Compile a configuration with the other rule of substitution.
///
/// # Errors
///
/// The errors of compiling the configuration.
pub fn opposite(compiled: &CompiledConfig, host: &dyn PythonCallbacks) -> Result<CompiledConfig> {
    compiled.under(compiled.config.substitution.opposite(), host)
}

/// Return true if the two rules can give any row other texts although no placeholder forms in a value, because the plan
/// that the row shares with all others differs, or because the plan of each row depends on the texts of examples.
///
/// # Errors
///
/// The errors of a schema that the configuration can't render.
pub fn plans_differ(compiled: &CompiledConfig, other: &CompiledConfig, schema: &SchemaRef) -> Result<bool> {
    if compiled.needs_texts() {
        return Ok(true);
    }
    // A conversation's requests put its texts together and are never searched for placeholders.
    if let (Some(mine), Some(theirs)) =
        (conversation_programs(compiled, schema)?, conversation_programs(other, schema)?)
    {
        return Ok(!same_programs(&mine, &theirs));
    }
    let (mine, theirs) = (BoundConfig::new(compiled, schema)?, BoundConfig::new(other, schema)?);
    let plans = mine.constant_plans().zip(theirs.constant_plans());
    Ok(plans.is_some_and(|(left, right)| !same(&left, &right)))
}

/// Return true if a configuration makes all texts by copying, whatever the samples hold.
///
/// # Errors
///
/// The errors of a schema that the configuration can't render.
pub fn only_copies(compiled: &CompiledConfig, schema: &SchemaRef) -> Result<bool> {
    let plans = Way { bound: BoundConfig::new(compiled, schema)? }.plans();
    Ok(plans.is_some_and(|plans| !any_may_need_substitution(&plans)))
}

/// Return true if the two rules can give rows of a shape other texts although no placeholder forms in a value, because
/// their plans differ.
///
/// # Errors
///
/// The errors of making a plan of this shape.
pub fn shape_differs(
    compiled: &CompiledConfig,
    other: &CompiledConfig,
    schema: &SchemaRef,
    shape: &[u32],
    labels: &[Option<Value>],
    host: &dyn PythonCallbacks,
) -> Result<bool> {
    let plans = |compiled: &CompiledConfig| -> Result<Vec<Arc<Plan>>> {
        let bound = BoundConfig::new(compiled, schema)?;
        let plan = |label: &Option<Value>| bound.plan_of_shape(label.as_ref(), shape, host).map(Arc::new);
        labels.iter().map(plan).collect()
    };
    Ok(!same(&plans(compiled)?, &plans(other)?))
}

/// Return true if the two rules give some example other texts.
///
/// # Errors
///
/// The errors of rendering the examples.
pub fn examples_differ(
    compiled: &CompiledConfig,
    other: &CompiledConfig,
    schema: &SchemaRef,
    host: &dyn PythonCallbacks,
) -> Result<bool> {
    let (mine, theirs) = (BoundConfig::new(compiled, schema)?, BoundConfig::new(other, schema)?);
    let fragments = mine.example_fragments(host)?;
    Ok(!fragments.are_copies() && !fragments.has_texts_of(theirs.example_fragments(host)?))
}

/// [`divergence`] for samples that follow others: `other` is the [`opposite`]; `position` is the number of the samples
/// before these, and the state of random draws after them. Rows count from the first sample of all. Columns are traced for
/// as many rows as `max_traced` says.
///
/// # Errors
///
/// The errors of rendering the samples.
pub fn divergence_from(
    compiled: &CompiledConfig,
    other: &CompiledConfig,
    samples: &[RecordBatch],
    position: (usize, Option<Draws>),
    labels: &[Option<Value>],
    max_traced: usize,
    host: &dyn PythonCallbacks,
) -> Result<Vec<Divergence>> {
    let query = Query { labels, host };
    let (mut out, (mut first, mut draws)) = (Vec::new(), position);
    for batch in samples {
        let schema = batch.schema();
        let mine = Way { bound: BoundConfig::new(compiled, &schema)? };
        let theirs = Way { bound: BoundConfig::new(other, &schema)? };
        // Random draws continue from sample to sample, so no sample may be left out.
        let in_order = compiled.config.retriever.choice.by_position();
        let plain = !in_order && mine.plans().zip(theirs.plans()).is_some_and(|(left, right)| same(&left, &right));
        // Many rows are tested together first, because their columns are then searched in parallel.
        let theirs_may = theirs.plans().is_none_or(|plans| any_may_need_substitution(&plans));
        let none_forms = |mine: &Way, theirs: &Way, rows: &RecordBatch, start: usize| -> Result<bool> {
            let may_form = |way: &Way| way.may_form(rows, host).map_err(|e| e.shifted(first + start));
            Ok(plain && !may_form(mine)? && !(theirs_may && may_form(theirs)?))
        };
        let step = (SLICE_ROWS / labels.len().max(1)).max(1);
        for block in threads::chunks(0..batch.num_rows(), BLOCK_ROWS.max(step)) {
            host.check()?;
            if block.len() > step && none_forms(&mine, &theirs, &batch.slice(block.start, block.len()), block.start)? {
                continue;
            }
            for rows in threads::chunks(block, step) {
                host.check()?;
                let others = theirs_may.then_some(&theirs);
                let compared = if plain { forming(&mine, others, batch, &rows, first, host)? } else { vec![rows] };
                for rows in compared {
                    let (start, slice) = (rows.start, batch.slice(rows.start, rows.len()));
                    let before = draws.clone();
                    let requests = differing((&mine, &theirs), &slice, first + start, &mut draws, &query)?;
                    let harness = if compiled.config.substitution.is_by_column() { &mine } else { &theirs };
                    let most = max_traced - out.len().min(max_traced);
                    out.extend(harness.traced(&slice, &requests, first + start, before, most, &query)?);
                }
            }
        }
        first += batch.num_rows();
    }
    Ok(out)
}

/// Return ranges of some rows in which a placeholder may form, by one way or the other, with few rows between.
fn forming(
    mine: &Way,
    theirs: Option<&Way>,
    batch: &RecordBatch,
    rows: &Range<usize>,
    first: usize,
    host: &dyn PythonCallbacks,
) -> Result<Vec<Range<usize>>> {
    let slice = batch.slice(rows.start, rows.len());
    let mut all = Vec::new();
    for way in std::iter::once(mine).chain(theirs) {
        all.extend(way.forming_rows(&slice, host).map_err(|e| e.shifted(first + rows.start))?);
    }
    all.sort_unstable();
    let gap = |a: &usize, b: &usize| b - a <= MAX_GAP_ROWS;
    Ok(all.chunk_by(gap).map(|run| rows.start + run[0]..rows.start + run[run.len() - 1] + 1).collect())
}

impl Way<'_> {
    /// Return the plans of all rows, if they are the same for all rows.
    fn plans(&self) -> Option<Vec<Arc<Plan>>> {
        match self.bound.compiled.config.main() {
            // The plans of these templates depend on the conversation.
            Template::Turns(_) | Template::Chat(_) => None,
            _ => self.bound.constant_plans(),
        }
    }

    /// Return true if a placeholder may form in some row of a slice. If none may, the steps of a program write its
    /// whole text, so both ways give the same text if their steps are the same.
    fn may_form(&self, slice: &RecordBatch, host: &dyn PythonCallbacks) -> Result<bool> {
        let plans = self.plans().unwrap_or_default();
        any_needs_substitution(&Batch::new(self.bound.columns(), slice, host), &plans)
    }

    /// Return the rows of a slice in which a placeholder may form, as [`Way::may_form`].
    fn forming_rows(&self, slice: &RecordBatch, host: &dyn PythonCallbacks) -> Result<Vec<usize>> {
        let plans = self.plans().unwrap_or_default();
        rows_that_need_substitution(&Batch::new(self.bound.columns(), slice, host), &plans)
    }

    /// Render the requests of a slice.
    fn rendered(
        &self,
        slice: &RecordBatch,
        first: usize,
        draws: &mut Option<Draws>,
        query: &Query,
    ) -> Result<Rendered> {
        let message_type = self.bound.message_type()?;
        let (mut out, cache): (Vec<RenderedRows>, _) = (Vec::new(), SliceCache::new(&self.bound.binding.constants));
        let message_type = message_type.as_ref();
        let spans = self.bound.span_finder(None, query.labels);
        let mut sink = RenderedRowsSink {
            message_type,
            labels: query.labels,
            render_request: RenderRequest::default(),
            spans: &spans,
            cache: &cache,
            out: &mut out,
        };
        let compiled = self.bound.compiled;
        if !matches!(compiled.config.main(), Template::Turns(_) | Template::Chat(_)) {
            let result = self.bound.slice(slice, first, draws, query.host, &mut sink);
            result.map_err(|e| e.shifted(first))?;
            let each = query.labels.len();
            let ids = (0..slice.num_rows()).flat_map(|row| (0..each).map(move |n| (row, n))).collect();
            return Ok(Rendered { prompts: out.into_iter().map(|rows| rows.prompts).collect(), ids });
        }
        let mut ids = Vec::new();
        for turn in 0.. {
            let lists = empty_replies(slice.num_rows(), turn);
            let replies = self.bound.replies(turn, &lists);
            let requested = conversations(compiled, slice, 0, replies, query.host).map_err(|e| e.shifted(first))?;
            let Some(requested) = requested else { break };
            let turns = requested.samples.values().iter().zip(requested.turns.values());
            let before = ids.len();
            ids.extend(turns.map(|(sample, turn)| (*sample as usize, *turn as usize)));
            let count = ids.len() - before;
            if count > 0 {
                let result = self.bound.emit_conversations(requested, 0, &mut sink, query.host);
                result.map_err(|e| e.shifted(first))?;
            }
            if replies.is_none() || count == 0 {
                break;
            }
        }
        Ok(Rendered { prompts: out.into_iter().map(|rows| rows.prompts).collect(), ids })
    }

    /// Return the rows of requests that differ; the first `most` with the columns that cause the difference under the
    /// harness's rules. `draws` is the state of random draws before the slice.
    fn traced(
        &self,
        slice: &RecordBatch,
        requests: &[RequestId],
        first: usize,
        mut draws: Option<Draws>,
        most: usize,
        query: &Query,
    ) -> Result<Vec<Divergence>> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let chosen = self.bound.compiled.choose_examples(first, slice.num_rows(), &mut draws)?;
        let names = &self.bound.columns().names;
        let order = |c: &Arc<str>| names.iter().position(|n| n == c).unwrap_or(usize::MAX);
        let row_divergence = |requests: &[RequestId]| -> Result<Divergence> {
            let row = requests[0].0;
            query.host.check()?;
            let mut involved = InvolvedColumns::new();
            for (_, which) in requests {
                let example_ids = chosen.as_ref().map(|chosen| chosen[row].as_slice());
                let result = self.trace_columns(slice, row, first + row, *which, example_ids, &mut involved, query);
                result.map_err(|e| e.into_render().at_row(first + row))?;
            }
            let mut columns: Vec<Arc<str>> = involved.into_iter().collect();
            columns.sort_by_cached_key(|c| (order(c), c.clone()));
            Ok(Divergence { row: first + row, columns })
        };
        let rows: Vec<&[RequestId]> = requests.chunk_by(|a, b| a.0 == b.0).collect();
        let (traced, others) = rows.split_at(most.min(rows.len()));
        let mut out = threads::try_map(traced.to_vec(), row_divergence)?;
        out.extend(others.iter().map(|requests| Divergence { row: first + requests[0].0, columns: Vec::new() }));
        Ok(out)
    }

    /// Add the columns that took part in the placeholders of a request to `involved`.
    #[allow(clippy::too_many_arguments, reason = "a request, and what is known of its row")]
    fn trace_columns(
        &self,
        slice: &RecordBatch,
        row: usize,
        position: usize,
        which: usize,
        chosen: Option<&[i64]>,
        involved: &mut InvolvedColumns,
        query: &Query,
    ) -> Result<()> {
        let row_batch = slice.slice(row, 1);
        if matches!(self.bound.compiled.config.main(), Template::Turns(_) | Template::Chat(_)) {
            return self.bound.traced_turn(&row_batch, Some(which), involved, query.host).map(|_| ());
        }
        let ids = match chosen {
            Some(chosen) => chosen.to_vec(),
            None => self.bound.example_ids(slice, row, position)?,
        };
        let label = query.labels[which].as_ref();
        self.bound.traced_sample(&row_batch, &ids, label, involved, query.host).map(|_| ())
    }
}

/// Return true if the two ways begin with the same plans. The texts of a row then differ only if a placeholder forms.
fn same(left: &[Arc<Plan>], right: &[Arc<Plan>]) -> bool {
    let alike = |(left, right): (&Arc<Plan>, &Arc<Plan>)| {
        left.request == right.request && same_programs(&left.programs, &right.programs)
    };
    left.len() == right.len() && left.iter().zip(right).all(alike)
}

/// Return true if two lists of programs write the same texts where no placeholder forms.
fn same_programs<P: std::borrow::Borrow<Program>>(left: &[P], right: &[P]) -> bool {
    let alike = |(left, right): (&P, &P)| {
        let (left, right) = (left.borrow(), right.borrow());
        left.ops == right.ops && left.literals == right.literals
    };
    left.len() == right.len() && left.iter().zip(right).all(alike)
}

/// Return the requests of a slice that the two ways render differently, or that only the first way can render, row by
/// row.
fn differing(
    (mine, theirs): (&Way, &Way),
    slice: &RecordBatch,
    first: usize,
    draws: &mut Option<Draws>,
    query: &Query,
) -> Result<Vec<RequestId>> {
    // Both ways choose the same examples, and the second can fail before it has chosen them.
    let before = draws.clone();
    let rendered = mine.rendered(slice, first, draws, query)?;
    let error = match theirs.rendered(slice, first, &mut before.clone(), query) {
        Ok(others) => {
            let numbers = unequal(&rendered.prompts, &others.prompts).into_iter();
            let mut out: Vec<RequestId> = numbers.map(|number| rendered.ids[number]).collect();
            out.sort_unstable();
            return Ok(out);
        }
        Err(error) => error,
    };
    if error.kind() == Kind::Stopped {
        return Err(error);
    }
    let rows = slice.num_rows();
    if rows <= 1 {
        return Ok(rendered.ids);
    }
    *draws = before;
    let middle = rows / 2;
    let mut out = differing((mine, theirs), &slice.slice(0, middle), first, draws, query)?;
    let rest = differing((mine, theirs), &slice.slice(middle, rows - middle), first + middle, draws, query)?;
    out.extend(rest.into_iter().map(|(row, which)| (row + middle, which)));
    Ok(out)
}

/// Return the numbers of the requests that differ between two lists; each list may be cut into arrays anywhere.
fn unequal(left: &[ArrayRef], right: &[ArrayRef]) -> Vec<usize> {
    let mut out = Vec::new();
    let (mut lefts, mut rights) = (left.iter().cloned(), right.iter().cloned());
    let (mut a, mut b) = (lefts.next(), rights.next());
    let mut position = 0;
    while let (Some(left), Some(right)) = (&a, &b) {
        let count = left.len().min(right.len());
        compare(&left.slice(0, count), &right.slice(0, count), position, &mut out);
        position += count;
        let rest = |array: &ArrayRef| (array.len() > count).then(|| array.slice(count, array.len() - count));
        let (next_a, next_b) = (rest(left), rest(right));
        a = next_a.or_else(|| lefts.next());
        b = next_b.or_else(|| rights.next());
    }
    out
}

/// Append the numbers of the requests that differ, counted from `first`. Halves that are the same are skipped.
fn compare(left: &ArrayRef, right: &ArrayRef, first: usize, out: &mut Vec<usize>) {
    let count = left.len();
    if count == 0 || is_same(left, right) {
        return;
    }
    if count == 1 {
        out.push(first);
        return;
    }
    let middle = count / 2;
    compare(&left.slice(0, middle), &right.slice(0, middle), first, out);
    compare(&left.slice(middle, count - middle), &right.slice(middle, count - middle), first + middle, out);
}

fn is_same(left: &ArrayRef, right: &ArrayRef) -> bool {
    if left.data_type() == right.data_type() {
        return left.to_data() == right.to_data();
    }
    // A field that no message has in one way is null in the other way.
    let values = |array: &ArrayRef, row| format!("{:?}", without_nulls(value_at(array, row)));
    (0..left.len()).all(|row| values(left, row) == values(right, row))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(without_nulls).collect()),
        Value::Dict(items) => {
            let present = items.into_iter().filter(|(_, value)| *value != Value::None);
            Value::Dict(present.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    fn cut(texts: &[&str], ends: &[usize]) -> Vec<ArrayRef> {
        let all = StringArray::from(texts.to_vec());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let ends = ends.iter().copied().chain([texts.len()]);
        starts.zip(ends).map(|(start, end)| Arc::new(all.slice(start, end - start)) as ArrayRef).collect()
    }

    #[test]
    fn requests_are_compared_wherever_they_are_cut() {
        let (left, right) = (["a", "b", "c", "d", "e", "f"], ["a", "B", "c", "d", "E", "F"]);
        for ends in [&[][..], &[2], &[1, 3], &[0, 5], &[1, 2, 3, 4, 5]] {
            for others in [&[][..], &[3], &[4, 4]] {
                assert_eq!(unequal(&cut(&left, ends), &cut(&right, others)), [1, 4, 5]);
            }
        }
        assert_eq!(unequal(&cut(&left, &[]), &cut(&left, &[4])), [0; 0]);
    }
}
