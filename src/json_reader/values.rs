//! JSON values: where they end, and their kinds.

use super::kinds::Kinds;
use super::strings;

/// A value with its position in a line.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub start: usize,
    pub end: usize,
    form: Form,
}

/// A value's form, as its first character shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A valid string without escapes.
    PlainText,
    /// A valid string with escapes.
    EscapedText,
    /// A string that stands for no text.
    FaultyText,
    /// An object or a list.
    Nested,
    /// A number, a word, or anything else without quotes and brackets.
    Bare,
}

impl Value {
    /// Return the kind of the value; `line` is what the value stands in.
    pub fn kind(&self, line: &[u8]) -> Kinds {
        match self.form {
            Form::PlainText | Form::EscapedText => Kinds::TEXT,
            Form::FaultyText | Form::Nested => Kinds::OTHER,
            Form::Bare => bare_kind(&line[self.start..self.end]),
        }
    }

    /// Return the bytes of the value.
    pub fn of<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        &line[self.start..self.end]
    }

    /// Append the text of a string; return false if the value is no valid string.
    pub fn write_text(&self, line: &[u8], out: &mut Vec<u8>) -> bool {
        match self.form {
            Form::PlainText => out.extend_from_slice(&line[self.start + 1..self.end - 1]),
            Form::EscapedText => strings::decode(&line[self.start + 1..self.end - 1], out),
            _ => return false,
        }
        true
    }
}

/// Return the value that begins at `start`; None if its end can't be found.
#[inline]
pub(super) fn value(line: &[u8], start: usize) -> Option<Value> {
    let (end, form) = match line.get(start)? {
        b'"' => {
            let string = strings::scan(line, start)?;
            let form = match (string.is_valid, string.is_escaped) {
                (true, false) => Form::PlainText,
                (true, true) => Form::EscapedText,
                (false, _) => Form::FaultyText,
            };
            (string.end, form)
        }
        b'{' | b'[' => (nested_end(line, start)?, Form::Nested),
        _ => (bare_end(line, start), Form::Bare),
    };
    (start < end).then_some(Value { start, end, form })
}

/// Return the end of the object or list that begins at `start`.
fn nested_end(line: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut position) = (0_usize, start);
    loop {
        match line.get(position)? {
            b'"' => {
                position = strings::end(line, position)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        position += 1;
        if depth == 0 {
            return Some(position);
        }
    }
}

fn bare_end(line: &[u8], start: usize) -> usize {
    let is_end =
        |byte: &u8| matches!(byte, b',' | b':' | b'"' | b'{' | b'[' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
    line[start..].iter().position(is_end).map_or(line.len(), |length| start + length)
}

fn bare_kind(token: &[u8]) -> Kinds {
    match token {
        b"null" => Kinds::NULL,
        b"true" | b"false" => Kinds::BOOL,
        _ => number_kind(token).unwrap_or(Kinds::OTHER),
    }
}

/// Return the kind of a number; None if the token is none, or one that no column of numbers holds.
fn number_kind(token: &[u8]) -> Option<Kinds> {
    let digits = |from: usize| token[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut position = usize::from(token.first() == Some(&b'-'));
    let whole = digits(position);
    if whole == 0 || (whole > 1 && token[position] == b'0') {
        return None;
    }
    position += whole;
    if position == token.len() {
        return integer(token).map(|_| Kinds::INTEGER);
    }
    if token[position] == b'.' {
        let fraction = digits(position + 1);
        if fraction == 0 {
            return None;
        }
        position += 1 + fraction;
    }
    if matches!(token.get(position), Some(b'e' | b'E')) {
        position += 1 + usize::from(matches!(token.get(position + 1), Some(b'+' | b'-')));
        let exponent = digits(position.min(token.len()));
        if exponent == 0 {
            return None;
        }
        position += exponent;
    } else if whole < 300 {
        return (position == token.len()).then_some(Kinds::FLOAT);
    }
    // What is written like this may be too large for a float.
    (position == token.len() && float(token)?.is_finite()).then_some(Kinds::FLOAT)
}

/// Return the whole number of a token, if it fits 64 bits.
pub(super) fn integer(token: &[u8]) -> Option<i64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// Return the float of a token.
pub(super) fn float(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<Kinds> {
        let value = value(text.as_bytes(), 0)?;
        assert_eq!(value.end, text.len());
        Some(value.kind(text.as_bytes()))
    }

    #[test]
    fn each_value_has_its_kind() {
        for (wanted, texts) in [
            (Kinds::NULL, "null"),
            (Kinds::BOOL, "true false"),
            (Kinds::INTEGER, "0 -0 7 -12 9223372036854775807 -9223372036854775808"),
            (Kinds::FLOAT, "0.0 -0.0 1.5 1e5 1E+5 1.5e-3 0e0 1e-999 1e308"),
            (Kinds::TEXT, r#""" "x" "\u00e9" "\"""#),
            (Kinds::OTHER, r#"{} [] {"a":"}"} [[{}]] "\x" "\ud800" NaN Infinity -Infinity 9223372036854775808 1e999"#),
            (Kinds::OTHER, "01 1. .5 - -x +1 1e 1e+ 1.e5 tru nul 1x 0x1 [1} {]"),
        ] {
            for text in texts.split(' ') {
                assert_eq!(kind(text), Some(wanted), "{text}");
            }
        }
        for open in ["", "[", "{\"a\"", "\"", "[\"]", ",", "}"] {
            assert!(value(open.as_bytes(), 0).is_none(), "{open}");
        }
    }
}
