//! Findings: facts about samples that users can ask for or refuse.

use crate::error::{Code, Error, Result, excerpt};
use crate::suggest::did_you_mean;
use crate::value::Value;

/// A fact about a sample that a harness doesn't report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A media tag within a stretch: the data contain a tag, or a payload has no end tag.
    TagInText,
    /// Text outside all tags, which vanishes.
    Untagged,
}

impl Finding {
    /// All findings.
    pub const ALL: [Self; 2] = [Self::TagInText, Self::Untagged];

    /// Return the finding's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::TagInText => "media_tag",
            Self::Untagged => "untagged_text",
        }
    }

    /// Return a sentence about the finding.
    pub fn explained(self) -> &'static str {
        match self {
            Self::TagInText => "a media tag stands within a stretch: an end tag is missing, or the data bring a tag",
            Self::Untagged => "this text stands outside every tag, and vanishes",
        }
    }

    /// Read a list of names, as the constructor takes it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for any other value.
    pub fn list(value: &Value) -> Result<Vec<Self>> {
        let names = || Self::ALL.map(|f| format!("{:?}", f.name())).join(", ");
        match value {
            Value::None => Ok(Vec::new()),
            Value::List(items) => items
                .iter()
                .enumerate()
                .map(|(n, item)| {
                    Self::ALL.into_iter().find(|f| item.as_str() == Some(f.name())).ok_or_else(|| {
                        let given = item.as_str().unwrap_or_default();
                        let hint = did_you_mean(given, Self::ALL.iter().map(|f| f.name()));
                        // A short string is printed whole, in its own quotes.
                        let printed = item.to_string();
                        let short = item.as_str().is_some() && printed.chars().count() <= 40;
                        let quoted = if short { printed } else { excerpt(&printed) };
                        let message = format!("{quoted} is not one of {}{hint}", names());
                        Error::template(Code::UnknownName, format!("refuse[{n}]"), message)
                    })
                })
                .collect(),
            other => Err(Error::template(
                Code::WrongType,
                "refuse",
                format!("expected a list of {}, found {other}", names()),
            )),
        }
    }
}
