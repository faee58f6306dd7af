//! Limits on the sizes of a configuration and its data.

use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;
use crate::value::Value;

/// Limits that no real configuration reaches. They keep a kilobyte of templates, or a chain of values that name other
/// values, from asking for a terabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of all texts of the configuration.
    pub template_bytes: usize,
    /// The depth of nested dicts and lists in the configuration; at most 100.
    pub nesting: usize,
    /// The labels of a sample.
    pub labels: usize,
    /// The bytes of the text of one request.
    pub prompt_bytes: usize,
    /// The bytes of the texts of one batch, and of the index from requests to fragments.
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
/// A request of more bytes is checked before it is bound.
const CERTAIN_BYTES: usize = 1 << 20;
/// A text may be longer by this factor while it is filled in than at the end.
const FILLING_TIMES: usize = 8;
/// For more bytes, it is tested whether there is enough memory.
const PROBED_BYTES: usize = 1 << 24;
/// The code that reads a configuration is recursive.
const MAX_NESTING: usize = 100;
const KEYS: [&str; 5] = ["template_bytes", "nesting", "labels", "prompt_bytes", "batch_bytes"];

impl Limits {
    /// Read the constructor's argument. For None, and for keys that aren't given, the defaults apply.
    ///
    /// # Errors
    ///
    /// `TemplateError` for another key, or a value that isn't a positive number.
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
            let number = match given {
                Value::Int(number) => *number,
                Value::Big(_) => {
                    let message = format!("expected a number up to {}, which nothing reaches", i64::MAX);
                    return Err(Error::template(Code::InvalidNumber, path, message));
                }
                other => {
                    let message = format!("expected an int, found {}", other.type_name());
                    return Err(Error::template(Code::WrongType, path, message));
                }
            };
            let most = if name == "nesting" { MAX_NESTING } else { usize::MAX };
            *field = usize::try_from(number).ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
                let end = if most == usize::MAX { "on".to_owned() } else { format!("to {most}") };
                Error::template(Code::InvalidNumber, path, format!("expected a number from 1 {end}, found {number}"))
            })?;
        }
        Ok(limits)
    }

    /// Refuse a configuration whose texts are too large, or whose nesting is too deep. `parts` are its arguments by
    /// name.
    ///
    /// # Errors
    ///
    /// `TemplateError` at the largest or the deepest argument.
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

    /// Refuse too many labels; `error` makes the error of a message.
    ///
    /// # Errors
    ///
    /// The error that `error` makes.
    pub fn check_labels(&self, labels: usize, error: impl FnOnce(String) -> Error) -> Result<()> {
        if labels <= self.labels {
            return Ok(());
        }
        Err(error(format!(
            "there are {labels} labels, and each sample has a request for each; limits={{\"labels\": {}}} allows no more",
            self.labels
        )))
    }

    /// Return the limit for a text while columns are filled in one after the other. It is higher than that for the
    /// final text, because placeholders in values may be replaced by shorter texts.
    pub fn filling_bytes(&self) -> usize {
        let most = self.prompt_bytes.saturating_mul(FILLING_TIMES).max(CERTAIN_BYTES);
        most.min(self.prompt_bytes.max(Self::default().prompt_bytes))
    }

    /// Return the error of a request that is too long. It doesn't have the request's length: filling stops when the
    /// limit is passed, and that point depends on the layout of a column's texts.
    pub fn prompt_too_long(&self) -> Error {
        let message = format!(
            "the prompt would have more than {0} bytes; limits={{\"prompt_bytes\": {0}}} allows no more",
            self.prompt_bytes
        );
        Error::render(Code::LimitExceeded, message)
    }

    /// Refuse a request that is too long for every sample, or for which there is no memory.
    ///
    /// # Errors
    ///
    /// `TemplateError` at the prompt template.
    pub fn check_request(&self, bytes: usize) -> Result<()> {
        let path = "prompt_template";
        // Placeholders are counted as they are spelt. Small requests are measured during rendering.
        if bytes > self.prompt_bytes.max(CERTAIN_BYTES) {
            let message = format!(
                "every prompt would have {bytes} bytes or more; limits={{\"prompt_bytes\": {}}} allows no more",
                self.prompt_bytes
            );
            return Err(Error::template(Code::LimitExceeded, path, message));
        }
        // Binding copies the request once more, and a failed allocation there would end the process.
        if bytes > PROBED_BYTES && Vec::<u8>::new().try_reserve_exact(2 * bytes).is_err() {
            return Err(Error::template(Code::OutOfMemory, path, format!("there is no memory for {bytes} bytes")));
        }
        Ok(())
    }

    /// Return the error of a batch that is too large.
    pub fn batch_too_large(&self) -> Error {
        let message = format!(
            "the batch's prompts would take more than {0} bytes; limits={{\"batch_bytes\": {0}}} allows no more: give \
             smaller batches, or a higher limit",
            self.batch_bytes
        );
        Error::render(Code::LimitExceeded, message)
    }

    /// Refuse the memory that a batch needs besides its texts: `each` bytes for each of `count` requests, examples or
    /// the like.
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

/// Return the depth of nested dicts and lists.
fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Dict(items) => 1 + items.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Return the bytes of the texts in a value.
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
