//! The Arrow type of messages, decided by configuration and schema alone.

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
    /// Keys under which rendered text stands.
    pub texts: Vec<Arc<str>>,
    /// All fields in order.
    pub fields: Vec<(Arc<str>, DataType)>,
    /// The key under which a sample's parts stand.
    pub parts: Option<Arc<str>>,
    /// The key under which each rendered text is a list of one part, since others are lists of parts.
    pub text_parts: Option<Arc<str>>,
}

impl MessageType {
    /// The type that holds the messages of all these requests, with those of list columns that they expand.
    ///
    /// # Errors
    ///
    /// `RenderError` naming `messages_json` if a key has values that no Arrow type holds together.
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
        let mut add = |name: &str, own: DataType| -> Result<()> {
            match out.fields.iter_mut().find(|(known, _)| &**known == name) {
                None => out.fields.push((name.into(), own)),
                Some((_, so_far)) => {
                    let both = unify(so_far, &own, layout);
                    let parts = || parts_or_text(so_far, &own, layout).filter(|_| holds_parts(config, name));
                    *so_far = both.or_else(parts).ok_or_else(|| conflict(name, so_far, &own))?;
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
                                    let own = field.data_type();
                                    let said = field.name() == keys::CONTENT && is_text(own) && !own.is_null();
                                    if said && config.output.chat_api {
                                        text(&keys::CONTENT.into());
                                    }
                                    let sent = field.name() == keys::CONTENT
                                        && config.output.chat_api
                                        && config.dialect.rewrites_parts();
                                    let own = if sent { &sent_type(own) } else { own };
                                    add(field.name(), unify(&DataType::Null, own, layout).unwrap_or(DataType::Null))?;
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
        // Where nobody says anything, what isn't said is texts.
        if let Some((_, own)) = out.fields.iter_mut().find(|(name, own)| holds_parts(config, name) && own.is_null()) {
            *own = string_type(layout);
        }
        if config.output.chat_api {
            out.fields.sort_by_key(|(name, _)| {
                [keys::ROLE, keys::CONTENT].iter().position(|key| *key == &**name).unwrap_or(2)
            });
        }
        out.text_parts = out
            .fields
            .iter()
            .find(|(name, own)| holds_parts(config, name) && texts.contains(name) && item_of(own).is_some())
            .map(|(name, _)| name.clone());
        out.texts = texts;
        out.parts = parts;
        Ok(out)
    }

    /// Add the fields of messages that come with the data.
    ///
    /// # Errors
    ///
    /// `RenderError` naming `messages_json` if a key has values that no Arrow type holds together.
    pub fn add_fields(&mut self, fields: &Fields, layout: Layout) -> Result<()> {
        for field in fields {
            let own = unify(&DataType::Null, field.data_type(), layout).unwrap_or(DataType::Null);
            // Taken out of the table one by one, their contents are texts like the configuration's own.
            if field.name() == keys::CONTENT
                && own == string_type(layout)
                && !self.texts.iter().any(|t| &**t == keys::CONTENT)
            {
                self.texts.push(keys::CONTENT.into());
            }
            match self.fields.iter_mut().find(|(known, _)| &**known == field.name()) {
                None => self.fields.push((field.name().as_str().into(), own)),
                Some((name, so_far)) => {
                    *so_far = unify(so_far, &own, layout).ok_or_else(|| conflict(name, so_far, &own))?;
                }
            }
        }
        Ok(())
    }

    /// Check that nothing of a request gets lost in this type, which was made before the request was known.
    ///
    /// # Errors
    ///
    /// `RenderError` naming what the type lacks, and `messages_json`.
    pub fn holds(&self, request: &Request) -> Result<()> {
        let messages = match request {
            Request::List(messages) => messages,
            // Their type is made from the template's parts themselves.
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
                // What a column brings is looked at where the column is.
                Message::Bare(_) | Message::Expand { .. } | Message::Element(_) => {}
            }
        }
        Ok(())
    }

    /// Check that the type has all these keys.
    ///
    /// # Errors
    ///
    /// `RenderError` naming one that it lacks, and `messages_json`.
    pub fn has_all<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Result<()> {
        match names.find(|name| !self.fields.iter().any(|(known, _)| known.as_ref() == *name)) {
            Some(name) => Err(lacking(&format!("the key {name:?}"))),
            None => Ok(()),
        }
    }

    /// The Arrow type of a request.
    pub fn data_type(&self) -> DataType {
        list_of(DataType::Struct(self.struct_fields()))
    }

    /// The fields of a message as Arrow has them.
    pub fn struct_fields(&self) -> Fields {
        self.fields.iter().map(|(name, t)| Field::new(&**name, t.clone(), true)).collect()
    }
}

/// Whether a message may hold parts under this key where another holds a text.
fn holds_parts(config: &Config, name: &str) -> bool {
    config.output.chat_api && name == keys::CONTENT
}

/// What the lists of a type hold.
fn item_of(data_type: &DataType) -> Option<DataType> {
    if is_list(data_type) { element_type(data_type) } else { None }
}

/// The lists of parts that hold both, a text as a part of its own; None where there are none.
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
