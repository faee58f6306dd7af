//! Values of JSON texts, as Python prints what `json.loads` makes of them, and as JSON on one line.

use std::collections::HashMap;
use std::ops::Range;

use arrow_schema::Field;

use super::conversion::Conversion;
use super::none::none;
use super::{number, quote};
use crate::error::{Code, Error, Result};
use crate::json_text;
use crate::json_value::{Decoded, Text, Token, Tokens};

/// Python converts integers of at most so many digits, unless a program sets another limit.
const MAX_DIGITS: usize = 4300;

/// Up to so many keys are compared one by one.
const FEW_KEYS: usize = 12;

/// Return true if a column holds texts of JSON, and its values are what they say.
pub fn is_json(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json")
}

/// The ranges of a key and its value in the output.
#[derive(Clone)]
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

/// A list or a dict that is being written.
struct Open {
    /// The position of the first byte after the bracket.
    start: usize,
    /// The number of members of the dicts around it.
    members: usize,
}

/// Append Python's `str` of the value of a JSON text.
///
/// # Errors
///
/// An error if the text isn't JSON, or if Python has no such text.
pub fn write_text_of_json(text: &str, out: &mut Vec<u8>) -> Result<()> {
    write(text, Conversion::Str, out)
}

/// Append the value of a JSON text.
///
/// # Errors
///
/// An error if the text isn't JSON, or if Python has no such text.
pub(super) fn write(text: &str, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let mut tokens = Tokens::new(text);
    let (mut open, mut members): (Vec<Open>, Vec<Member>) = (Vec::new(), Vec::new());
    let mut is_after_key = false;
    while let Some(token) = tokens.next()? {
        let is_end = matches!(token, Token::EndList | Token::EndDict);
        if !is_end && !is_after_key && open.last().is_some_and(|open| out.len() > open.start) {
            out.extend_from_slice(b", ");
        }
        is_after_key = false;
        match token {
            Token::Null => none(conversion, out),
            Token::Truth(truth) => out.extend_from_slice(match (truth, conversion.is_json()) {
                (true, false) => b"True",
                (false, false) => b"False",
                (true, true) => b"true",
                (false, true) => b"false",
            }),
            Token::Integer(digits) if conversion.is_json() => out.extend_from_slice(digits.as_bytes()),
            Token::Integer(digits) => integer(digits, out)?,
            Token::Float(number) if conversion.is_json() => out.extend_from_slice(number.as_bytes()),
            Token::Float(number) => number::float(number.parse().unwrap_or(f64::NAN), conversion, out),
            Token::NoNumber(value) => number::float(value, conversion, out),
            Token::Text(text) if open.is_empty() && conversion == Conversion::Str => whole(text, out)?,
            Token::Text(text) => string(text, conversion, out),
            Token::Key(key) => {
                let start = out.len();
                string(key, conversion, out);
                let end = out.len();
                out.extend_from_slice(b": ");
                members.push(Member { key: start..end, value: end + 2..end + 2 });
                is_after_key = true;
                continue;
            }
            Token::BeginList | Token::BeginDict => {
                out.push(if token == Token::BeginList { b'[' } else { b'{' });
                open.push(Open { start: out.len(), members: members.len() });
                continue;
            }
            Token::EndList => {
                open.pop();
                out.push(b']');
            }
            Token::EndDict => {
                if let Some(dict) = open.pop() {
                    without_repeated_keys(&members[dict.members..], dict.start, out);
                    members.truncate(dict.members);
                }
                out.push(b'}');
            }
        }
        // A value has ended: that of a key, if a dict is around it.
        if let (Some(around), Some(member)) = (open.last(), members.last_mut())
            && members_are_of(around, member)
        {
            member.value.end = out.len();
        }
    }
    Ok(())
}

/// Return true if a member is one of the container, and not of one around it.
fn members_are_of(container: &Open, member: &Member) -> bool {
    member.key.start >= container.start
}

/// Write the members of a dict anew if a key is repeated: the last value stands at the position of the first.
fn without_repeated_keys(members: &[Member], start: usize, out: &mut Vec<u8>) {
    let key = |member: &Member| &out[member.key.clone()];
    let repeats = if members.len() <= FEW_KEYS {
        members.iter().enumerate().any(|(n, member)| members[..n].iter().any(|other| key(other) == key(member)))
    } else {
        let mut seen = std::collections::HashSet::with_capacity(members.len());
        !members.iter().all(|member| seen.insert(key(member)))
    };
    if !repeats {
        return;
    }
    let (mut kept, mut indices): (Vec<Member>, HashMap<&[u8], usize>) = (Vec::new(), HashMap::new());
    for member in members {
        match indices.get(key(member)) {
            Some(index) => kept[*index].value = member.value.clone(),
            None => {
                indices.insert(key(member), kept.len());
                kept.push(member.clone());
            }
        }
    }
    let mut dict = Vec::new();
    for member in &kept {
        dict.extend_from_slice(if dict.is_empty() { b"" } else { b", " });
        dict.extend_from_slice(key(member));
        dict.extend_from_slice(b": ");
        dict.extend_from_slice(&out[member.value.clone()]);
    }
    out.truncate(start);
    out.extend_from_slice(&dict);
}

/// Append an integer as Python prints it.
fn integer(digits: &str, out: &mut Vec<u8>) -> Result<()> {
    let count = digits.len() - usize::from(digits.starts_with('-'));
    if count > MAX_DIGITS {
        let message = format!("an integer has {count} digits, and Python converts at most {MAX_DIGITS}");
        return Err(Error::render(Code::UnconvertibleValue, message));
    }
    out.extend_from_slice(if digits == "-0" { b"0" } else { digits.as_bytes() });
    Ok(())
}

/// Append a text that is the whole value.
fn whole(text: Text<'_>, out: &mut Vec<u8>) -> Result<()> {
    if let Some(text) = text.plain() {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let decoded = text.decoded();
    if let Some((position, half)) = decoded.halves.first() {
        let before = decoded.text[..*position].chars().count();
        let message = format!("its text holds half of a surrogate pair, \\u{half:04x}, after {before} characters");
        return Err(Error::render(Code::InvalidUnicode, message));
    }
    out.extend_from_slice(decoded.text.as_bytes());
    Ok(())
}

/// Append a text that stands in another value.
fn string(text: Text<'_>, conversion: Conversion, out: &mut Vec<u8>) {
    match (text.plain(), conversion.is_json()) {
        (Some(text), true) => {
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        (Some(text), false) => {
            if !quote::plain(text.as_bytes(), out) {
                quote::string(text, out);
            }
        }
        (None, is_json) => {
            let decoded = text.decoded();
            if is_json {
                out.push(b'"');
                pieces(&decoded, out, json_text::inside);
                out.push(b'"');
            } else {
                let quote = quote::quote_of(decoded.text.as_bytes());
                out.push(quote);
                pieces(&decoded, out, |piece, out| quote::inside(piece, quote, out));
                out.push(quote);
            }
        }
    }
}

/// Append the pieces of a text, with halves of surrogate pairs as escapes between them, as JSON and Python write them.
fn pieces(decoded: &Decoded, out: &mut Vec<u8>, write: impl Fn(&str, &mut Vec<u8>)) {
    let mut done = 0;
    for (position, half) in &decoded.halves {
        write(&decoded.text[done..*position], out);
        out.extend_from_slice(format!("\\u{half:04x}").as_bytes());
        done = *position;
    }
    write(&decoded.text[done..], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, conversion: Conversion) -> Result<String> {
        let mut out = b"before ".to_vec();
        write(text, conversion, &mut out)?;
        Ok(String::from_utf8(out).unwrap().split_off(7))
    }

    #[test]
    fn values_are_printed_as_python_prints_them_and_as_json() {
        for (text, printed, json) in [
            ("2", "2", "2"),
            ("-0", "0", "-0"),
            ("1E5", "100000.0", "1E5"),
            (" [1,2.50 , {}] ", "[1, 2.5, {}]", "[1, 2.50, {}]"),
            (r#""Paris""#, "Paris", r#""Paris""#),
            (r#"["it's", "\"", "\u00e9\n"]"#, r#"["it's", '"', 'é\n']"#, r#"["it's", "\"", "é\n"]"#),
            (
                r#"{"a": 1, "b": {"c": null}, "a": true}"#,
                "{'a': True, 'b': {'c': None}}",
                r#"{"a": true, "b": {"c": null}}"#,
            ),
            ("[NaN, -Infinity]", "[nan, -inf]", "[null, null]"),
            (r#"["\ud83d\ude00\udc00x"]"#, r"['😀\udc00x']", r#"["😀\udc00x"]"#),
            ("123456789012345678901234567890", "123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            assert_eq!(written(text, Conversion::Str).unwrap(), printed);
            assert_eq!(written(text, Conversion::Json).unwrap(), json);
        }
        for text in ["", "01", "1.", "[1,]", "{\"a\"}", "\"\t\"", "nul", "1 2", "\"\\x\"", "-", "\u{feff}1", "[", "\"a"]
        {
            assert_eq!(written(text, Conversion::Str).unwrap_err().code(), Code::UnconvertibleValue, "{text}");
        }
        assert_eq!(written(r#""\udc00""#, Conversion::Str).unwrap_err().code(), Code::InvalidUnicode);
        assert!(written(&"[".repeat(100_000), Conversion::Str).is_err());
        assert!(written(&"9".repeat(4301), Conversion::Str).is_err());
    }
}
