//! The fields of a line.

use super::strings;
use super::values::{Value, value};

/// The column of a line that is a list of messages.
const MESSAGES: &[u8] = b"messages";
/// The keys of which a message has one.
const ROLE_KEYS: [&[u8]; 2] = [b"role", b"from"];

/// A field of a row.
pub(super) struct Field<'a> {
    /// The name as it stands between the quotes.
    pub name: &'a [u8],
    /// True if the name has escapes.
    pub is_escaped: bool,
    /// The value.
    pub value: Value,
}

/// A line without a row's structure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Call `visit` with each field of a line, in their order.
///
/// # Errors
///
/// [`Broken`] if the line is neither an object nor a list of messages, or its fields can't be separated; or an error of
/// `visit`.
#[inline]
pub(super) fn fields<'a>(line: &'a [u8], mut visit: impl FnMut(Field<'a>) -> Result<(), Broken>) -> Result<(), Broken> {
    let start = after_blanks(line, 0);
    if line.get(start) != Some(&b'{') {
        let value = conversation(line, start).ok_or(Broken)?;
        return visit(Field { name: MESSAGES, is_escaped: false, value });
    }
    let mut position = after_blanks(line, start + 1);
    if line.get(position) == Some(&b'}') {
        return at_end(line, position + 1);
    }
    loop {
        if line.get(position) != Some(&b'"') {
            return Err(Broken);
        }
        let name = strings::scan(line, position).ok_or(Broken)?;
        let colon = after_blanks(line, name.end);
        if line.get(colon) != Some(&b':') || !name.is_valid {
            return Err(Broken);
        }
        let value = value(line, after_blanks(line, colon + 1)).ok_or(Broken)?;
        visit(Field { name: &line[position + 1..name.end - 1], is_escaped: name.is_escaped, value })?;
        position = after_blanks(line, value.end);
        match line.get(position) {
            Some(b',') => position = after_blanks(line, position + 1),
            Some(b'}') => return at_end(line, position + 1),
            _ => return Err(Broken),
        }
    }
}

fn at_end(line: &[u8], end: usize) -> Result<(), Broken> {
    if after_blanks(line, end) == line.len() { Ok(()) } else { Err(Broken) }
}

/// Return the index of the first byte from `position` on that isn't blank.
#[inline]
pub(super) fn after_blanks(line: &[u8], mut position: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = line.get(position) {
        position += 1;
    }
    position
}

/// Return the list of messages that is all of the line.
fn conversation(line: &[u8], start: usize) -> Option<Value> {
    let list = value(line, start).filter(|_| line.get(start) == Some(&b'['))?;
    at_end(line, list.end).ok()?;
    let mut position = after_blanks(line, start + 1);
    loop {
        let message = value(line, position).filter(|_| line.get(position) == Some(&b'{'))?;
        let mut has_role = false;
        fields(message.of(line), |field| {
            has_role |= ROLE_KEYS.contains(&field.name);
            Ok(())
        })
        .ok()?;
        position = after_blanks(line, message.end);
        match line.get(position).filter(|_| has_role)? {
            b',' => position = after_blanks(line, position + 1),
            b']' => return (position + 1 == list.end).then_some(list),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_text(line: &str) -> Option<String> {
        let mut out = String::new();
        let line = line.as_bytes();
        fields(line, |field| {
            for part in [field.name, b"=", field.value.of(line), b";"] {
                out.push_str(&String::from_utf8_lossy(part));
            }
            Ok(())
        })
        .ok()?;
        Some(out)
    }

    #[test]
    fn fields_are_separated() {
        assert_eq!(
            fields_text(r#" { "a" : 1 ,"b":[{"c":"}"}],"a":"\"","d":nul } "#).unwrap(),
            r#"a=1;b=[{"c":"}"}];a="\"";d=nul;"#
        );
        assert_eq!(fields_text("{ }").unwrap(), "");
        assert_eq!(
            fields_text(r#"[{"role":"user"},{"from":1}] "#).unwrap(),
            r#"messages=[{"role":"user"},{"from":1}];"#
        );
        for broken in [
            "",
            "{",
            "}",
            "[]",
            "1",
            "null",
            "\"a\"",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\":1}{}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":1 2}",
            "{\"a\":[}",
            "{\"a\":\"}",
            "{\"\\ud800\":1}",
            "[{\"q\":1}]",
            "[{\"role\":1}",
            "[{\"role\":1},]",
            "[{\"role\":1}]]",
            "[1]",
            "[{\"role\":1} {\"role\":1}]",
        ] {
            assert_eq!(fields_text(broken), None, "{broken}");
        }
    }
}
