//! The Arrow type of a bound configuration's messages; it follows from the shapes of its requests.

use arrow_schema::DataType;

use super::bound::BoundConfig;
use crate::error::{Code, Error, Result};
use crate::plan::{Labels, build_request, request_shape, turn_request_shapes};
use crate::render::input::element_type;
use crate::render::messages::MessageType;
use crate::role::{Element, Message, Request};
use crate::template::Template;
use crate::threads;
use crate::value::Value;

impl BoundConfig<'_> {
    /// Return the type of messages; None if requests are texts.
    pub(in crate::render) fn message_type(&self) -> Result<Option<MessageType>> {
        let message_type = threads::get_or_make(&self.binding.message_type, || {
            let label_values: Vec<Option<Value>> = match &self.compiled.labels {
                Labels::None if self.compiled.selector().is_some() => {
                    self.compiled.config.main().labels().iter().cloned().map(Some).collect()
                }
                Labels::None => vec![None],
                Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
                Labels::Column(_) => vec![Some(self.compiled.any_label())],
            };
            let mut requests: Vec<Request> = match &self.compiled.constant_requests {
                Some(requests) => requests.clone(),
                None => label_values
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
                let sample_type =
                    self.binding.schema.field_with_name(name).ok().and_then(|f| element_type(f.data_type()));
                sample_type.or_else(|| {
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
        message_type.clone()
    }

    /// Return a request with a single message in place of each column of messages, to find the type of the output.
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
        request_shape(&self.compiled.config, messages.into_iter().map(open).collect())
    }

    /// Add the fields of the messages in the examples' list columns.
    pub(in crate::render) fn with_example_columns(&self, mut of: MessageType) -> Result<MessageType> {
        let (Some(ice), Some(examples)) = (&self.compiled.ice, &self.compiled.examples) else { return Ok(of) };
        // If the form of output changes messages, a request with a single message has already given the type of the
        // result.
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
