//! What a configuration renders for one sample, before the sample is known.

use std::sync::Arc;

use crate::template::{Media, Origin, Source, Text};
use crate::value::Value;

/// How a piece is joined to what stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// It follows directly.
    #[default]
    None,
    /// A newline stands before it unless it is empty: items of a dialogue without a meta template.
    Line,
}

/// A stretch of a request that is filled as one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The unit.
    pub text: Text,
    /// How it is joined.
    pub join: Join,
}

impl Piece {
    /// Text that fields are filled into.
    pub fn new(text: Text) -> Self {
        Self { text, join: Join::None }
    }

    /// Text that stays as it is.
    pub fn fixed(text: impl Into<Arc<str>>, source: Source, role: Option<&Arc<str>>) -> Self {
        let origin = Origin { source, role: role.cloned(), ..Origin::default() };
        Self::new(Text::fixed(text, origin))
    }
}

/// What stands under a key of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// The same for every sample.
    Const(Value),
    /// Rendered for each sample.
    Text(Vec<Piece>),
    /// Parts that each sample brings: texts, images, videos and sounds.
    Parts(Arc<Media>),
}

/// An element of a list of messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A message with its keys in order.
    Dict(Vec<(Arc<str>, Slot)>),
    /// A bare string among messages.
    Bare(Vec<Piece>),
    /// The messages of a list column: of the sample, or of an example (by slot).
    Expand {
        /// The column.
        column: Arc<str>,
    },
}

impl Message {
    /// What stands under `key`.
    pub fn get(&self, key: &str) -> Option<&Slot> {
        match self {
            Self::Dict(keys) => keys.iter().find(|(k, _)| &**k == key).map(|(_, slot)| slot),
            _ => None,
        }
    }

    /// The role, where it is the same for every sample.
    pub fn role(&self) -> Option<&Value> {
        match self.get("role") {
            Some(Slot::Const(v)) => Some(v),
            _ => None,
        }
    }
}

/// One rendered prompt, before the sample is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A text.
    Text(Vec<Piece>),
    /// A list of messages, or a prompt list.
    List(Vec<Message>),
    /// Nothing but the parts that the sample brings, one after the other.
    Parts(Vec<Arc<Media>>),
}
