//! Whose rules decide where the harnesses differ. Every bug-compatible switch stands here, and nowhere else.

use crate::error::{Error, Result};

/// The harness whose behaviour is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCompass 0.5.4.
    #[default]
    OpenCompass,
}

impl Dialect {
    /// Every dialect's name, as configurations spell it.
    pub const NAMES: &'static [&'static str] = &["opencompass"];

    /// The dialect of that name.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a name that is none of [`Self::NAMES`].
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "opencompass" => Ok(Self::OpenCompass),
            _ => Err(Error::template(
                "dialect",
                format!("{} is not one of {}", crate::error::excerpt(name), Self::NAMES.join(", ")),
            )),
        }
    }

    /// Whether an example's index may count from the end (OpenCompass: -1 is the last row of the train split).
    pub fn negative_indices(self) -> bool {
        match self {
            Self::OpenCompass => true,
        }
    }
}
