//! Where the two ways of substituting differ.
//!
//! Samples are rendered both ways, and what comes out is compared. So nothing here knows how fields are filled in, what
//! is removed from examples or what the mask brings in; whatever makes a difference does so in both renderings, and
//! shows. Where it comes from is traced for the rows that differ alone.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};

use super::bound::Bound;
use super::compiled::Renderer;
use super::input::{Batch, Host};
use super::messages::Shared;
use super::outcomes::{Emit, Outcome};
use super::rows::any_hard;
use super::substitution::Culprits;
use super::values::value_at;
use crate::error::{Error, Kind, Result};
use crate::plan::{Draws, ExampleForm, Mode, Plan, Substitution};
use crate::template::{Atom, Source, Template};
use crate::threads;
use crate::value::Value;

/// Rows that are rendered both ways at once: enough for all threads, and few enough that many slices of data with a few
/// odd rows hold none.
const SLICE: usize = 8192;

/// A row in which the two ways of substituting differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The row.
    pub row: usize,
    /// Columns whose values brought in, or completed, a placeholder.
    pub columns: Vec<Arc<str>>,
}

/// A renderer, and how far it has come among the samples.
struct Way<'a> {
    renderer: &'a Renderer,
    bound: Arc<Bound>,
    state: Option<Draws>,
}

/// What is asked for of all slices.
struct Asked<'a> {
    labels: &'a [Option<Value>],
    host: &'a dyn Host,
}

impl Renderer {
    /// The rows in which replacing column by column gives another request than replacing each placeholder once.
    ///
    /// # Errors
    ///
    /// As rendering the samples.
    pub fn divergence(
        &self,
        samples: &[RecordBatch],
        labels: &[Option<Value>],
        host: &dyn Host,
    ) -> Result<Vec<Divergence>> {
        self.refuse_turns("divergence")?;
        let other = self.under(
            match self.config.substitution {
                Substitution::Harness => Substitution::SinglePass,
                Substitution::SinglePass => Substitution::Harness,
            },
            host,
        )?;
        let asked = Asked { labels, host };
        let (mut out, mut first) = (Vec::new(), 0);
        let (mut states, mut picks) = ((None, None), None);
        for batch in samples {
            let schema = batch.schema();
            let mut mine = Way { renderer: self, bound: self.bind(&schema)?, state: states.0.take() };
            let mut theirs = Way { renderer: &other, bound: other.bind(&schema)?, state: states.1.take() };
            let plain = mine.plans().zip(theirs.plans()).is_some_and(|(one, two)| same(&one, &two));
            let step = (SLICE / labels.len().max(1)).max(1);
            for at in (0..batch.num_rows()).step_by(step) {
                host.check()?;
                let slice = batch.slice(at, step.min(batch.num_rows() - at));
                let chosen = self.pick(first + at, slice.num_rows(), &mut picks)?;
                let may_form = |way: &Way| way.may_form(&slice, host).map_err(|e| e.shifted(first + at));
                if plain && !may_form(&mine)? && !may_form(&theirs)? {
                    continue;
                }
                let requests = differing(&mut mine, &mut theirs, &slice, first + at, &asked)?;
                let harness = if self.config.substitution == Substitution::Harness { &mine } else { &theirs };
                out.extend(harness.traced(&slice, &requests, first + at, chosen.as_deref(), &asked)?);
            }
            states = (mine.state, theirs.state);
            first += batch.num_rows();
        }
        Ok(out)
    }

    /// The columns of examples' values that hold, or complete, a separator token, which generation removes.
    pub(super) fn separators(&self, shots: &[ExampleForm], culprits: &mut Culprits) {
        let Template::Prompt(prompt) = self.config.main() else { return };
        let removes = self.config.mode == Mode::Gen && self.config.dialect.removes_separator();
        let Some(token) = prompt.sep_token.as_deref().filter(|token| removes && !token.is_empty()) else { return };
        for text in shots.iter().flat_map(ExampleForm::parts) {
            let found: Vec<usize> = text.literal().match_indices(token).map(|(at, _)| at).collect();
            let mut at = 0;
            for atom in text.atoms.iter() {
                let Atom::Lit(s, origin) = atom else { continue };
                let next = found.partition_point(|start| start + token.len() <= at);
                at += s.len();
                if let (Source::Field, Some(column), Some(start)) = (origin.source, &origin.column, found.get(next))
                    && *start < at
                {
                    culprits.insert(column.clone());
                }
            }
        }
    }
}

impl Way<'_> {
    /// The plans of all rows, where no row decides them.
    fn plans(&self) -> Option<Vec<Arc<Plan>>> {
        self.renderer.fixed_plans(&self.bound)
    }

    /// Whether a placeholder may form in some row of a slice. Where none may, each text is what its program's steps write,
    /// and so it is the same under both ways if the steps are.
    fn may_form(&self, slice: &RecordBatch, host: &dyn Host) -> Result<bool> {
        let plans = self.plans().unwrap_or_default();
        any_hard(&Batch::new(&self.bound.columns, slice, host), &plans)
    }

    /// The requests of a slice, as arrays one after the other.
    fn rendered(&mut self, slice: &RecordBatch, first: usize, asked: &Asked) -> Result<Vec<ArrayRef>> {
        let message_type = self.renderer.message_type(&self.bound)?;
        let (mut out, shared): (Vec<Outcome>, _) = (Vec::new(), Shared::default());
        let mut emit = Emit {
            message_type: message_type.as_ref(),
            labels: asked.labels,
            whole: false,
            shared: &shared,
            out: &mut out,
        };
        let done = self.renderer.slice(slice, first, &self.bound, &mut self.state, asked.host, &mut emit);
        done.map_err(|e| e.shifted(first))?;
        Ok(out.into_iter().map(|one| one.prompts).collect())
    }

    /// The rows of requests that differ, with the columns that made them so under the harness's rules.
    fn traced(
        &self,
        slice: &RecordBatch,
        requests: &[usize],
        first: usize,
        chosen: Option<&[Vec<i64>]>,
        asked: &Asked,
    ) -> Result<Vec<Divergence>> {
        let (renderer, columns) = (self.renderer, &self.bound.columns);
        let order = |c: &Arc<str>| columns.names.iter().position(|n| n == c).unwrap_or(usize::MAX);
        let each = asked.labels.len();
        let look = |requests: &[usize]| -> Result<Divergence> {
            let row = requests[0] / each;
            asked.host.check()?;
            let fault = |e: Error| e.into_render().at_row(first + row);
            let ids = match chosen {
                Some(chosen) => chosen[row].clone(),
                None => renderer.ids(slice, row, first + row).map_err(fault)?,
            };
            let one = slice.slice(row, 1);
            let mut culprits = Culprits::new();
            for request in requests {
                let label = asked.labels[request % each].as_ref();
                renderer.traced_row(&one, &ids, label, columns, &mut culprits, asked.host).map_err(fault)?;
            }
            let mut columns: Vec<Arc<str>> = culprits.into_iter().collect();
            columns.sort_by_cached_key(|c| (order(c), c.clone()));
            Ok(Divergence { row: first + row, columns })
        };
        threads::try_map(requests.chunk_by(|a, b| a / each == b / each).collect(), look)
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

/// The requests of a slice, by number, that the two ways render differently, or that only the first can render.
fn differing(mine: &mut Way, theirs: &mut Way, slice: &RecordBatch, first: usize, asked: &Asked) -> Result<Vec<usize>> {
    let before = (mine.state.clone(), theirs.state.clone());
    let own = mine.rendered(slice, first, asked)?;
    let error = match theirs.rendered(slice, first, asked) {
        Ok(others) => return Ok(unequal(&own, &others)),
        Err(error) => error,
    };
    if error.kind() == Kind::Stopped {
        return Err(error);
    }
    let (rows, each) = (slice.num_rows(), asked.labels.len());
    if rows <= 1 {
        return Ok((0..rows * each).collect());
    }
    (mine.state, theirs.state) = before;
    let middle = rows / 2;
    let mut out = differing(mine, theirs, &slice.slice(0, middle), first, asked)?;
    let rest = differing(mine, theirs, &slice.slice(middle, rows - middle), first + middle, asked)?;
    out.extend(rest.into_iter().map(|request| middle * each + request));
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
