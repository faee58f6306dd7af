//! Which examples each row gets, and the plans that follow from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};

use super::bound::BoundConfig;
use super::fragments::{FragmentStore, RowFragments};
use super::input::{Host, cast, element_type, is_list, lists_in_bounds, present};
use super::messages::Opened;
use super::substitution::InvolvedColumns;
use super::values::keys_of;
use crate::error::{Code, Error, Result};
use crate::plan::{
    Choice, Draws, ExampleForm, Key, Plan, Plans, build_request, leave_opened, opens_columns, plan_rows,
};
use crate::role::Request;
use crate::template::{RawItem, Template};
use crate::value::Value;

/// The plans of some rows, and the fragments that they show.
pub(super) struct RowPlans {
    pub(super) plans: Plans,
    /// Which fragments each row shows.
    pub(super) shown: RowFragments,
    /// What opened messages say.
    pub(super) contents: FragmentStore,
    /// Whose they are: the number of each column's first, and its name.
    pub(super) said_by: Vec<(u32, Arc<str>)>,
}

impl BoundConfig<'_> {
    /// The plans of a batch's rows, and the fragments that they show.
    pub(super) fn plans(
        &self,
        batch: &RecordBatch,
        start: usize,
        labels: &[Option<Value>],
        draws: &mut Option<Draws>,
        host: &dyn Host,
    ) -> Result<RowPlans> {
        let opened = self.opened(batch)?;
        let of_labels = |all| {
            let plans = Plans { all, labels: labels.len(), each: None };
            let (shown, contents) = (RowFragments::default(), FragmentStore::default());
            RowPlans { plans, shown, contents, said_by: Vec::new() }
        };
        if let (Some(all), None) = (self.constant_plans(), &opened) {
            return Ok(of_labels(all));
        }
        let examples = self.row_examples(batch, start, draws)?;
        let bodies = self.bodies(batch, host)?;
        if self.compiled.examples.is_none() && bodies.is_none() && opened.is_none() {
            // Labels of a column, zero-shot.
            let plan = |label: &Option<Value>| {
                Ok(Arc::new(Plan::new(build_request(&self.compiled.config, label.as_ref(), &[])?, self.columns())))
            };
            return Ok(of_labels(labels.iter().map(plan).collect::<Result<_>>().map_err(Error::into_render)?));
        }
        let by_texts = self.compiled.needs_texts();
        let mut shown = RowFragments::default();
        let put_key = |row: usize, key: &mut Key| -> Result<()> {
            let own = examples.of(row);
            key.extend(bodies.as_ref().map(|bodies| bodies[row]));
            key.extend(opened.is_some().then_some(own.len() as u32));
            for example in own {
                key.push(match &self.compiled.examples {
                    Some(examples) if !by_texts => examples.kind(*example)? as u32,
                    _ => *example,
                });
            }
            if let Some(opened) = &opened {
                let start = shown.fragments.len();
                shown.fragments.extend_from_slice(own);
                opened.row(row, self.compiled.config.output.parser, key, &mut shown.fragments)?;
                shown.bounds.push((start, shown.fragments.len()));
            }
            Ok(())
        };
        let make = |label: Option<&Value>, key: &[u32]| -> Result<Plan> {
            let (body, rest) = key.split_at(usize::from(bodies.is_some()));
            let (count, rest) = rest.split_at(usize::from(opened.is_some()));
            let (ids, speakers) = rest.split_at(count.first().map_or(rest.len(), |count| *count as usize));
            let forms = self.example_forms(ids, by_texts, host)?;
            let body = body.first().and_then(|body| self.compiled.body(*body));
            let request = build_request(&self.compiled.config, body.or(label), &forms)?;
            let request = match (&opened, request) {
                (Some(opened), Request::List(messages)) => {
                    leave_opened(&self.compiled.config, opened.open(&messages, speakers, ids.len()))?
                }
                (_, request) => request,
            };
            Ok(Plan::new(request, self.columns()))
        };
        let plans = plan_rows(labels, batch.num_rows(), put_key, make)?;
        let shown = if opened.is_some() { shown } else { examples };
        let said_by = opened.as_ref().map(Opened::first_fragments).unwrap_or_default();
        Ok(RowPlans { plans, shown, contents: opened.map(|opened| opened.contents).unwrap_or_default(), said_by })
    }

    /// The examples of a row as far as they decide its plan: by their own texts, or by the form that each has.
    fn example_forms(&self, ids: &[u32], by_texts: bool, host: &dyn Host) -> Result<Vec<ExampleForm>> {
        let form = |(slot, id): (usize, &u32)| {
            let (Some(ice), Some(examples)) = (&self.compiled.ice, &self.compiled.examples) else {
                return Err(Error::template(Code::InternalError, "ice_template", "examples need an ICE template"));
            };
            if by_texts {
                return examples.concrete(ice, *id, slot as u32, &mut InvolvedColumns::new(), host);
            }
            ice.open(*id as usize, slot as u32).ok_or_else(|| {
                Error::template(Code::InternalError, "ice_template", "an example's template can't be used")
            })
        };
        ids.iter().enumerate().map(form).collect()
    }

    /// The messages that columns bring, where what becomes of them goes by who speaks.
    fn opened(&self, batch: &RecordBatch) -> Result<Option<Opened>> {
        let Template::Raw(raw) = self.compiled.config.main() else { return Ok(None) };
        let names =
            || raw.items.iter().filter_map(|i| if let RawItem::Expand(name) = i { Some(name.as_str()) } else { None });
        if names().next().is_none() || !opens_columns(&self.compiled.config) {
            return Ok(None);
        }
        if batch.num_rows() == 0 {
            return Ok(Some(Opened::default()));
        }
        let column = |name: &str| {
            let at = batch.schema_ref().index_of(name).ok()?;
            Some((batch.schema_ref().fields()[at].clone(), batch.column(at).clone()))
        };
        Opened::new(names(), &column).map(Some)
    }

    /// Which body of a label map each row is generated with, where a column decides it: the first where no label is its
    /// value.
    pub(super) fn bodies(&self, batch: &RecordBatch, host: &dyn Host) -> Result<Option<Vec<u32>>> {
        let Some(name) = self.compiled.selector() else { return Ok(None) };
        let schema = batch.schema_ref();
        present(schema, std::iter::once(name))?;
        let at = schema.index_of(name).unwrap_or_default();
        let keys = self.compiled.config.main().labels();
        let place = |value: Value| keys.iter().position(|key| key.equals(&value)).unwrap_or(0) as u32;
        let values = keys_of(schema.field(at), batch.column(at), host)?;
        values.into_iter().map(|value| value.map(place)).collect::<Result<_>>().map(Some)
    }

    /// The examples of each row, as places among the examples.
    pub(super) fn row_examples(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
    ) -> Result<RowFragments> {
        let mut shown = RowFragments::default();
        let negative = self.compiled.config.dialect.negative_indices();
        let Some(examples) = &self.compiled.examples else { return Ok(RowFragments::default()) };
        let place = |id: i64| examples.resolve(id, negative);
        match self.compiled.choose_examples(start, batch.num_rows(), draws)? {
            Some(chosen) => {
                for (row, ids) in chosen.into_iter().enumerate() {
                    push(&mut shown, row, ids.into_iter(), place)?;
                }
            }
            None => {
                let Choice::Column(name) = &self.compiled.config.retriever.choice else {
                    return Ok(RowFragments::default());
                };
                let fault = |code: Code, message: String| Error::render(code, message).in_column(name);
                let Some(column) = batch.column_by_name(name) else {
                    return Err(fault(Code::MissingColumn, "the table has no such column".into()));
                };
                let element = element_type(column.data_type()).filter(|t| t.is_integer() || *t == DataType::Null);
                if !is_list(column.data_type()) || element.is_none() {
                    return Err(fault(
                        Code::WrongColumnType,
                        format!("expected lists of integers, found {}", column.data_type()),
                    ));
                }
                let target = DataType::LargeList(Arc::new(Field::new_list_field(DataType::Int64, true)));
                lists_in_bounds(column).map_err(|e| e.in_column(name))?;
                let lists = cast(column, &target).map_err(|e| e.in_column(name))?;
                let lists = lists.as_list::<i64>();
                let ids = lists.values().as_primitive::<Int64Type>();
                for (row, ends) in lists.offsets().windows(2).enumerate() {
                    if lists.is_null(row) {
                        return Err(fault(
                            Code::NullValue,
                            "the list of examples is null; an empty list means none".into(),
                        )
                        .at_row(row));
                    }
                    let own = ends[0] as usize..ends[1] as usize;
                    if ids.null_count() > 0 && own.clone().any(|at| ids.is_null(at)) {
                        return Err(fault(Code::NullValue, "a null stands among the examples".into()).at_row(row));
                    }
                    let own = ids.values()[own].iter().copied();
                    push(&mut shown, row, own, place).map_err(|e| e.in_column(name))?;
                }
            }
        }
        Ok(shown)
    }
}

/// Add a row's examples, named by their rows in the train split.
fn push(
    shown: &mut RowFragments,
    row: usize,
    ids: impl Iterator<Item = i64>,
    place: impl Fn(i64) -> Result<u32>,
) -> Result<()> {
    let start = shown.fragments.len();
    for id in ids {
        shown.fragments.push(place(id).map_err(|e| e.at_row(row))?);
    }
    shown.bounds.push((start, shown.fragments.len()));
    Ok(())
}
