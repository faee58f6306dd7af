//! Whose rules decide where the harnesses differ. Every bug-compatible switch stands here, and nowhere else.

use crate::error::{Error, Result};

/// The harness whose behaviour is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCompass 0.5.4.
    #[default]
    OpenCompass,
    /// AISBench 3.1.20260630.
    AisBench,
}

impl Dialect {
    /// Every dialect's name, as configurations spell it.
    pub const NAMES: &'static [&'static str] = &["opencompass", "aisbench"];

    /// The dialect of that name.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a name that is none of [`Self::NAMES`].
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "opencompass" => Ok(Self::OpenCompass),
            "aisbench" => Ok(Self::AisBench),
            _ => Err(Error::template(
                "dialect",
                format!("{} is not one of {}", crate::error::excerpt(name), Self::NAMES.join(", ")),
            )),
        }
    }

    /// Whether an example's index may count from the end (OpenCompass: -1 is the last row of the train split).
    pub fn negative_indices(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether there are raw messages, and meta templates in the list form to go with them (OpenCompass).
    pub fn raw_messages(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether a role without any prompt speaks an empty message (OpenCompass); AISBench refuses it.
    pub fn empty_messages(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether an ICE template alone is a prompt template without an ICE token too, zero-shot: documented by both, and
    /// recorded as refused by AISBench.
    pub fn ice_alone_without_token(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether the API parser gives an empty list, not an empty string, for a dialogue that says nothing and meets no
    /// meta template (AISBench: it is the list of its media parts).
    pub fn empty_is_a_list(self) -> bool {
        self == Self::AisBench
    }

    /// Whether there is a `ChatInferencer` (OpenCompass).
    pub fn chats(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether a `ZeroRetriever` takes an `ice_separator` (AISBench).
    pub fn zero_takes_separator(self) -> bool {
        self == Self::AisBench
    }
}
