//! The keys of a template's dict, and the values that all families share.

use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;
use crate::value::Value;

/// The keys of a `PromptTemplate`'s dict.
pub const PROMPT_KEYS: &[&str] = &["type", "template", "ice_token", "sep_token"];
/// The keys of a `PromptTemplate`'s dict if columns have tokens.
const COLUMN_TOKEN_KEYS: &[&str] =
    &["type", "template", "column_token_map", "selected_column_name", "selected_column_map", "ice_token", "sep_token"];
/// The keys of a `RawPromptTemplate`'s dict.
pub const RAW_KEYS: &[&str] = &["type", "messages", "format_variables", "ice_token"];

/// Return the keys that `PromptTemplate` and similar classes take in a dialect.
pub(super) fn prompt_keys(dialect: Dialect) -> &'static [&'static str] {
    if dialect.column_tokens() { COLUMN_TOKEN_KEYS } else { PROMPT_KEYS }
}

/// Check that a dict has no other keys.
///
/// # Errors
///
/// `TemplateError` at `path` for the first key that isn't `allowed`.
pub(super) fn check_keys(items: &[(Value, Value)], allowed: &[&str], path: &str, family: &str) -> Result<()> {
    for (key, _) in items {
        if !key.as_str().is_some_and(|k| allowed.contains(&k)) {
            return Err(Error::template(
                Code::UnknownKey,
                path,
                format!(
                    "{family} takes no {key}; it takes {}{}",
                    allowed[1..].join(", "),
                    did_you_mean(key.as_str().unwrap_or_default(), allowed.iter().copied())
                ),
            ));
        }
    }
    Ok(())
}

/// Return the last dotted part of a `type`: a class or its name, as configurations write it.
///
/// # Errors
///
/// `TemplateError` at `path` if it isn't a string.
pub fn family_name(value: &Value, path: &str) -> Result<String> {
    match value.as_str() {
        Some(s) => Ok(s.rsplit('.').next().unwrap_or(s).to_owned()),
        None => Err(Error::template(
            Code::WrongType,
            path,
            format!("expected a class or its name, found {}", value.type_name()),
        )),
    }
}

/// Return a value that is a string, None or absent.
///
/// # Errors
///
/// `TemplateError` at `path.key` for any other type.
pub(super) fn optional_string(dict: &Value, key: &str, path: &str) -> Result<Option<String>> {
    match dict.get(key) {
        None | Some(Value::None) => Ok(None),
        Some(Value::Str(s)) => Ok(Some(s.to_string())),
        Some(other) => Err(Error::template(
            Code::WrongType,
            format!("{path}.{key}"),
            format!("expected a str or None, found {}", other.type_name()),
        )),
    }
}
