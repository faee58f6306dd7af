//! Which examples each row gets, and the plans that follow from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};

use super::bound::Bound;
use super::compiled::Renderer;
use super::fragments::{Parts, Shots};
use super::input::{Host, cast, element_type, is_list, lists_in_bounds, present};
use super::substitution::Culprits;
use super::values::keys_of;
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Draws, Key, Mode, Plan, Plans, plan_rows, recipe};
use crate::role::Request;
use crate::template::Template;
use crate::value::Value;

impl Renderer {
    /// The retriever's choice for `count` samples from position `start`; None if the samples' own column says it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for more random examples than there are.
    pub fn pick(&self, start: usize, count: usize, state: &mut Option<Draws>) -> Result<Option<Vec<Vec<i64>>>> {
        let total = self.examples.as_ref().map_or(0, |e| e.total);
        self.config.retriever.choice.pick(start, count, total, state)
    }

    pub(super) fn parts<'b>(&self, bound: &'b Bound, host: &dyn Host) -> Result<&'b Parts> {
        let made = bound.parts.get_or_init(|| match (&self.ice, &self.examples) {
            (Some(ice), Some(examples)) => examples.parts(ice, host, &bound.columns.tokens),
            _ => Ok(Parts::default()),
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Whether a row's plan has to hold the examples' own texts: their frame, or what is removed from them, goes by them.
    pub(super) fn needs_texts(&self) -> bool {
        let Some(ice) = &self.ice else { return false };
        let expands = ice.kinds.iter().any(|(_, form)| form.as_ref().is_ok_and(|f| !f.expands().is_empty()));
        let strips = match self.config.main() {
            Template::Prompt(p) => p.sep_token.is_some() && self.config.mode == Mode::Gen,
            _ => false,
        };
        ice.mixed() || expands || strips
    }

    /// The plans of all rows, one a label, where no row decides them.
    pub(super) fn fixed_plans(&self, bound: &Bound) -> Option<Vec<Arc<Plan>>> {
        let requests = self.fixed.as_ref()?;
        let plan = |request: &Request| Arc::new(Plan::new(request.clone(), &bound.columns));
        Some(bound.plans.get_or_init(|| requests.iter().map(plan).collect()).clone())
    }

    /// The plans of a batch's rows, and their examples.
    pub(super) fn plans(
        &self,
        batch: &RecordBatch,
        start: usize,
        bound: &Bound,
        labels: &[Option<Value>],
        state: &mut Option<Draws>,
        host: &dyn Host,
    ) -> Result<(Plans, Shots)> {
        if let Some(all) = self.fixed_plans(bound) {
            return Ok((Plans { all, labels: labels.len(), each: None }, Shots::default()));
        }
        let shots = self.shots(batch, start, state)?;
        let bodies = self.bodies(batch, host)?;
        if self.examples.is_none() && bodies.is_none() {
            // Labels of a column, zero-shot.
            let plans = labels
                .iter()
                .map(|label| Ok(Arc::new(Plan::new(recipe(&self.config, label.as_ref(), &[])?, &bound.columns))))
                .collect::<Result<Vec<_>>>()
                .map_err(Error::into_render)?;
            return Ok((Plans { all: plans, labels: labels.len(), each: None }, Shots::default()));
        }
        let by_texts = self.needs_texts();
        let put_key = |row: usize, key: &mut Key| -> Result<()> {
            key.extend(bodies.as_ref().map(|bodies| bodies[row]));
            for example in shots.of(row) {
                key.push(match &self.examples {
                    Some(examples) if !by_texts => examples.kind(*example)? as u32,
                    _ => *example,
                });
            }
            Ok(())
        };
        let make = |label: Option<&Value>, key: &[u32]| -> Result<Plan> {
            let mut forms = Vec::with_capacity(key.len());
            let (body, ids) = key.split_at(usize::from(bodies.is_some()));
            for (slot, id) in ids.iter().enumerate() {
                let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else {
                    return Err(Error::template(Code::InternalError, "ice_template", "examples need an ICE template"));
                };
                forms.push(if by_texts {
                    examples.concrete(ice, *id, slot as u32, &mut Culprits::new(), host)?
                } else {
                    ice.open(*id as usize, slot as u32).ok_or_else(|| {
                        Error::template(Code::InternalError, "ice_template", "an example's template can't be used")
                    })?
                });
            }
            let body = body.first().and_then(|body| self.body(*body));
            Ok(Plan::new(recipe(&self.config, body.or(label), &forms)?, &bound.columns))
        };
        let plans = plan_rows(labels, batch.num_rows(), put_key, make)?;
        Ok((plans, shots))
    }

    /// Which body of a label map each row is generated with, where a column decides it: the first where no label is its
    /// value.
    pub(super) fn bodies(&self, batch: &RecordBatch, host: &dyn Host) -> Result<Option<Vec<u32>>> {
        let Some(name) = self.selector() else { return Ok(None) };
        let schema = batch.schema_ref();
        present(schema, std::iter::once(name))?;
        let at = schema.index_of(name).unwrap_or_default();
        let keys = self.config.main().labels();
        let place = |value: &Value| keys.iter().position(|key| key.equals(value)).unwrap_or(0) as u32;
        Ok(Some(keys_of(schema.field(at), batch.column(at), host)?.iter().map(place).collect()))
    }

    /// The label of a body.
    pub(super) fn body(&self, place: u32) -> Option<&Value> {
        self.config.main().labels().get(place as usize)
    }

    /// The examples of each row, as places among the examples.
    pub(super) fn shots(&self, batch: &RecordBatch, start: usize, state: &mut Option<Draws>) -> Result<Shots> {
        let mut shots = Shots::default();
        let negative = self.config.dialect.negative_indices();
        let Some(examples) = &self.examples else { return Ok(Shots::default()) };
        let place = |id: i64| examples.resolve(id, negative);
        match self.pick(start, batch.num_rows(), state)? {
            Some(chosen) => {
                for (row, ids) in chosen.into_iter().enumerate() {
                    push(&mut shots, row, ids.into_iter(), place)?;
                }
            }
            None => {
                let Choice::Column(name) = &self.config.retriever.choice else { return Ok(Shots::default()) };
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
                    push(&mut shots, row, own, place).map_err(|e| e.in_column(name))?;
                }
            }
        }
        Ok(shots)
    }
}

/// Add a row's examples, named by their rows in the train split.
fn push(
    shots: &mut Shots,
    row: usize,
    ids: impl Iterator<Item = i64>,
    place: impl Fn(i64) -> Result<u32>,
) -> Result<()> {
    let start = shots.examples.len();
    for id in ids {
        shots.examples.push(place(id).map_err(|e| e.at_row(row))?);
    }
    shots.bounds.push((start, shots.examples.len()));
    Ok(())
}
