//! Items of a dialogue: turns, bare strings and section markers.

use std::sync::Arc;

use super::keys;
use super::media::Media;
use super::text::{Origin, Source, Text};
use crate::error::{Code, Error, excerpt};
use crate::suggest::misspelling_hint;
use crate::value::Value;

/// The keys of a turn that are read, here or by a parser. A turn overrides the meta template's keys for its role.
pub const TURN_KEYS: &[&str] =
    &[keys::ROLE, keys::FALLBACK_ROLE, keys::PROMPT, "begin", "end", keys::GENERATE, keys::API_ROLE];

/// The value of a turn's key.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A prompt: fields are filled into it.
    Text(Text),
    /// Any other value: it stays as it is.
    Const(Value),
    /// The texts, images, videos and sounds of the sample: `prompt_mm` of a template with media.
    Media(Arc<Media>),
    /// A value that can't be used; its use raises the error.
    Bad(Error),
}

/// A dict of a dialogue: `role`, `prompt`, and any other keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The turn's path in the configuration.
    pub path: Arc<str>,
    /// Its keys in order.
    pub keys: Vec<(Arc<str>, Entry)>,
}

impl Turn {
    /// Return the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.keys.iter().find(|(k, _)| &**k == key).map(|(_, v)| v)
    }

    /// Return a constant under `key`; None if the key is absent or a prompt.
    pub fn constant(&self, key: &str) -> Option<&Value> {
        match self.get(key) {
            Some(Entry::Const(v)) => Some(v),
            _ => None,
        }
    }

    /// Return the text under `prompt`.
    pub fn prompt(&self) -> Option<&Text> {
        match self.get(keys::PROMPT) {
            Some(Entry::Text(t)) => Some(t),
            _ => None,
        }
    }

    /// Do `dict.update`: `other`'s keys override, and keep their positions.
    pub fn update(&mut self, other: &Turn) {
        for (key, value) in &other.keys {
            match self.keys.iter_mut().find(|(k, _)| k == key) {
                Some(entry) => entry.1 = value.clone(),
                None => self.keys.push((key.clone(), value.clone())),
            }
        }
    }

    /// Return the error for a missing key.
    pub fn lacks(&self, key: &str) -> Error {
        let hint = misspelling_hint(key, self.keys.iter().map(|(name, _)| &**name), TURN_KEYS);
        Error::template(
            Code::MissingKey,
            &*self.path,
            format!("the turn needs the key {key:?}, which is missing{hint}"),
        )
    }

    /// Return true if it is only a section marker, as harnesses put them around sections.
    pub fn is_marker(&self) -> bool {
        self.keys.len() == 2 && self.get(keys::SECTION).is_some() && self.get(keys::POS).is_some()
    }
}

/// An item of a prompt list.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The begin or end of a section `begin`, `round`, `end` or `ice`.
    Marker {
        /// The section.
        section: &'static str,
        /// True if it opens the section.
        opens: bool,
    },
    /// A bare string.
    Str(Text),
    /// A turn.
    Turn(Turn),
    /// An item that can't be rendered; its use raises the error.
    Bad(Error),
}

impl Item {
    /// Append a section: its items between its markers.
    pub fn section(section: &'static str, items: Vec<Item>, out: &mut Vec<Item>) {
        out.push(Self::Marker { section, opens: true });
        out.extend(items);
        out.push(Self::Marker { section, opens: false });
    }

    /// Read an item of a dialogue at `path`.
    pub fn parse(value: &Value, path: String, source: Source) -> Self {
        let origin =
            |role: Option<&Value>| Origin { source, role: role.and_then(Value::as_text).cloned(), ..Origin::default() };
        match value {
            Value::Str(s) => Self::Str(Text::lit(s.clone(), origin(None))),
            Value::Dict(items) => {
                let mut keys = Vec::with_capacity(items.len());
                for (key, entry) in items {
                    let name: Arc<str> = key.key();
                    let entry = match (&*name, entry) {
                        (keys::PROMPT, Value::Str(s)) => {
                            Entry::Text(Text::lit(s.clone(), origin(value.get(keys::ROLE))))
                        }
                        (keys::PROMPT, other) => {
                            return Self::Bad(Error::template(
                                Code::WrongType,
                                format!("{path}.prompt"),
                                format!("expected a str, found {}", other.type_name()),
                            ));
                        }
                        (_, other) => Entry::Const(other.clone()),
                    };
                    keys.push((name, entry));
                }
                Self::Turn(Turn { path: path.into(), keys })
            }
            other => Self::Bad(Error::template(
                Code::WrongType,
                path,
                format!("expected a turn (a dict with a role) or a str, found {}", excerpt(&other.to_string())),
            )),
        }
    }
}
