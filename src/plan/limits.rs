//! How much a configuration and its data may ask for.

use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::value::Value;

/// Bounds that no real configuration meets, so that a kilobyte of templates, or a value that names others that name
/// others, can't ask for a terabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all texts of the configuration.
    pub template_bytes: usize,
    /// How many dicts and lists of the configuration stand within each other; at most 100.
    pub nesting: usize,
    /// Labels of a sample.
    pub labels: usize,
    /// Bytes of the text of one request.
    pub prompt_bytes: usize,
    /// Bytes of the texts of one batch, and of what says which request shows what.
    pub batch_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            template_bytes: 64 << 20,
            nesting: MAX_NESTING,
            labels: 100_000,
            prompt_bytes: 4 << 30,
            batch_bytes: 64 << 30,
        }
    }
}

/// The argument's name, and its keys in the order of the fields.
const PATH: &str = "limits";
/// From so many bytes on a request is looked at before it is bound.
const CERTAIN_BYTES: usize = 1 << 20;
/// The factor by which a text may be longer while it is filled in than at last.
const FILLING_TIMES: usize = 8;
/// From so many bytes on it is tried whether there is memory.
const PROBED_BYTES: usize = 1 << 24;
/// Whatever reads a configuration follows it by recursion.
const MAX_NESTING: usize = 100;
const KEYS: [&str; 5] = ["template_bytes", "nesting", "labels", "prompt_bytes", "batch_bytes"];

impl Limits {
    /// Read the constructor's argument; None is the defaults, and so is a key that isn't given.
    ///
    /// # Errors
    ///
    /// `TemplateError` for another key, or a value that is no number from 1 on.
    pub fn parse(value: &Value) -> Result<Self> {
        let mut limits = Self::default();
        let items = match value {
            Value::None => return Ok(limits),
            Value::Dict(items) => items,
            other => {
                let message = format!("expected a dict of numbers, found {}", other.type_name());
                return Err(Error::template(Code::WrongType, PATH, message));
            }
        };
        for (key, given) in items {
            let name = key.as_str().unwrap_or_default();
            let field = match name {
                "template_bytes" => &mut limits.template_bytes,
                "nesting" => &mut limits.nesting,
                "labels" => &mut limits.labels,
                "prompt_bytes" => &mut limits.prompt_bytes,
                "batch_bytes" => &mut limits.batch_bytes,
                _ => {
                    let message = format!("no limit is called so; there are {}", KEYS.join(", "));
                    let message = message + &did_you_mean(name, KEYS);
                    return Err(Error::template(Code::UnknownKey, format!("{PATH}.{name}"), message));
                }
            };
            let path = format!("{PATH}.{name}");
            let Value::Int(number) = given else {
                let message = format!("expected an int, found {}", given.type_name());
                return Err(Error::template(Code::WrongType, path, message));
            };
            let most = if name == "nesting" { MAX_NESTING } else { usize::MAX };
            *field = usize::try_from(*number).ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
                let end = if most == usize::MAX { "on".to_owned() } else { format!("to {most}") };
                Error::template(Code::InvalidNumber, path, format!("expected a number from 1 {end}, found {number}"))
            })?;
        }
        Ok(limits)
    }

    /// Refuse a configuration whose texts are more than it may have, or that is nested deeper. `parts` are its arguments
    /// by name.
    ///
    /// # Errors
    ///
    /// `TemplateError`, at the largest or the deepest.
    pub fn check_template(&self, parts: &[(&str, &Value)]) -> Result<()> {
        if let Some((path, depth)) =
            parts.iter().map(|(path, value)| (path, depth(value))).max_by_key(|(_, depth)| *depth)
            && depth > self.nesting
        {
            let message = format!(
                "dicts and lists are nested {depth} deep; limits={{\"nesting\": {}}} allows no more",
                self.nesting
            );
            return Err(Error::template(Code::LimitExceeded, *path, message));
        }
        let sizes = parts.iter().map(|(path, value)| (*path, text_bytes(value)));
        let total: usize = sizes.clone().map(|(_, bytes)| bytes).sum();
        if total <= self.template_bytes {
            return Ok(());
        }
        let path = sizes.max_by_key(|(_, bytes)| *bytes).map_or(PATH, |(path, _)| path);
        let message = format!(
            "the configuration's texts have {total} bytes; limits={{\"template_bytes\": {}}} allows no more",
            self.template_bytes
        );
        Err(Error::template(Code::LimitExceeded, path, message))
    }

    /// Refuse more labels than there may be; `error` makes the error of the message.
    ///
    /// # Errors
    ///
    /// What `error` makes.
    pub fn check_labels(&self, labels: usize, error: impl FnOnce(String) -> Error) -> Result<()> {
        if labels <= self.labels {
            return Ok(());
        }
        Err(error(format!(
            "there are {labels} labels, and each sample has a request for each; limits={{\"labels\": {}}} allows no more",
            self.labels
        )))
    }

    /// Bytes that a text may have while columns are filled in one after the other: more than at last, for placeholders
    /// that values bring in may give way to less.
    pub fn filling_bytes(&self) -> usize {
        let most = self.prompt_bytes.saturating_mul(FILLING_TIMES).max(CERTAIN_BYTES);
        most.min(self.prompt_bytes.max(Self::default().prompt_bytes))
    }

    /// The error of a request that is too long. How long it would be isn't said: filling ends where the limit is passed,
    /// and where that is goes by the way in which a column holds its texts.
    pub fn prompt_too_long(&self) -> Error {
        let message = format!(
            "the prompt would have more than {0} bytes; limits={{\"prompt_bytes\": {0}}} allows no more",
            self.prompt_bytes
        );
        Error::render(Code::LimitExceeded, message)
    }

    /// Refuse a request that is too long whatever the sample says, or that there is no memory for.
    ///
    /// # Errors
    ///
    /// `TemplateError`, at the prompt template.
    pub fn check_request(&self, bytes: usize) -> Result<()> {
        let path = "prompt_template";
        // Placeholders are counted as they are spelt; what is small is measured when it is rendered.
        if bytes > self.prompt_bytes.max(CERTAIN_BYTES) {
            let message = format!(
                "every prompt would have {bytes} bytes or more; limits={{\"prompt_bytes\": {}}} allows no more",
                self.prompt_bytes
            );
            return Err(Error::template(Code::LimitExceeded, path, message));
        }
        // It is written down once more when it is bound, where a failed allocation would end the process.
        if bytes > PROBED_BYTES && Vec::<u8>::new().try_reserve_exact(2 * bytes).is_err() {
            return Err(Error::template(Code::OutOfMemory, path, format!("there is no memory for {bytes} bytes")));
        }
        Ok(())
    }

    /// The error of a batch that is too large.
    pub fn batch_too_large(&self) -> Error {
        let message = format!(
            "the batch's prompts would take more than {0} bytes; limits={{\"batch_bytes\": {0}}} allows no more: give \
             smaller batches, or a higher limit",
            self.batch_bytes
        );
        Error::render(Code::LimitExceeded, message)
    }

    /// Refuse what a batch would take beside its texts: `each` bytes for `count` requests, examples or the like.
    ///
    /// # Errors
    ///
    /// [`Self::batch_too_large`].
    pub fn check_batch(&self, count: usize, each: usize) -> Result<()> {
        match count.checked_mul(each) {
            Some(bytes) if bytes <= self.batch_bytes => Ok(()),
            _ => Err(self.batch_too_large()),
        }
    }
}

/// How many dicts and lists stand within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Dict(items) => 1 + items.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Bytes of the texts in a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Str(text) => text.len(),
        Value::List(items) => items.iter().map(text_bytes).sum(),
        Value::Dict(items) => items.iter().map(|(key, value)| text_bytes(key) + text_bytes(value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_from_1_on_is_refused() {
        let parsed = |key: &str, value: Value| Limits::parse(&Value::Dict([(key.into(), value)].into_iter().collect()));
        assert_eq!(parsed("labels", Value::Int(3)).map(|limits| limits.labels), Ok(3));
        for (key, value, code) in [
            ("labels", Value::Int(0), Code::InvalidNumber),
            ("labels", Value::Int(-1), Code::InvalidNumber),
            ("labels", Value::Bool(true), Code::WrongType),
            ("label", Value::Int(1), Code::UnknownKey),
        ] {
            assert_eq!(parsed(key, value).map_err(|error| error.code()), Err(code), "{key}");
        }
    }
}
