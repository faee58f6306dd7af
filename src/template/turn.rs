//! Items of a dialogue: turns, bare strings and section markers.

use std::sync::Arc;

use super::keys;
use super::media::Media;
use super::text::{Origin, Source, Text};
use crate::error::{Code, Error, excerpt};
use crate::near::meant_as;
use crate::value::Value;

/// The keys of a turn that are read, by a parser if not here: it overrides what the meta template says of its role.
pub const TURN_KEYS: &[&str] =
    &[keys::ROLE, keys::FALLBACK_ROLE, keys::PROMPT, "begin", "end", keys::GENERATE, keys::API_ROLE];

/// The value under a key of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A prompt: fields are filled into it.
    Text(Text),
    /// Anything else: it goes through as it is.
    Const(Value),
    /// Texts, images, videos and sounds that the sample brings: `prompt_mm` of a template with media.
    Media(Arc<Media>),
    /// What can't be used: whoever asks for it gets the error.
    Bad(Error),
}

/// A dict of a dialogue: `role`, `prompt`, and whatever else the configuration gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Where it stands in the configuration.
    pub place: Arc<str>,
    /// Its keys in order.
    pub keys: Vec<(Arc<str>, Entry)>,
}

impl Turn {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.keys.iter().find(|(k, _)| &**k == key).map(|(_, v)| v)
    }

    /// A constant under `key`; None where the key is absent or a prompt.
    pub fn constant(&self, key: &str) -> Option<&Value> {
        match self.get(key) {
            Some(Entry::Const(v)) => Some(v),
            _ => None,
        }
    }

    /// The text under `prompt`.
    pub fn prompt(&self) -> Option<&Text> {
        match self.get(keys::PROMPT) {
            Some(Entry::Text(t)) => Some(t),
            _ => None,
        }
    }

    /// `dict.update`: `other`'s keys win, and keep their place.
    pub fn update(&mut self, other: &Turn) {
        for (key, value) in &other.keys {
            match self.keys.iter_mut().find(|(k, _)| k == key) {
                Some(entry) => entry.1 = value.clone(),
                None => self.keys.push((key.clone(), value.clone())),
            }
        }
    }

    /// The error for a key that it needs.
    pub fn lacks(&self, key: &str) -> Error {
        let hint = meant_as(key, self.keys.iter().map(|(name, _)| &**name), TURN_KEYS);
        Error::template(
            Code::MissingKey,
            &*self.place,
            format!("the turn needs the key {key:?}, which is missing{hint}"),
        )
    }

    /// Whether it is nothing but a section marker, as harnesses put them around sections.
    pub fn is_marker(&self) -> bool {
        self.keys.len() == 2 && self.get(keys::SECTION).is_some() && self.get(keys::POS).is_some()
    }
}

/// One item of a prompt list.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The begin or end of a section `begin`, `round`, `end` or `ice`.
    Marker {
        /// The section.
        section: &'static str,
        /// Whether it opens the section.
        opens: bool,
    },
    /// A bare string.
    Str(Text),
    /// A turn.
    Turn(Turn),
    /// What can't be rendered: an error for whoever uses it.
    Bad(Error),
}

impl Item {
    /// Append a section: its items between its markers.
    pub fn section(section: &'static str, items: Vec<Item>, out: &mut Vec<Item>) {
        out.push(Self::Marker { section, opens: true });
        out.extend(items);
        out.push(Self::Marker { section, opens: false });
    }

    /// Read an item of a dialogue at `place`.
    pub fn parse(value: &Value, place: String, source: Source) -> Self {
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
                                format!("{place}.prompt"),
                                format!("expected a str, found {}", other.type_name()),
                            ));
                        }
                        (_, other) => Entry::Const(other.clone()),
                    };
                    keys.push((name, entry));
                }
                Self::Turn(Turn { place: place.into(), keys })
            }
            other => Self::Bad(Error::template(
                Code::WrongType,
                place,
                format!("expected a turn (a dict with a role) or a str, found {}", excerpt(&other.to_string())),
            )),
        }
    }
}
