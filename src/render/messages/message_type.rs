//! The Arrow type of messages, decided by the configuration and the schema.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::sent_parts::sent_type;
use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::{Config, Layout};
use crate::render::input::{element_type, is_list, is_text};
use crate::render::media::part_type;
use crate::render::values::{string_type, type_of, unify};
use crate::role::{Element, Message, MetaTemplate, Request, Slot};
use crate::template::{Media, keys};
use crate::value::Value;

/// The fields of a message, decided by configuration and schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageType {
    /// The keys of rendered texts.
    pub texts: Vec<Arc<str>>,
    /// All fields in order.
    pub fields: Vec<(Arc<str>, DataType)>,
    /// The key of a sample's parts.
    pub parts: Option<Arc<str>>,
    /// The key under which each rendered text becomes a list with a single part, because others are lists of parts.
    pub text_parts: Option<Arc<str>>,
}

impl MessageType {
    /// Find the type that holds the messages of all these requests, and of the list columns that they expand.
    ///
    /// # Errors
    ///
    /// `RenderError` that names `messages_json` if a key has values that no Arrow type holds together.
    pub fn new<'a>(
        config: &Config,
        requests: impl Iterator<Item = &'a Request> + Clone,
        element: impl Fn(&str) -> Option<DataType>,
    ) -> Result<Self> {
        let layout = config.layout;
        let mut out = Self::default();
        let meta = match &config.meta {
            Some(MetaTemplate::Messages(items)) => items.as_slice(),
            _ => &[],
        };
        let mut add = |name: &str, data_type: DataType| -> Result<()> {
            match out.fields.iter_mut().find(|(key, _)| &**key == name) {
                None => out.fields.push((name.into(), data_type)),
                Some((_, so_far)) => {
                    let both = unify(so_far, &data_type, layout);
                    let parts = || parts_or_text(so_far, &data_type, layout).filter(|_| holds_parts(config, name));
                    *so_far = both.or_else(parts).ok_or_else(|| conflict(name, so_far, &data_type))?;
                }
            }
            Ok(())
        };
        let mut texts: Vec<Arc<str>> = Vec::new();
        let mut text = |name: &Arc<str>| {
            if !texts.contains(name) {
                texts.push(name.clone());
            }
        };
        let constant = |value: &Value, name: &str| {
            type_of([value], layout).ok_or_else(|| {
                Error::render(
                    Code::NoArrowType,
                    format!("no Arrow type holds {value} under {name:?}; use output=\"messages_json\""),
                )
                .at_row(0)
            })
        };
        let mut parts = None;
        let mut expands = false;
        for request in requests {
            let messages = match request {
                Request::List(messages) => messages,
                Request::Parts(media) => {
                    if let DataType::Struct(fields) = parts_of(media.iter().map(|media| &**media), layout)? {
                        for field in &fields {
                            add(field.name(), field.data_type().clone())?;
                        }
                    }
                    continue;
                }
                Request::Text(_) => continue,
            };
            for message in messages {
                match message {
                    Message::Bare(_) => {
                        text(&keys::PROMPT.into());
                        add(keys::PROMPT, string_type(layout))?;
                    }
                    Message::Dict(keys) => {
                        for (name, slot) in keys {
                            match slot {
                                Slot::Text(_) => {
                                    text(name);
                                    add(name, string_type(layout))?;
                                }
                                Slot::Const(value) => add(name, constant(value, name)?)?,
                                Slot::Parts(media) => {
                                    parts = Some(name.clone());
                                    add(name, list_of(parts_of([&**media], layout)?))?;
                                }
                            }
                        }
                    }
                    Message::Expand { column } | Message::Element(Element { column, .. }) => {
                        expands = true;
                        match element(column) {
                            Some(DataType::Struct(fields)) => {
                                for field in &fields {
                                    let data_type = field.data_type();
                                    let has_texts =
                                        field.name() == keys::CONTENT && is_text(data_type) && !data_type.is_null();
                                    if has_texts && config.output.chat.is_some() {
                                        text(&keys::CONTENT.into());
                                    }
                                    let sent = field.name() == keys::CONTENT
                                        && config.output.chat.is_some()
                                        && config.dialect.rewrites_parts();
                                    let data_type = if sent { &sent_type(data_type) } else { data_type };
                                    add(
                                        field.name(),
                                        unify(&DataType::Null, data_type, layout).unwrap_or(DataType::Null),
                                    )?;
                                }
                            }
                            Some(strings @ (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)) => {
                                add(keys::PROMPT, unify(&DataType::Null, &strings, layout).unwrap_or(strings))?;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        if expands && config.output.parser != Parser::None {
            for keys in meta {
                for (name, value) in keys {
                    if &**name == keys::CONTENT && value.as_str().is_some() {
                        text(name);
                    }
                    add(name, constant(value, name)?)?;
                }
            }
        }
        // If no message has a content, contents have the type of texts.
        if let Some((_, data_type)) =
            out.fields.iter_mut().find(|(name, data_type)| holds_parts(config, name) && data_type.is_null())
        {
            *data_type = string_type(layout);
        }
        if let Some(chat) = config.output.chat {
            out.fields.sort_by_key(|(name, _)| {
                [keys::ROLE, chat.content].iter().position(|key| *key == &**name).unwrap_or(2)
            });
        }
        out.text_parts = out
            .fields
            .iter()
            .find(|(name, data_type)| holds_parts(config, name) && texts.contains(name) && item_of(data_type).is_some())
            .map(|(name, _)| name.clone());
        out.texts = texts;
        out.parts = parts;
        Ok(out)
    }

    /// Add the fields of messages that come with the data.
    ///
    /// # Errors
    ///
    /// `RenderError` that names `messages_json` if a key has values that no Arrow type holds together.
    pub fn add_fields(&mut self, fields: &Fields, layout: Layout) -> Result<()> {
        for field in fields {
            let data_type = unify(&DataType::Null, field.data_type(), layout).unwrap_or(DataType::Null);
            // If messages are taken out of the table one by one, their contents are texts like those of the
            // configuration.
            if field.name() == keys::CONTENT
                && data_type == string_type(layout)
                && !self.texts.iter().any(|t| &**t == keys::CONTENT)
            {
                self.texts.push(keys::CONTENT.into());
            }
            match self.fields.iter_mut().find(|(key, _)| &**key == field.name()) {
                None => self.fields.push((field.name().as_str().into(), data_type)),
                Some((name, so_far)) => {
                    *so_far = unify(so_far, &data_type, layout).ok_or_else(|| conflict(name, so_far, &data_type))?;
                }
            }
        }
        Ok(())
    }

    /// Check that this type, which was made before the request was known, loses nothing of the request.
    ///
    /// # Errors
    ///
    /// `RenderError` that names the fields that the type lacks, and `messages_json`.
    pub fn holds(&self, request: &Request) -> Result<()> {
        let messages = match request {
            Request::List(messages) => messages,
            // The type of parts is made from the template's parts.
            Request::Parts(_) => return Ok(()),
            Request::Text(_) => return Err(lacking("a request that is a text")),
        };
        for message in messages {
            match message {
                Message::Dict(keys) => {
                    self.has_all(keys.iter().map(|(name, _)| &**name))?;
                    let misplaced = keys.iter().find(|(name, slot)| match slot {
                        Slot::Text(_) => !self.texts.contains(name),
                        Slot::Parts(_) => self.parts.as_ref() != Some(name),
                        Slot::Const(_) => false,
                    });
                    if let Some((name, _)) = misplaced {
                        return Err(lacking(&format!("what {name:?} holds")));
                    }
                }
                Message::Bare(_) if !self.texts.iter().any(|name| &**name == keys::PROMPT) => {
                    return Err(lacking("a bare string"));
                }
                Message::Element(Element { content: Ok(_), .. })
                    if !self.texts.iter().any(|t| &**t == keys::CONTENT) =>
                {
                    return Err(lacking("what its messages say"));
                }
                // The fields of a column's messages are checked together with the column.
                Message::Bare(_) | Message::Expand { .. } | Message::Element(_) => {}
            }
        }
        Ok(())
    }

    /// Check that the type has all these keys.
    ///
    /// # Errors
    ///
    /// `RenderError` that names a key that the type lacks, and `messages_json`.
    pub fn has_all<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Result<()> {
        match names.find(|name| !self.fields.iter().any(|(key, _)| key.as_ref() == *name)) {
            Some(name) => Err(lacking(&format!("the key {name:?}"))),
            None => Ok(()),
        }
    }

    /// Return the Arrow type of a request.
    pub fn data_type(&self) -> DataType {
        list_of(DataType::Struct(self.struct_fields()))
    }

    /// Return the Arrow fields of a message.
    pub fn struct_fields(&self) -> Fields {
        self.fields.iter().map(|(name, t)| Field::new(&**name, t.clone(), true)).collect()
    }
}

/// Return true if a message may hold parts under this key while another message holds a text.
fn holds_parts(config: &Config, name: &str) -> bool {
    config.output.is_chat_content(name)
}

/// Return the type of a list's elements.
fn item_of(data_type: &DataType) -> Option<DataType> {
    if is_list(data_type) { element_type(data_type) } else { None }
}

/// Return the type of lists of parts that holds both types, with a text as a part; None if there is none.
fn parts_or_text(a: &DataType, b: &DataType, layout: Layout) -> Option<DataType> {
    let parts = |of: &DataType| {
        if is_text(of) {
            let fields = [keys::TYPE, keys::TEXT].map(|key| Field::new(key, string_type(layout), true));
            return Some(DataType::Struct(fields.to_vec().into()));
        }
        item_of(of)
    };
    unify(&parts(a)?, &parts(b)?, layout).map(list_of)
}

fn parts_of<'a>(media: impl IntoIterator<Item = &'a Media>, layout: Layout) -> Result<DataType> {
    part_type(media, layout).ok_or_else(|| {
        Error::render(
            Code::NoArrowType,
            "no Arrow type holds the template's parts together; use output=\"messages_json\"",
        )
        .at_row(0)
    })
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

fn lacking(what: &str) -> Error {
    Error::render(
        Code::NoArrowType,
        format!("the type of the messages has no place for {what}; use output=\"messages_json\""),
    )
    .at_row(0)
}

fn conflict(name: &str, a: &DataType, b: &DataType) -> Error {
    Error::render(
        Code::NoArrowType,
        format!(
            "messages hold both {a} and {b} under {name:?}, which no Arrow type does; use output=\"messages_json\""
        ),
    )
    .at_row(0)
}
