//! The labels of ppl: each sample is rendered once for each label.

use super::config::{Config, Mode};
use crate::error::{Code, Error, Result};
use crate::template::Template;
use crate::value::Value;

/// The labels of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// gen mode: one request for each sample.
    None,
    /// The labels are known from the configuration.
    Given(Vec<Value>),
    /// The labels are the distinct values of this column, sorted.
    Column(String),
}

/// Return the labels. In the order of SPEC section 5, these are given labels, the keys of the prompt template if it is
/// a dict (even a dialogue's sections), the keys of an ICE template that has an ICE token, and the output column's
/// values.
///
/// # Errors
///
/// `TemplateError` if there are no labels: raw messages without labels, or no output column.
pub fn labels(config: &Config) -> Result<Labels> {
    let labels = unchecked_labels(config)?;
    if let Labels::Given(all) = &labels {
        config.limits.check_labels(all.len(), |message| Error::template(Code::LimitExceeded, "labels", message))?;
    }
    Ok(labels)
}

fn unchecked_labels(config: &Config) -> Result<Labels> {
    if config.mode == Mode::Gen {
        return Ok(Labels::None);
    }
    let only_gen = match config.main() {
        Template::Turns(_) | Template::Chat(_) => {
            Some("conversations are for generation only; ppl mode has no place for turns")
        }
        Template::Media(_) => Some("dialogues with media are for generation only; MMPromptTemplate has no ppl form"),
        _ => None,
    };
    if let Some(message) = only_gen {
        return Err(Error::template(Code::UnsupportedMode, "mode", message));
    }
    let unknown = |path: &str| {
        Error::template(
            Code::MissingLabels,
            path,
            "raw messages have no labels to take in ppl mode; give them by labels=",
        )
    };
    if let Some(given) = &config.labels {
        return Ok(Labels::Given(given.clone()));
    }
    match &config.prompt {
        Some(Template::Raw(_)) => return Err(unknown("prompt_template")),
        Some(Template::Prompt(prompt)) => {
            if let Some(keys) = &prompt.keys {
                return Ok(Labels::Given(keys.clone()));
            }
        }
        Some(Template::Turns(_) | Template::Media(_) | Template::Columns(_) | Template::Chat(_)) | None => {}
    }
    match &config.ice {
        Some(Template::Raw(raw)) if raw.ice_token.is_some() => return Err(unknown("ice_template")),
        Some(Template::Prompt(ice)) if ice.ice_token.is_some() => {
            if let Some(keys) = &ice.keys {
                return Ok(Labels::Given(keys.clone()));
            }
        }
        _ => {}
    }
    match &config.reader.output_column {
        Some(column) => Ok(Labels::Column(column.clone())),
        None => Err(Error::template(
            Code::MissingLabels,
            "labels",
            "ppl mode needs labels: give labels=, a label map, or an output column",
        )),
    }
}
