//! What a renderer gives for a schema: labels, names and types of the output.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::input::element_type;
use super::messages::MessageType;
use super::span_arrays::{SpanType, Spans};
use super::values::string_type;
use crate::error::{Code, Error, Result};
use crate::plan::{Labels, Mode, build_request, leave_shape, turn_request_shapes};
use crate::role::{Element, Message, Request};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

/// Names and types of the label, turn and prompt columns for samples with this schema.
///
/// # Errors
///
/// `RenderError` for messages that no Arrow type holds.
pub fn output_fields(compiled: &CompiledConfig, schema: &Arc<Schema>) -> Result<Vec<Field>> {
    let (bound, config) = (BoundConfig::new(compiled, schema)?, &compiled.config);
    let mut out = Vec::new();
    if config.mode == Mode::Ppl {
        out.push(Field::new(&config.names.label, bound.label_type()?, true));
    }
    if compiled.has_turns() {
        out.push(Field::new(&config.names.turn, DataType::Int64, true));
    }
    let prompt = match bound.message_type()? {
        Some(of) if !config.output.json => of.data_type(),
        _ => string_type(config.layout),
    };
    out.push(Field::new(&config.names.prompt, prompt, true));
    Ok(out)
}

/// The field of requests' spans for samples with this schema.
///
/// # Errors
///
/// As [`output_fields`].
pub fn spans_field(compiled: &CompiledConfig, schema: &Arc<Schema>, spans: Spans) -> Result<Field> {
    let of = BoundConfig::new(compiled, schema)?.span_type(spans)?;
    Ok(Field::new("spans", of.map_or(DataType::Null, SpanType::data_type), true))
}

impl BoundConfig<'_> {
    /// The type of messages; None where requests are texts.
    pub(super) fn message_type(&self) -> Result<Option<MessageType>> {
        let made = threads::made(&self.binding.message_type, || {
            let known: Vec<Option<Value>> = match &self.compiled.labels {
                Labels::None if self.compiled.selector().is_some() => {
                    self.compiled.config.main().labels().iter().cloned().map(Some).collect()
                }
                Labels::None => vec![None],
                Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
                Labels::Column(_) => vec![Some(self.compiled.any_label())],
            };
            let mut requests: Vec<Request> = match &self.compiled.constant_requests {
                Some(requests) => requests.clone(),
                None => known
                    .iter()
                    .flat_map(|label| {
                        self.compiled
                            .example_shapes()
                            .into_iter()
                            .filter_map(|s| build_request(&self.compiled.config, label.as_ref(), &s).ok())
                    })
                    .collect(),
            };
            if let Template::Turns(turns) = self.compiled.config.main() {
                requests.extend(turn_request_shapes(turns, &self.compiled.config));
            }
            if self.compiled.config.output.changes_messages {
                requests = requests.into_iter().filter_map(|request| self.opened_shape(request).ok()).collect();
            }
            let lists = requests.iter().filter(|r| !matches!(r, Request::Text(_))).count();
            if lists == 0 {
                return Ok(None);
            }
            if lists < requests.len() && !self.compiled.config.output.json {
                return Err(Error::render(
                    Code::NoArrowType,
                    "some requests are texts and others messages, which no Arrow type holds together; \
                     use output=\"messages_json\"",
                )
                .at_row(0));
            }
            let element = |name: &str| {
                let own = self.binding.schema.field_with_name(name).ok().and_then(|f| element_type(f.data_type()));
                own.or_else(|| {
                    let examples = self.compiled.examples.as_ref()?;
                    element_type(examples.schema().field_with_name(name).ok()?.data_type())
                })
            };
            let of = MessageType::new(&self.compiled.config, requests.iter(), element);
            match of {
                Err(_) if self.compiled.config.output.json => Ok(Some(MessageType::default())),
                other => self.with_example_columns(other?).map(Some),
            }
        });
        made.clone()
    }

    /// A request with one message in the place of each column of messages, for the type of what becomes of them.
    fn opened_shape(&self, request: Request) -> Result<Request> {
        let Request::List(messages) = request else { return Ok(request) };
        if !messages.iter().any(|message| matches!(message, Message::Expand { .. })) {
            return Ok(Request::List(messages));
        }
        let open = |message| match message {
            Message::Expand { column } => {
                let role = Value::from("");
                Message::Element(Element { column, number: 0, role, renamed: None, content: Ok(Vec::new()) })
            }
            other => other,
        };
        leave_shape(&self.compiled.config, messages.into_iter().map(open).collect())
    }

    /// Fields that messages of examples' list columns add.
    pub(super) fn with_example_columns(&self, mut of: MessageType) -> Result<MessageType> {
        let (Some(ice), Some(examples)) = (&self.compiled.ice, &self.compiled.examples) else { return Ok(of) };
        // What becomes of them was told by one of them, where the form of output changes them.
        if self.compiled.constant_requests.is_some() || self.compiled.config.output.changes_messages {
            return Ok(of);
        }
        for form in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()) {
            for column in form.expands() {
                let field = examples.schema().field_with_name(column).ok();
                if let Some(DataType::Struct(fields)) = field.and_then(|f| element_type(f.data_type())) {
                    of.add_fields(&fields, self.compiled.config.layout)?;
                }
            }
        }
        Ok(of)
    }
}
