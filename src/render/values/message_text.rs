//! Finds the texts among a request's values: the values that measures of messages count, other than roles and types.

use std::sync::Arc;

use crate::template::keys;
use crate::value::Value;

/// The location of the text under a key of a message or a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLocation {
    /// A text, or a list of parts.
    Whole,
    /// A text, or an object that has the text under this key.
    Within(&'static str),
}

/// Return the location of the text under `key` of a message, or of a part of a message; None if the key holds no text.
pub fn text_location(key: &str) -> Option<TextLocation> {
    match key {
        keys::PROMPT | keys::PROMPT_MM | keys::CONTENT | keys::PARTS | "text" => Some(TextLocation::Whole),
        "image_url" | "video_url" | "audio_url" => Some(TextLocation::Within("url")),
        "input_audio" => Some(TextLocation::Within("data")),
        "file" => Some(TextLocation::Within("file_data")),
        _ => None,
    }
}

/// Return the number of bytes and characters of the texts of a request, a message or a part.
pub fn text_length(value: &Value) -> (usize, usize) {
    let add = |all: (usize, usize), more: (usize, usize)| (all.0 + more.0, all.1 + more.1);
    match value {
        Value::Str(text) => (text.len(), text.chars().count()),
        Value::List(items) => items.iter().map(text_length).fold((0, 0), add),
        Value::Dict(items) => {
            let entry_length = |(key, value): &(Value, Value)| match (text_location(key.as_str()?)?, value) {
                (TextLocation::Within(inner), Value::Dict(_)) => value.get(inner).map(text_length),
                (_, value) => Some(text_length(value)),
            };
            items.iter().filter_map(entry_length).fold((0, 0), add)
        }
        _ => (0, 0),
    }
}

/// Return the text of a part of a message: the text of a text part, else the first text in the part.
pub fn part_text(part: &Value) -> Option<&Arc<str>> {
    let text_key = part.get("text").filter(|_| part.get(keys::TYPE).and_then(Value::as_str) == Some(keys::TEXT));
    match part {
        Value::Str(text) => Some(text),
        Value::Dict(items) => text_key.and_then(Value::as_text).or_else(|| {
            items.iter().find_map(|(key, value)| match (text_location(key.as_str()?)?, value) {
                (TextLocation::Within(inner), Value::Dict(_)) => value.get(inner)?.as_text(),
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
    fn roles_and_types_are_no_texts() {
        let dict = |items: &[(&str, Value)]| {
            Value::Dict(items.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
        };
        let image = dict(&[("url", "http".into()), ("detail", "high".into())]);
        let parts = Value::List(vec![
            dict(&[("type", "text".into()), ("text", "né".into())]),
            dict(&[("type", "image_url".into()), ("image_url", image), ("text", Value::None)]),
        ]);
        let message = dict(&[("role", "user".into()), ("content", parts)]);
        assert_eq!(text_length(&Value::List(vec![message, "ab".into()])), (9, 8));
    }

    #[test]
    fn a_part_has_a_single_text() {
        let dict = |items: &[(&str, Value)]| {
            Value::Dict(items.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
        };
        let url = dict(&[("url", "u".into())]);
        let text_of = |part: &Value| part_text(part).map(ToString::to_string);
        assert_eq!(
            text_of(&dict(&[("image_url", url.clone()), ("type", "text".into()), ("text", "t".into())])),
            Some("t".into())
        );
        assert_eq!(
            text_of(&dict(&[("type", "image_url".into()), ("text", Value::None), ("image_url", url)])),
            Some("u".into())
        );
        assert_eq!(text_of(&dict(&[("type", "image".into()), ("image_url", "v".into())])), Some("v".into()));
        assert_eq!(text_of(&"bare".into()), Some("bare".into()));
        assert_eq!(text_of(&dict(&[("type", "x".into())])), None);
    }
}
