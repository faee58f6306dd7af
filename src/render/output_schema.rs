//! What a renderer gives for a schema: labels, names and types of the output.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::bound::Bound;
use super::compiled::Renderer;
use super::input::{element_type, is_row_numbers, readable};
use super::messages::{MessageType, Shared};
use super::values::{build, distinct, string_type, type_of};
use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::{InferMode, Labels, Mode, build_request, turn_shapes};
use crate::pytext::float_text;
use crate::role::Request;
use crate::template::Template;
use crate::value::Value;

/// A label as the label column shows it where labels have no common type.
pub(super) fn label_text(label: &Value) -> String {
    match label {
        Value::Float(f) => float_text(*f),
        other => other.python_str(),
    }
}

impl Renderer {
    /// The labels of ppl for these samples; `[None]` for gen.
    ///
    /// # Errors
    ///
    /// `RenderError` if they are a column's values and the samples lack it.
    pub fn labels_of(&self, samples: &[RecordBatch]) -> Result<Vec<Option<Value>>> {
        Ok(match &self.labels {
            Labels::None => vec![None],
            Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
            Labels::Column(column) => {
                let arrays = samples
                    .iter()
                    .map(|batch| {
                        batch.column_by_name(column).cloned().ok_or_else(|| {
                            Error::render(
                                Code::MissingColumn,
                                "the labels are this column's values, and the table lacks it; give labels=",
                            )
                            .in_column(column)
                        })
                    })
                    .collect::<Result<Vec<ArrayRef>>>()?;
                for (batch, array) in samples.iter().zip(&arrays) {
                    readable(
                        batch
                            .schema_ref()
                            .field_with_name(column)
                            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?,
                        array,
                    )?;
                }
                distinct(&arrays).into_iter().map(Some).collect()
            }
        })
    }

    /// Names and types of the label and prompt columns for samples with this schema.
    ///
    /// # Errors
    ///
    /// `RenderError` for messages that no Arrow type holds.
    pub fn output_fields(&self, schema: &Arc<Schema>) -> Result<Vec<Field>> {
        let mut out = Vec::new();
        if self.config.mode == Mode::Ppl {
            out.push(Field::new(&self.config.names.label, self.label_type(schema)?, true));
        }
        if self.has_turns() {
            out.push(Field::new(&self.config.names.turn, DataType::Int64, true));
        }
        let bound = self.bind(schema)?;
        let prompt = match self.message_type(&bound)? {
            Some(of) if !self.config.output.json => of.data_type(),
            _ => string_type(self.config.layout),
        };
        out.push(Field::new(&self.config.names.prompt, prompt, true));
        Ok(out)
    }

    pub(super) fn label_type(&self, schema: &Schema) -> Result<DataType> {
        let text = string_type(self.config.layout);
        Ok(match &self.labels {
            Labels::None => DataType::Null,
            Labels::Given(labels) => match type_of(labels, self.config.layout) {
                Some(DataType::Null) | None => text,
                Some(own) => own,
            },
            Labels::Column(column) => {
                let field = schema.field_with_name(column).map_err(|_| {
                    Error::render(
                        Code::MissingColumn,
                        "the labels are this column's values, and the table lacks it; give labels=",
                    )
                    .in_column(column)
                })?;
                if is_row_numbers(field) {
                    return Ok(text);
                }
                let values = match field.data_type() {
                    DataType::Dictionary(_, values) => values,
                    DataType::RunEndEncoded(_, values) => values.data_type(),
                    own => own,
                };
                match values {
                    nested if nested.is_nested() => {
                        let message =
                            format!("its values would be the labels, which can't be of type {nested}; give labels=");
                        return Err(Error::render(Code::WrongColumnType, message).in_column(column));
                    }
                    DataType::Boolean => DataType::Boolean,
                    // What a sign leaves no place for is a label too.
                    DataType::UInt64 => DataType::UInt64,
                    t if t.is_integer() => DataType::Int64,
                    t if t.is_floating() => DataType::Float64,
                    _ => text,
                }
            }
        })
    }

    pub(super) fn label_array(
        &self,
        labels: &[Option<Value>],
        rows: usize,
        schema: &Schema,
        shared: &Shared,
    ) -> Result<Option<ArrayRef>> {
        if self.config.mode == Mode::Gen {
            return Ok(None);
        }
        let requests = rows * labels.len();
        if let Some(known) = shared.labels.borrow().as_ref().filter(|known| known.len() >= requests) {
            return Ok(Some(known.slice(0, requests)));
        }
        let data_type = self.label_type(schema)?;
        let given: Vec<Value> = labels.iter().map(|l| l.clone().unwrap_or_default()).collect();
        let refs: Vec<&Value> = given.iter().collect();
        let one = build(&refs, &data_type).or_else(|_| {
            // No common type: the labels' texts.
            let texts: Vec<Value> = given.iter().map(|label| label_text(label).as_str().into()).collect();
            build(&texts.iter().collect::<Vec<_>>(), &data_type)
        })?;
        let index = arrow_array::UInt32Array::from((0..given.len() as u32).collect::<Vec<_>>().repeat(rows));
        let all = arrow_select::take::take(&one, &index, None)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        shared.labels.replace(Some(all.clone()));
        Ok(Some(all))
    }

    /// The type of messages; None where requests are texts.
    pub(super) fn message_type(&self, bound: &Bound) -> Result<Option<MessageType>> {
        let made = bound.message_type.get_or_init(|| {
            let known: Vec<Option<Value>> = match &self.labels {
                Labels::None if self.selector().is_some() => {
                    self.config.main().labels().iter().cloned().map(Some).collect()
                }
                Labels::None => vec![None],
                Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
                Labels::Column(_) => vec![Some(self.any_label())],
            };
            let mut requests: Vec<Request> = match &self.fixed {
                Some(requests) => requests.clone(),
                None => known
                    .iter()
                    .flat_map(|label| {
                        self.samples_of_examples()
                            .into_iter()
                            .filter_map(|s| build_request(&self.config, label.as_ref(), &s).ok())
                    })
                    .collect(),
            };
            if let Template::Turns(turns) = self.config.main() {
                requests.extend(turn_shapes(turns, &self.config));
            }
            let lists = requests.iter().filter(|r| !matches!(r, Request::Text(_))).count();
            if lists == 0 {
                return Ok(None);
            }
            if lists < requests.len() && !self.config.output.json {
                return Err(Error::render(
                    Code::NoArrowType,
                    "some requests are texts and others messages, which no Arrow type holds together; \
                     use output=\"messages_json\"",
                )
                .at_row(0));
            }
            let element = |name: &str| {
                let own = bound.schema.field_with_name(name).ok().and_then(|f| element_type(f.data_type()));
                own.or_else(|| {
                    let examples = self.examples.as_ref()?;
                    element_type(examples.schema().field_with_name(name).ok()?.data_type())
                })
            };
            let of = MessageType::new(&self.config, requests.iter(), element);
            match of {
                Err(_) if self.config.output.json => Ok(Some(MessageType::default())),
                other => self.with_example_columns(other?).map(Some),
            }
        });
        made.clone()
    }

    /// Fields that messages of examples' list columns add.
    pub(super) fn with_example_columns(&self, mut of: MessageType) -> Result<MessageType> {
        let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else { return Ok(of) };
        if self.fixed.is_some() {
            return Ok(of);
        }
        for form in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()) {
            for column in form.expands() {
                let field = examples.schema().field_with_name(column).ok();
                if let Some(DataType::Struct(fields)) = field.and_then(|f| element_type(f.data_type())) {
                    of.add_fields(&fields, self.config.layout)?;
                }
            }
        }
        Ok(of)
    }

    /// Whether an empty request is a list here: a dialogue through AISBench's API parser without a meta template.
    pub(super) fn empty_is_a_list(&self) -> bool {
        let dialogue = match self.config.main() {
            Template::Prompt(p) => p.keys.is_some(),
            _ => true,
        };
        dialogue
            && self.config.dialect.empty_is_a_list()
            && self.config.meta.is_none()
            && self.config.output.parser == Parser::Messages
    }

    /// Whether requests are turns of conversations.
    pub fn has_turns(&self) -> bool {
        matches!(self.config.main(), Template::Turns(_) | Template::Chat(_))
            && self.config.infer_mode != InferMode::Whole
    }
}
