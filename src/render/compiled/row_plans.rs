//! Chooses the examples of each row, and builds the plans that follow from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};

use super::bound::BoundConfig;
use crate::error::{Code, Error, Result};
use crate::plan::{
    Choice, CopiedPiece, Draws, ExampleForm, Key, Plan, Plans, Program, build_request_without, expanded_request,
    expands_columns, plan_rows,
};
use crate::python_text::TextColumn;
use crate::render::fragments::{FragmentStore, RowFragments};
use crate::render::input::{PythonCallbacks, cast, element_type, is_list, is_text, lists_in_bounds, present, readable};
use crate::render::messages::Opened;
use crate::render::substitution::InvolvedColumns;
use crate::render::values::keys_of;
use crate::role::{Piece, Request};
use crate::template::{Entry, RawItem, Template, keys};
use crate::value::Value;

/// The plans of some rows, and the fragments that they show.
pub(in crate::render) struct RowPlans {
    pub(in crate::render) plans: Plans,
    /// The fragments that each row shows.
    pub(in crate::render) row_fragments: RowFragments,
    /// The texts of opened messages.
    pub(in crate::render) contents: FragmentStore,
    /// The columns that the texts come from: the number of each column's first text, and the column's name.
    pub(in crate::render) content_columns: Vec<(u32, Arc<str>)>,
}

impl BoundConfig<'_> {
    /// Return the plans of a batch's rows, and the fragments that the rows show.
    pub(in crate::render) fn plans(
        &self,
        batch: &RecordBatch,
        start: usize,
        labels: &[Option<Value>],
        draws: &mut Option<Draws>,
        host: &dyn PythonCallbacks,
    ) -> Result<RowPlans> {
        let opened = self.opened(batch)?;
        let of_labels = |all| {
            let plans = Plans { all, labels: labels.len(), each: None };
            let (row_fragments, contents) = (RowFragments::default(), FragmentStore::default());
            RowPlans { plans, row_fragments, contents, content_columns: Vec::new() }
        };
        if let (Some(all), None) = (self.constant_plans(), &opened) {
            return Ok(of_labels(all));
        }
        let examples = self.row_examples(batch, start, draws)?;
        let (bodies, left_out) = (self.bodies(batch, host)?, self.left_out(batch)?);
        if self.compiled.examples.is_none() && bodies.is_none() && opened.is_none() && left_out.is_none() {
            // The labels of a column, without examples.
            host.has_shape(&[]);
            let plan = |label: &Option<Value>| self.plan_of_shape(label.as_ref(), &[], host).map(Arc::new);
            return Ok(of_labels(labels.iter().map(plan).collect::<Result<_>>().map_err(Error::into_render)?));
        }
        let by_texts = self.compiled.needs_texts();
        let mut row_fragments = RowFragments::default();
        let put_key = |row: usize, key: &mut Key| -> Result<()> {
            let example_ids = examples.of(row);
            key.extend(left_out.as_ref().map(|left_out| left_out[row]));
            key.extend(bodies.as_ref().map(|bodies| bodies[row]));
            key.extend(opened.is_some().then_some(example_ids.len() as u32));
            for example in example_ids {
                key.push(match &self.compiled.examples {
                    Some(examples) if !by_texts => examples.kind(*example)? as u32,
                    _ => *example,
                });
            }
            if let Some(opened) = &opened {
                let start = row_fragments.fragments.len();
                row_fragments.fragments.extend_from_slice(example_ids);
                opened.row(row, self.compiled.config.output.parser, key, &mut row_fragments.fragments)?;
                row_fragments.bounds.push((start, row_fragments.fragments.len()));
            }
            Ok(())
        };
        let make = |label: Option<&Value>, key: &[u32]| -> Result<Plan> {
            let (left_out, rest) = key.split_at(usize::from(left_out.is_some()));
            let (body, rest) = rest.split_at(usize::from(bodies.is_some()));
            let (count, rest) = rest.split_at(usize::from(opened.is_some()));
            let (ids, speakers) = rest.split_at(count.first().map_or(rest.len(), |count| *count as usize));
            if !by_texts {
                host.has_shape(&[left_out, body, ids].concat());
            }
            let request = match (&opened, self.request(label, body, ids, left_out, by_texts, host)?) {
                (Some(opened), Request::List(messages)) => {
                    expanded_request(&self.compiled.config, opened.open(&messages, speakers, ids.len()))?
                }
                (_, request) => request,
            };
            Ok(Plan::new(request, self.columns()))
        };
        let plans = plan_rows(labels, batch.num_rows(), put_key, make)?;
        let row_fragments = if opened.is_some() { row_fragments } else { examples };
        let content_columns = opened.as_ref().map(Opened::first_fragments).unwrap_or_default();
        Ok(RowPlans {
            plans,
            row_fragments,
            contents: opened.map(|opened| opened.contents).unwrap_or_default(),
            content_columns,
        })
    }

    /// Return the plan of rows of a shape that [`PythonCallbacks::has_shape`] was told, before messages are opened.
    pub(in crate::render) fn plan_of_shape(
        &self,
        label: Option<&Value>,
        shape: &[u32],
        host: &dyn PythonCallbacks,
    ) -> Result<Plan> {
        let (left_out, shape) = shape.split_at(usize::from(self.has_optional()));
        let (body, kinds) = shape.split_at(usize::from(self.compiled.selector().is_some()));
        Ok(Plan::new(self.request(label, body, kinds, left_out, false, host)?, self.columns()))
    }

    /// Build the request of rows that are generated with a body of the label map, if there is one, and with examples.
    fn request(
        &self,
        label: Option<&Value>,
        body: &[u32],
        ids: &[u32],
        left_out: &[u32],
        by_texts: bool,
        host: &dyn PythonCallbacks,
    ) -> Result<Request> {
        let forms = self.example_forms(ids, by_texts, host)?;
        let body = body.first().and_then(|body| self.compiled.body(*body));
        build_request_without(&self.compiled.config, body.or(label), &forms, left_out.first().copied().unwrap_or(0))
    }

    /// Return the optional messages that each row leaves out, as bits: those with a column that is null, and those
    /// without any text. None if no message is optional.
    pub(in crate::render) fn left_out(&self, batch: &RecordBatch) -> Result<Option<Vec<u32>>> {
        let Template::Raw(raw) = self.compiled.config.main() else { return Ok(None) };
        if !self.has_optional() {
            return Ok(None);
        }
        let mut out = vec![0; batch.num_rows()];
        for (bit, item) in raw.optional.iter().enumerate() {
            let RawItem::Message(turn) = &raw.items[*item] else { continue };
            let Some(Entry::Text(text)) = turn.get(keys::CONTENT) else { continue };
            let program = Program::new(&[Piece::new(text.clone())], self.columns());
            let mut has_text = vec![program.pieces().any(|piece| matches!(piece, CopiedPiece::Lit(_))); out.len()];
            for field in &program.fields {
                let name = &self.columns().names[*field];
                let Ok(index) = batch.schema_ref().index_of(name) else { continue };
                let column = batch.column(index);
                readable(batch.schema_ref().field(index), column)?;
                let nulls = column.logical_nulls();
                let texts = is_text(column.data_type()).then(|| TextColumn::new(column)).transpose()?;
                for (row, has_text) in has_text.iter_mut().enumerate() {
                    let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                    out[row] |= u32::from(is_null) << bit;
                    *has_text |= !is_null && texts.as_ref().is_none_or(|texts| !texts.bytes(row).is_empty());
                }
            }
            for (row, has_text) in has_text.into_iter().enumerate() {
                out[row] |= u32::from(!has_text) << bit;
            }
        }
        Ok(Some(out))
    }

    /// Return the examples of a row as its plan needs them: with their texts, or with the form of each.
    fn example_forms(&self, ids: &[u32], by_texts: bool, host: &dyn PythonCallbacks) -> Result<Vec<ExampleForm>> {
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

    /// Open the messages of columns, if the output depends on who speaks.
    fn opened(&self, batch: &RecordBatch) -> Result<Option<Opened>> {
        let Template::Raw(raw) = self.compiled.config.main() else { return Ok(None) };
        let names =
            || raw.items.iter().filter_map(|i| if let RawItem::Expand(name) = i { Some(name.as_str()) } else { None });
        if names().next().is_none() || !expands_columns(&self.compiled.config) {
            return Ok(None);
        }
        if batch.num_rows() == 0 {
            return Ok(Some(Opened::default()));
        }
        let column = |name: &str| {
            let index = batch.schema_ref().index_of(name).ok()?;
            Some((batch.schema_ref().fields()[index].clone(), batch.column(index).clone()))
        };
        Opened::new(names(), &column).map(Some)
    }

    /// Return the index of the label map's body that each row is generated with, if a column decides it. The first body
    /// is chosen if the column's value is no label.
    pub(in crate::render) fn bodies(
        &self,
        batch: &RecordBatch,
        host: &dyn PythonCallbacks,
    ) -> Result<Option<Vec<u32>>> {
        let Some(name) = self.compiled.selector() else { return Ok(None) };
        let schema = batch.schema_ref();
        present(schema, std::iter::once(name))?;
        let index = schema.index_of(name).unwrap_or_default();
        let keys = self.compiled.config.main().labels();
        let body_index = |value: Value| keys.iter().position(|key| key.equals(&value)).unwrap_or(0) as u32;
        let values = keys_of(schema.field(index), batch.column(index), host)?;
        values.into_iter().map(|value| value.map(body_index)).collect::<Result<_>>().map(Some)
    }

    /// Return the examples of each row, as indices into the examples.
    pub(in crate::render) fn row_examples(
        &self,
        batch: &RecordBatch,
        start: usize,
        draws: &mut Option<Draws>,
    ) -> Result<RowFragments> {
        let mut row_fragments = RowFragments::default();
        let negative = self.compiled.config.dialect.negative_indices();
        let Some(examples) = &self.compiled.examples else { return Ok(RowFragments::default()) };
        let resolve = |id: i64| examples.resolve(id, negative);
        match self.compiled.choose_examples(start, batch.num_rows(), draws)? {
            Some(chosen) => {
                for (row, ids) in chosen.into_iter().enumerate() {
                    push(&mut row_fragments, row, ids.into_iter(), resolve)?;
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
                    let range = ends[0] as usize..ends[1] as usize;
                    if ids.null_count() > 0 && range.clone().any(|index| ids.is_null(index)) {
                        return Err(fault(Code::NullValue, "a null stands among the examples".into()).at_row(row));
                    }
                    let values = ids.values()[range].iter().copied();
                    push(&mut row_fragments, row, values, resolve).map_err(|e| e.in_column(name))?;
                }
            }
        }
        Ok(row_fragments)
    }
}

/// Add a row's examples, named by their rows in the train split.
fn push(
    row_fragments: &mut RowFragments,
    row: usize,
    ids: impl Iterator<Item = i64>,
    resolve: impl Fn(i64) -> Result<u32>,
) -> Result<()> {
    let start = row_fragments.fragments.len();
    for id in ids {
        row_fragments.fragments.push(resolve(id).map_err(|e| e.at_row(row))?);
    }
    row_fragments.bounds.push((start, row_fragments.fragments.len()));
    Ok(())
}
