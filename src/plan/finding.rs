//! What a user may want to know about samples, and may have refused.

use crate::error::{Code, Error, Result, excerpt};
use crate::near::did_you_mean;
use crate::value::Value;

/// Something about a sample that a harness renders without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A tag of a medium within a stretch: data that adds a part, or a payload without an end tag.
    TagInText,
    /// Text outside every tag, which vanishes.
    Untagged,
}

impl Finding {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::TagInText, Self::Untagged];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::TagInText => "media_tag",
            Self::Untagged => "untagged_text",
        }
    }

    /// A sentence about it.
    pub fn explained(self) -> &'static str {
        match self {
            Self::TagInText => "a media tag stands within a stretch: an end tag is missing, or the data bring a tag",
            Self::Untagged => "this text stands outside every tag, and vanishes",
        }
    }

    /// A list of names, as the constructor takes it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for anything else.
    pub fn list(value: &Value) -> Result<Vec<Self>> {
        let known = || Self::ALL.map(|f| format!("{:?}", f.name())).join(", ");
        match value {
            Value::None => Ok(Vec::new()),
            Value::List(items) => items
                .iter()
                .enumerate()
                .map(|(n, item)| {
                    Self::ALL.into_iter().find(|f| item.as_str() == Some(f.name())).ok_or_else(|| {
                        let found = item.as_str().unwrap_or_default();
                        let hint = did_you_mean(found, Self::ALL.iter().map(|f| f.name()));
                        // A string in its own quotes, where it is short enough to be shown whole.
                        let own = item.to_string();
                        let short = item.as_str().is_some() && own.chars().count() <= 40;
                        let shown = if short { own } else { excerpt(&own) };
                        let message = format!("{shown} is not one of {}{hint}", known());
                        Error::template(Code::UnknownName, format!("refuse[{n}]"), message)
                    })
                })
                .collect(),
            other => Err(Error::template(
                Code::WrongType,
                "refuse",
                format!("expected a list of {}, found {other}", known()),
            )),
        }
    }
}
