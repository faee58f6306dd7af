//! Which of a request's values are what it says: what is measured of messages, beside who speaks and how.

use std::sync::Arc;

use crate::template::keys;
use crate::value::Value;

/// What stands under one key of a message or a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A text, or a list of parts.
    Whole,
    /// A text, or an object whose text stands under this key.
    Within(&'static str),
}

/// Whether what stands under `key` of a message, or of a part of one, is said.
pub fn said_under(key: &str) -> Option<Said> {
    match key {
        keys::PROMPT | keys::PROMPT_MM | keys::CONTENT | keys::PARTS | "text" => Some(Said::Whole),
        "image_url" | "video_url" | "audio_url" => Some(Said::Within("url")),
        "input_audio" => Some(Said::Within("data")),
        "file" => Some(Said::Within("file_data")),
        _ => None,
    }
}

/// How many bytes and characters of a request, a message or a part are said.
pub fn said_length(value: &Value) -> (usize, usize) {
    let add = |all: (usize, usize), one: (usize, usize)| (all.0 + one.0, all.1 + one.1);
    match value {
        Value::Str(text) => (text.len(), text.chars().count()),
        Value::List(items) => items.iter().map(said_length).fold((0, 0), add),
        Value::Dict(items) => {
            let said = |(key, value): &(Value, Value)| match (said_under(key.as_str()?)?, value) {
                (Said::Within(inner), Value::Dict(_)) => value.get(inner).map(said_length),
                (_, value) => Some(said_length(value)),
            };
            items.iter().filter_map(said).fold((0, 0), add)
        }
        _ => (0, 0),
    }
}

/// What a part of a message says: a text's own, else the first text that it has.
pub fn said_text(part: &Value) -> Option<&Arc<str>> {
    let own = part.get("text").filter(|_| part.get(keys::TYPE).and_then(Value::as_str) == Some(keys::TEXT));
    match part {
        Value::Str(text) => Some(text),
        Value::Dict(items) => own.and_then(Value::as_text).or_else(|| {
            items.iter().find_map(|(key, value)| match (said_under(key.as_str()?)?, value) {
                (Said::Within(inner), Value::Dict(_)) => value.get(inner)?.as_text(),
                _ => value.as_text(),
            })
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_types_are_not_said() {
        let dict = |items: &[(&str, Value)]| {
            Value::Dict(items.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
        };
        let image = dict(&[("url", "http".into()), ("detail", "high".into())]);
        let parts = Value::List(vec![
            dict(&[("type", "text".into()), ("text", "né".into())]),
            dict(&[("type", "image_url".into()), ("image_url", image), ("text", Value::None)]),
        ]);
        let message = dict(&[("role", "user".into()), ("content", parts)]);
        assert_eq!(said_length(&Value::List(vec![message, "ab".into()])), (9, 8));
    }

    #[test]
    fn a_part_says_one_text() {
        let dict = |items: &[(&str, Value)]| {
            Value::Dict(items.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
        };
        let url = dict(&[("url", "u".into())]);
        let said = |part: &Value| said_text(part).map(ToString::to_string);
        assert_eq!(
            said(&dict(&[("image_url", url.clone()), ("type", "text".into()), ("text", "t".into())])),
            Some("t".into())
        );
        assert_eq!(
            said(&dict(&[("type", "image_url".into()), ("text", Value::None), ("image_url", url)])),
            Some("u".into())
        );
        assert_eq!(said(&dict(&[("type", "image".into()), ("image_url", "v".into())])), Some("v".into()));
        assert_eq!(said(&"bare".into()), Some("bare".into()));
        assert_eq!(said(&dict(&[("type", "x".into())])), None);
    }
}
