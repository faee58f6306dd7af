//! Where the two ways of substituting differ.
//!
//! Samples are rendered both ways, and what comes out is compared. So nothing here knows how fields are filled in, what
//! is removed from examples or what the mask brings in; whatever makes a difference does so in both renderings, and
//! shows. Where it comes from is traced for the rows that differ alone.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::conversation_requests::conversations;
use super::conversations::empty_replies;
use super::input::{Batch, Host};
use super::messages::SliceCache;
use super::outcomes::{Outcome, OutcomeSink, Wanted};
use super::rows::{any_may_need_substitution, any_needs_substitution};
use super::substitution::InvolvedColumns;
use super::values::value_at;
use crate::error::{Kind, Result};
use crate::plan::{Draws, Plan, Substitution};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

/// Rows that are rendered both ways at once: enough for all threads, and few enough that many slices of data with a few
/// odd rows hold none.
const SLICE_ROWS: usize = 8192;
/// Rows that are asked at once whether any of them could differ.
const BLOCK_ROWS: usize = 1 << 16;

/// A row in which the two ways of substituting differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The row.
    pub row: usize,
    /// Columns whose values brought in, or completed, a placeholder.
    pub columns: Vec<Arc<str>>,
}

/// A compiled configuration bound to the samples, and how far it has come among them.
struct Way<'a> {
    bound: BoundConfig<'a>,
    draws: Option<Draws>,
}

/// What is asked of both ways.
struct Query<'a> {
    labels: &'a [Option<Value>],
    host: &'a dyn Host,
}

/// A request of a slice: its row, and which of the row's requests it is, by label or turn.
type RequestId = (usize, usize);

/// The requests of a slice, as arrays one after the other, and which they are.
struct Rendered {
    prompts: Vec<ArrayRef>,
    ids: Vec<RequestId>,
}

/// The rows in which replacing column by column gives another request than replacing each placeholder once. Of
/// conversations that hold a model's own replies these are taken for empty: they aren't in the table.
///
/// # Errors
///
/// As rendering the samples.
pub fn divergence(
    compiled: &CompiledConfig,
    samples: &[RecordBatch],
    labels: &[Option<Value>],
    host: &dyn Host,
) -> Result<Vec<Divergence>> {
    let is_harness = compiled.config.substitution == Substitution::Harness;
    let other = compiled.under(if is_harness { Substitution::SinglePass } else { Substitution::Harness }, host)?;
    let query = Query { labels, host };
    let (mut out, mut first) = (Vec::new(), 0);
    let (mut draws, mut picks) = ((None, None), None);
    for batch in samples {
        let schema = batch.schema();
        let mut mine = Way { bound: BoundConfig::new(compiled, &schema)?, draws: draws.0.take() };
        let mut theirs = Way { bound: BoundConfig::new(&other, &schema)?, draws: draws.1.take() };
        // Draws go on from sample to sample, so that none is left out.
        let in_order = compiled.config.retriever.choice.by_position();
        let plain = !in_order && mine.plans().zip(theirs.plans()).is_some_and(|(one, two)| same(&one, &two));
        // What a slice's own rows can say is asked of many first: their columns are gone through side by side.
        let theirs_may = theirs.plans().is_none_or(|plans| any_may_need_substitution(&plans));
        let none_forms = |mine: &Way, theirs: &Way, rows: &RecordBatch, at: usize| -> Result<bool> {
            let may_form = |way: &Way| way.may_form(rows, host).map_err(|e| e.shifted(first + at));
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
                let (at, slice) = (rows.start, batch.slice(rows.start, rows.len()));
                if none_forms(&mine, &theirs, &slice, at)? {
                    continue;
                }
                let chosen = compiled.choose_examples(first + at, slice.num_rows(), &mut picks)?;
                let requests = differing(&mut mine, &mut theirs, &slice, first + at, &query)?;
                let harness = if is_harness { &mine } else { &theirs };
                out.extend(harness.traced(&slice, &requests, first + at, chosen.as_deref(), &query)?);
            }
        }
        draws = (mine.draws, theirs.draws);
        first += batch.num_rows();
    }
    Ok(out)
}

impl Way<'_> {
    /// The plans of all rows, where no row decides them.
    fn plans(&self) -> Option<Vec<Arc<Plan>>> {
        match self.bound.compiled.config.main() {
            // Theirs go by the conversation.
            Template::Turns(_) | Template::Chat(_) => None,
            _ => self.bound.constant_plans(),
        }
    }

    /// Whether a placeholder may form in some row of a slice. Where none may, each text is what its program's steps write,
    /// and so it is the same under both ways if the steps are.
    fn may_form(&self, slice: &RecordBatch, host: &dyn Host) -> Result<bool> {
        let plans = self.plans().unwrap_or_default();
        any_needs_substitution(&Batch::new(self.bound.columns(), slice, host), &plans)
    }

    /// The requests of a slice.
    fn rendered(&mut self, slice: &RecordBatch, first: usize, query: &Query) -> Result<Rendered> {
        let message_type = self.bound.message_type()?;
        let (mut out, cache): (Vec<Outcome>, _) = (Vec::new(), SliceCache::new(&self.bound.binding.constants));
        let message_type = message_type.as_ref();
        let spans = self.bound.span_finder(None, query.labels);
        let mut sink = OutcomeSink {
            message_type,
            labels: query.labels,
            wanted: Wanted::default(),
            spans: &spans,
            cache: &cache,
            out: &mut out,
        };
        let compiled = self.bound.compiled;
        if !matches!(compiled.config.main(), Template::Turns(_) | Template::Chat(_)) {
            let done = self.bound.slice(slice, first, &mut self.draws, query.host, &mut sink);
            done.map_err(|e| e.shifted(first))?;
            let each = query.labels.len();
            let ids = (0..slice.num_rows()).flat_map(|row| (0..each).map(move |n| (row, n))).collect();
            return Ok(Rendered { prompts: out.into_iter().map(|one| one.prompts).collect(), ids });
        }
        let mut ids = Vec::new();
        for turn in 0.. {
            let lists = empty_replies(slice.num_rows(), turn);
            let replies = self.bound.replies(turn, &lists);
            let asked = conversations(compiled, slice, 0, replies, query.host).map_err(|e| e.shifted(first))?;
            let Some(asked) = asked else { break };
            let own = asked.samples.values().iter().zip(asked.turns.values());
            let before = ids.len();
            ids.extend(own.map(|(sample, turn)| (*sample as usize, *turn as usize)));
            let count = ids.len() - before;
            if count > 0 {
                let done = self.bound.emit_conversations(asked, 0, &mut sink, query.host);
                done.map_err(|e| e.shifted(first))?;
            }
            if replies.is_none() || count == 0 {
                break;
            }
        }
        Ok(Rendered { prompts: out.into_iter().map(|one| one.prompts).collect(), ids })
    }

    /// The rows of requests that differ, with the columns that made them so under the harness's rules.
    fn traced(
        &self,
        slice: &RecordBatch,
        requests: &[RequestId],
        first: usize,
        chosen: Option<&[Vec<i64>]>,
        query: &Query,
    ) -> Result<Vec<Divergence>> {
        let names = &self.bound.columns().names;
        let order = |c: &Arc<str>| names.iter().position(|n| n == c).unwrap_or(usize::MAX);
        let look = |requests: &[RequestId]| -> Result<Divergence> {
            let row = requests[0].0;
            query.host.check()?;
            let mut involved = InvolvedColumns::new();
            for (_, which) in requests {
                let own = chosen.map(|chosen| chosen[row].as_slice());
                let done = self.trace_one(slice, row, first + row, *which, own, &mut involved, query);
                done.map_err(|e| e.into_render().at_row(first + row))?;
            }
            let mut columns: Vec<Arc<str>> = involved.into_iter().collect();
            columns.sort_by_cached_key(|c| (order(c), c.clone()));
            Ok(Divergence { row: first + row, columns })
        };
        threads::try_map(requests.chunk_by(|a, b| a.0 == b.0).collect(), look)
    }

    /// Which columns took part in the placeholders of one request.
    #[allow(clippy::too_many_arguments, reason = "a request, and what is known of its row")]
    fn trace_one(
        &self,
        slice: &RecordBatch,
        row: usize,
        position: usize,
        which: usize,
        chosen: Option<&[i64]>,
        involved: &mut InvolvedColumns,
        query: &Query,
    ) -> Result<()> {
        let one = slice.slice(row, 1);
        if matches!(self.bound.compiled.config.main(), Template::Turns(_) | Template::Chat(_)) {
            return self.bound.traced_turn(&one, Some(which), involved, query.host).map(|_| ());
        }
        let ids = match chosen {
            Some(chosen) => chosen.to_vec(),
            None => self.bound.example_ids(slice, row, position)?,
        };
        let label = query.labels[which].as_ref();
        self.bound.traced_sample(&one, &ids, label, involved, query.host).map(|_| ())
    }
}

/// Whether the two ways begin with the same plans: what they make of a row then differs only where a placeholder forms.
fn same(one: &[Arc<Plan>], two: &[Arc<Plan>]) -> bool {
    let alike = |(one, two): (&Arc<Plan>, &Arc<Plan>)| {
        one.request == two.request
            && one.programs.len() == two.programs.len()
            && one.programs.iter().zip(&two.programs).all(|(a, b)| a.ops == b.ops && a.literals == b.literals)
    };
    one.len() == two.len() && one.iter().zip(two).all(alike)
}

/// The requests of a slice that the two ways render differently, or that only the first can render, row by row.
fn differing(
    mine: &mut Way,
    theirs: &mut Way,
    slice: &RecordBatch,
    first: usize,
    query: &Query,
) -> Result<Vec<RequestId>> {
    let before = (mine.draws.clone(), theirs.draws.clone());
    let own = mine.rendered(slice, first, query)?;
    let error = match theirs.rendered(slice, first, query) {
        Ok(others) => {
            let numbers = unequal(&own.prompts, &others.prompts).into_iter();
            let mut out: Vec<RequestId> = numbers.map(|number| own.ids[number]).collect();
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
        return Ok(own.ids);
    }
    (mine.draws, theirs.draws) = before;
    let middle = rows / 2;
    let mut out = differing(mine, theirs, &slice.slice(0, middle), first, query)?;
    let rest = differing(mine, theirs, &slice.slice(middle, rows - middle), first + middle, query)?;
    out.extend(rest.into_iter().map(|(row, which)| (row + middle, which)));
    Ok(out)
}

/// The numbers of requests in which two lists differ; either may be cut into arrays anywhere.
fn unequal(one: &[ArrayRef], two: &[ArrayRef]) -> Vec<usize> {
    let mut out = Vec::new();
    let (mut ones, mut twos) = (one.iter().cloned(), two.iter().cloned());
    let (mut a, mut b) = (ones.next(), twos.next());
    let mut at = 0;
    while let (Some(one), Some(two)) = (&a, &b) {
        let count = one.len().min(two.len());
        compare(&one.slice(0, count), &two.slice(0, count), at, &mut out);
        at += count;
        let rest = |array: &ArrayRef| (array.len() > count).then(|| array.slice(count, array.len() - count));
        let (next_a, next_b) = (rest(one), rest(two));
        a = next_a.or_else(|| ones.next());
        b = next_b.or_else(|| twos.next());
    }
    out
}

/// Append the numbers of the requests that differ, counted from `first`: halves that are the same are left at once.
fn compare(one: &ArrayRef, two: &ArrayRef, first: usize, out: &mut Vec<usize>) {
    let count = one.len();
    if count == 0 || is_same(one, two) {
        return;
    }
    if count == 1 {
        out.push(first);
        return;
    }
    let middle = count / 2;
    compare(&one.slice(0, middle), &two.slice(0, middle), first, out);
    compare(&one.slice(middle, count - middle), &two.slice(middle, count - middle), first + middle, out);
}

fn is_same(one: &ArrayRef, two: &ArrayRef) -> bool {
    if one.data_type() == two.data_type() {
        return one.to_data() == two.to_data();
    }
    // A field that no message of one way has is null in the other.
    let values = |array: &ArrayRef, row| format!("{:?}", without_nulls(value_at(array, row)));
    (0..one.len()).all(|row| values(one, row) == values(two, row))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(without_nulls).collect()),
        Value::Dict(items) => {
            let shown = items.into_iter().filter(|(_, value)| *value != Value::None);
            Value::Dict(shown.map(|(key, value)| (key, without_nulls(value))).collect())
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
        let (one, two) = (["a", "b", "c", "d", "e", "f"], ["a", "B", "c", "d", "E", "F"]);
        for ends in [&[][..], &[2], &[1, 3], &[0, 5], &[1, 2, 3, 4, 5]] {
            for others in [&[][..], &[3], &[4, 4]] {
                assert_eq!(unequal(&cut(&one, ends), &cut(&two, others)), [1, 4, 5]);
            }
        }
        assert_eq!(unequal(&cut(&one, &[]), &cut(&one, &[4])), [0; 0]);
    }
}
