//! The request that a configuration renders for one sample, before the sample is known.

use std::sync::Arc;

use crate::template::{Atom, Entry, Item, Media, Origin, Source, Text, keys};
use crate::value::Value;

/// The way in which a piece is joined to the piece before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// It follows directly.
    #[default]
    None,
    /// A newline precedes the piece unless it is empty: items of a dialogue without a meta template.
    Line,
}

/// A stretch of a request that is filled as one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The unit.
    pub text: Text,
    /// The way in which it is joined.
    pub join: Join,
}

impl Piece {
    /// Make a piece into which fields are filled.
    pub fn new(text: Text) -> Self {
        Self { text, join: Join::None }
    }

    /// Make a piece that stays as it is.
    pub fn literal(text: impl Into<Arc<str>>, source: Source, role: Option<&Arc<str>>) -> Self {
        let origin = Origin { source, role: role.cloned(), ..Origin::default() };
        Self::new(Text::final_literal(text, origin))
    }
}

/// The value of a message's key.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// The same for every sample.
    Const(Value),
    /// Rendered for each sample.
    Text(Vec<Piece>),
    /// The parts of each sample: texts, images, videos and sounds.
    Parts(Arc<Media>),
}

/// An element of a list of messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A message with its keys in order.
    Dict(Vec<(Arc<str>, Slot)>),
    /// A bare string among messages.
    Bare(Vec<Piece>),
    /// The messages of a list column of the sample, unchanged.
    Expand {
        /// The column.
        column: Arc<str>,
    },
    /// A message of such a column, if its role has to be known.
    Element(Element),
}

/// A message of a list column. Everything but its role and content stays in the column.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The column.
    pub column: Arc<str>,
    /// The index of the message in the row's list.
    pub number: u32,
    /// The role; None if it isn't a text.
    pub role: Value,
    /// The role's name in the output, if it is a different one.
    pub renamed: Option<Arc<str>>,
    /// The content, or the name of the content's Python type if it isn't a text.
    pub content: Result<Vec<Piece>, &'static str>,
}

impl Message {
    /// Return the value of a key.
    pub fn get(&self, key: &str) -> Option<&Slot> {
        match self {
            Self::Dict(keys) => keys.iter().find(|(k, _)| &**k == key).map(|(_, slot)| slot),
            _ => None,
        }
    }

    /// Return a turn or message as a part of a request. With `finished`, no field is filled in any more.
    pub fn of_keys(keys: Vec<(Arc<str>, Entry)>, finished: bool) -> Self {
        Self::Dict(
            keys.into_iter()
                .map(|(name, entry)| {
                    let slot = match entry {
                        Entry::Text(text) => {
                            Slot::Text(vec![Piece::new(if finished { text.finalized() } else { text })])
                        }
                        Entry::Const(value) => Slot::Const(value),
                        Entry::Media(media) => Slot::Parts(media),
                        // Only meta templates have bad entries, and their roles aren't messages.
                        Entry::Bad(_) => Slot::Const(Value::None),
                    };
                    (name, slot)
                })
                .collect(),
        )
    }

    /// Return the same message without fields to fill in.
    #[must_use]
    pub fn finalized(self) -> Self {
        let finish = |pieces: Vec<Piece>| -> Vec<Piece> {
            pieces.into_iter().map(|p| Piece { text: p.text.finalized(), ..p }).collect()
        };
        match self {
            Self::Dict(keys) => Self::Dict(
                keys.into_iter()
                    .map(|(k, slot)| match slot {
                        Slot::Text(pieces) => (k, Slot::Text(finish(pieces))),
                        other => (k, other),
                    })
                    .collect(),
            ),
            Self::Bare(pieces) => Self::Bare(finish(pieces)),
            column @ (Self::Expand { .. } | Self::Element(_)) => column,
        }
    }

    /// Return the same message with its texts replaced by the results of `map`.
    ///
    /// # Errors
    ///
    /// The errors of `map`.
    pub fn try_map_texts<E>(self, map: &mut impl FnMut(Vec<Piece>) -> Result<Vec<Piece>, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Bare(pieces) => Self::Bare(map(pieces)?),
            Self::Dict(keys) => {
                let slot = |(key, slot)| match slot {
                    Slot::Text(pieces) => Ok((key, Slot::Text(map(pieces)?))),
                    other => Ok((key, other)),
                };
                Self::Dict(keys.into_iter().map(slot).collect::<Result<_, E>>()?)
            }
            Self::Element(Element { content: Ok(pieces), column, number, role, renamed }) => {
                Self::Element(Element { content: Ok(map(pieces)?), column, number, role, renamed })
            }
            column @ (Self::Expand { .. } | Self::Element(_)) => column,
        })
    }

    /// Return the pieces of the message's rendered text, if it has one.
    pub fn text(&self) -> Option<&[Piece]> {
        match self {
            Self::Bare(pieces) | Self::Element(Element { content: Ok(pieces), .. }) => Some(pieces),
            Self::Dict(keys) => keys.iter().find_map(|(_, slot)| match slot {
                Slot::Text(pieces) => Some(pieces.as_slice()),
                Slot::Const(_) | Slot::Parts(_) => None,
            }),
            Self::Expand { .. } | Self::Element(_) => None,
        }
    }

    /// Return the role, if it is the same for every sample.
    pub fn role(&self) -> Option<&Value> {
        match (self, self.get(keys::ROLE)) {
            (Self::Element(element), _) => Some(&element.role),
            (_, Some(Slot::Const(v))) => Some(v),
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
    /// Only the parts of the sample, in order.
    Parts(Vec<Arc<Media>>),
}

impl Request {
    /// Return the number of bytes in its texts that are the same for every sample.
    pub fn literal_bytes(&self) -> usize {
        let literal = |atom: &Atom| if let Atom::Lit(text, _) = atom { text.len() } else { 0 };
        let of = |pieces: &[Piece]| pieces.iter().flat_map(|piece| piece.text.atoms.iter()).map(literal).sum::<usize>();
        match self {
            Self::Text(pieces) => of(pieces),
            Self::List(messages) => messages.iter().filter_map(Message::text).map(of).sum(),
            Self::Parts(_) => 0,
        }
    }
}

/// Return the items of a dialogue as a list of messages: a prompt list.
pub fn prompt_list(items: Vec<Item>) -> Vec<Message> {
    items
        .into_iter()
        .filter_map(|item| match item {
            Item::Marker { .. } | Item::Bad(_) => None,
            Item::Turn(turn) if turn.is_marker() => None,
            Item::Str(text) => Some(Message::Bare(vec![Piece { text, join: Join::None }])),
            Item::Turn(turn) => Some(Message::of_keys(turn.keys, false)),
        })
        .collect()
}
