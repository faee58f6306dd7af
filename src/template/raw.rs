//! `RawPromptTemplate`: OpenAI-style messages with placeholders in their contents.

use std::sync::Arc;

use super::keys;
use super::text::{Origin, Source, Text};
use super::turn::{Entry, Turn};
use crate::error::{Code, Error, Result};
use crate::suggest::{did_you_mean, misspelling_hint};
use crate::value::Value;

/// An entry of the message list.
#[derive(Clone, Debug, PartialEq)]
pub enum RawItem {
    /// A string: it is replaced by the examples if it is the ICE token, else dropped.
    Str(String),
    /// `{"expand_column": name}`: the messages of a list column.
    Expand(String),
    /// A message.
    Message(Turn),
}

/// A list of messages.
#[derive(Clone, Debug)]
pub struct RawTemplate {
    /// The messages.
    pub items: Vec<RawItem>,
    /// The string that is replaced by the examples.
    pub ice_token: Option<String>,
    /// The indices of the messages that are left out where they say nothing.
    pub optional: Vec<usize>,
}

/// The most messages that may be optional: a bit for each decides a row's plan.
const MAX_OPTIONAL: usize = 32;

const ROLES: [&str; 3] = ["system", "user", "assistant"];

impl RawTemplate {
    /// Read the message list at `path`; `format` is true if fields are filled into contents.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that the harness refuses: not a list, a message without role or content, an unknown
    /// role.
    pub(super) fn parse(value: &Value, path: &str, format: bool, ice_token: &str, source: Source) -> Result<Self> {
        let Value::List(list) = value else {
            return Err(Error::template(
                Code::WrongType,
                path,
                format!("expected a list of messages, found {}", value.type_name()),
            ));
        };
        let mut items = Vec::with_capacity(list.len());
        for (n, message) in list.iter().enumerate() {
            let item_path = format!("{path}[{n}]");
            items.push(match message {
                Value::Str(s) => RawItem::Str(s.to_string()),
                Value::Dict(_) if message.get("expand_column").is_some() => {
                    // A column that no table has is expanded to nothing; so is a name that isn't a string.
                    RawItem::Expand(message.get("expand_column").and_then(Value::as_str).unwrap_or_default().to_owned())
                }
                Value::Dict(keys) => RawItem::Message(read(message, keys, item_path, format, source)?),
                other => {
                    return Err(Error::template(
                        Code::WrongType,
                        item_path,
                        format!("expected a message (a dict) or a str, found {}", other.type_name()),
                    ));
                }
            });
        }
        Ok(Self { items, ice_token: Some(ice_token.to_owned()), optional: Vec::new() })
    }

    /// Take the key `optional` out of the messages, and note those that are. In a harness's configuration it is a key
    /// like any other.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that is no bool, and for more optional messages than a row's key has bits.
    pub(super) fn with_optional(mut self) -> Result<Self> {
        for (n, item) in self.items.iter_mut().enumerate() {
            let RawItem::Message(turn) = item else { continue };
            let Some(index) = turn.keys.iter().position(|(key, _)| &**key == keys::OPTIONAL) else { continue };
            let path = format!("{}.{}", turn.path, keys::OPTIONAL);
            match turn.keys.remove(index).1 {
                Entry::Const(Value::Bool(true)) if self.optional.len() == MAX_OPTIONAL => {
                    let message = format!("more than {MAX_OPTIONAL} messages are optional");
                    return Err(Error::template(Code::LimitExceeded, path, message));
                }
                Entry::Const(Value::Bool(true)) => self.optional.push(n),
                Entry::Const(Value::Bool(false)) => {}
                Entry::Const(other) => {
                    let message = format!("expected a bool, found {}", other.type_name());
                    return Err(Error::template(Code::WrongType, path, message));
                }
                _ => return Err(Error::template(Code::WrongType, path, "expected a bool")),
            }
        }
        Ok(self)
    }

    pub(super) fn literals(&self, out: &mut Vec<String>) {
        for item in &self.items {
            match item {
                RawItem::Expand(column) => out.push(format!("{{{column}}}")),
                RawItem::Message(turn) => {
                    if let Some(Entry::Text(t)) = turn.get(keys::CONTENT) {
                        out.push(t.literal());
                    }
                }
                RawItem::Str(_) => {}
            }
        }
    }
}

fn read(message: &Value, keys: &[(Value, Value)], path: String, format: bool, source: Source) -> Result<Turn> {
    for key in [keys::ROLE, keys::CONTENT] {
        if message.get(key).is_none() {
            let hint = misspelling_hint(key, message.names(), &[keys::ROLE, keys::CONTENT]);
            return Err(Error::template(
                Code::MissingKey,
                path,
                format!("the message needs the key {key:?}, which is missing{hint}"),
            ));
        }
    }
    let role = message.get(keys::ROLE).and_then(Value::as_str);
    if !role.is_some_and(|r| ROLES.contains(&r)) {
        let value = message.get(keys::ROLE).unwrap_or(&Value::None);
        return Err(Error::template(
            Code::InvalidRole,
            format!("{path}.role"),
            format!(
                "role {value} is not one of {}{}",
                ROLES.map(|r| format!("'{r}'")).join(", "),
                did_you_mean(role.unwrap_or_default(), ROLES)
            ),
        ));
    }
    let origin = Origin { source, role: role.map(Arc::from), ..Origin::default() };
    let entry = |name: &str, value: &Value| match value {
        Value::Str(s) if name == keys::CONTENT && format => Entry::Text(Text::lit(s.clone(), origin.clone())),
        other => Entry::Const(other.clone()),
    };
    let keys = keys
        .iter()
        .map(|(k, v)| {
            let name: Arc<str> = k.key();
            let entry = entry(&name, v);
            (name, entry)
        })
        .collect();
    Ok(Turn { path: path.into(), keys })
}
