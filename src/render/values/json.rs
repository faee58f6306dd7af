//! Messages as JSON, written as Python's `json.dumps(..., ensure_ascii=False)` writes them.

use crate::error::{Code, Error, Result, excerpt};
use crate::json_text;
use crate::python_text::float_text;
use crate::value::Value;

/// Write a JSON string.
pub fn string(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Write the text of a JSON string without its quotes.
pub fn escape(text: &str, out: &mut String) {
    json_text::escape(text, |piece| out.push_str(piece));
}

/// Return true if JSON has a form for a value.
///
/// # Errors
///
/// `RenderError` for what Python's `json.dumps` refuses too: dates, decimals, bytes, objects.
pub fn check(value: &Value) -> Result<()> {
    match value {
        Value::Other(text) => Err(Error::render(Code::NoJsonForm, format!("JSON has no form for {}", excerpt(text)))),
        Value::List(items) => items.iter().try_for_each(check),
        Value::Dict(items) => items.iter().try_for_each(|(_, item)| check(item)),
        _ => Ok(()),
    }
}

/// Write any value.
pub fn value(value_: &Value, out: &mut String) {
    match value_ {
        Value::None => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(f) if f.is_nan() => out.push_str("NaN"),
        Value::Float(f) if f.is_infinite() => out.push_str(if *f > 0.0 { "Infinity" } else { "-Infinity" }),
        Value::Float(f) => out.push_str(&float_text(*f)),
        Value::Big(digits) => out.push_str(digits),
        Value::Str(s) | Value::Other(s) => string(s, out),
        Value::List(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                value(item, out);
            }
            out.push(']');
        }
        Value::Dict(items) => {
            out.push('{');
            for (n, (key, item)) in items.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                match key {
                    Value::Str(s) => string(s, out),
                    Value::None => string("null", out),
                    Value::Bool(b) => string(if *b { "true" } else { "false" }, out),
                    other => string(&other.to_string(), out),
                }
                out.push_str(": ");
                value(item, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_others_stay() {
        let mut out = String::new();
        string("a\"\\\n\u{1}é\u{2028}", &mut out);
        assert_eq!(out, "\"a\\\"\\\\\\n\\u0001é\u{2028}\"");
    }
}
