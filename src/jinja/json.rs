//! Values as Python's `json.dumps` writes them.

use std::io::Write as _;

use super::scratch::Scratch;
use super::value::{Bail, Value, Valued};
use crate::json_value::{Text, Token, Tokens};
use crate::{json_text, python_text};

/// Return JSON with escapes for the four characters that mean something to HTML, as Jinja2's own `tojson` writes it.
pub(super) fn escaped<'r>(json: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let Some(first) = json_text::next_of_html(json, 0) else { return Ok(json) };
    scratch.text(|out| {
        let (mut start, mut special) = (0, Some(first));
        while let Some(index) = special {
            out.extend_from_slice(&json[start..index]);
            out.extend_from_slice(match json[index] {
                b'<' => b"\\u003c",
                b'>' => b"\\u003e",
                b'&' => b"\\u0026",
                _ => b"\\u0027",
            });
            start = index + 1;
            special = json_text::next_of_html(json, start);
        }
        out.extend_from_slice(&json[start..]);
        Ok(())
    })
}

/// The arguments of `json.dumps` that change its layout.
pub(super) struct Layout<'r> {
    /// The indentation of each level. All is on one line if there is none.
    pub(super) indent: Option<Vec<u8>>,
    pub(super) sort_keys: bool,
    pub(super) ensure_ascii: bool,
    pub(super) item_separator: &'r [u8],
    pub(super) key_separator: &'r [u8],
}

impl<'r> Layout<'r> {
    /// Read the arguments of `json.dumps` that are given: indent, `sort_keys`, `ensure_ascii` and separators.
    pub(super) fn of(arguments: &[Value<'r>]) -> Valued<Self> {
        let argument = |index: usize| arguments.get(index).copied().unwrap_or(Value::None);
        let flag = |index: usize, default: bool| arguments.get(index).map_or(Ok(default), |value| value.bool());
        let indent = match argument(0) {
            Value::None => None,
            Value::Str(text) => Some(text.to_vec()),
            // The width is limited because each line has it.
            Value::Int(width @ 0..=64) => Some(vec![b' '; width as usize]),
            _ => return Err(Bail::VALUE),
        };
        let (item_separator, key_separator) = match argument(3) {
            Value::None if indent.is_some() => (&b","[..], &b": "[..]),
            Value::None => (&b", "[..], &b": "[..]),
            given => {
                let given = given.list()?;
                if given.len() != 2 {
                    return Err(Bail::VALUE);
                }
                (given.get(0).str()?, given.get(1).str()?)
            }
        };
        Ok(Self { indent, sort_keys: flag(1, false)?, ensure_ascii: flag(2, true)?, item_separator, key_separator })
    }

    /// Append a value that is nested `level` levels deep.
    pub(super) fn write(&self, value: Value, level: usize, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        let start = out.len();
        match value {
            Value::None => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
            Value::Float(value) if value.is_nan() => out.extend_from_slice(b"NaN"),
            Value::Float(value) if value.is_infinite() => {
                out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
            }
            Value::Float(value) => python_text::write_float(value, out),
            Value::Str(text) => self.string(super::text::utf8(text)?, out),
            Value::Record(record, row) => {
                out.push(b'{');
                for n in 0..record.len() {
                    let index = if self.sort_keys { record.sorted()[n] } else { n };
                    self.item(n, level, out, scratch)?;
                    self.string(&record.names()[index], out);
                    out.extend_from_slice(self.key_separator);
                    self.write(record.fields()[index].value(row), level + 1, out, scratch)?;
                }
                return self.end(b'}', record.len() == 0, level, out, scratch);
            }
            Value::Other(..) => return Err(Bail::VALUE),
            list => {
                let list = list.list()?;
                out.push(b'[');
                for (n, item) in list.iter().enumerate() {
                    self.item(n, level, out, scratch)?;
                    self.write(item, level + 1, out, scratch)?;
                }
                return self.end(b']', list.len() == 0, level, out, scratch);
            }
        }
        scratch.spend(out.len() - start)
    }

    /// Append the value of a JSON text that `json.dumps` wrote, nested `level` levels deep; keys keep their order.
    pub(super) fn rewrite(&self, json: &str, level: usize, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        let mut tokens = Tokens::new(json);
        // The number of items so far of each list and dict around the token.
        let mut around: Vec<usize> = Vec::new();
        let mut is_after_key = false;
        while let Some(token) = tokens.next().map_err(|_| Bail::VALUE)? {
            let start = out.len();
            if let Token::EndList | Token::EndDict = token {
                let items = around.pop().ok_or(Bail::VALUE)?;
                let close = if token == Token::EndList { b']' } else { b'}' };
                self.end(close, items == 0, level + around.len(), out, scratch)?;
                continue;
            }
            let depth = around.len();
            if let (Some(items), false) = (around.last_mut(), is_after_key) {
                self.item(*items, level + depth - 1, out, scratch)?;
                *items += 1;
            }
            is_after_key = false;
            match token {
                Token::Key(key) => {
                    self.text(key, out)?;
                    out.extend_from_slice(self.key_separator);
                    is_after_key = true;
                }
                Token::Text(text) => self.text(text, out)?,
                Token::Integer(number) | Token::Float(number) => out.extend_from_slice(number.as_bytes()),
                Token::NoNumber(number) => self.write(Value::Float(number), 0, out, scratch)?,
                Token::Null => out.extend_from_slice(b"null"),
                Token::Truth(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
                Token::BeginList | Token::BeginDict => {
                    out.push(if token == Token::BeginList { b'[' } else { b'{' });
                    around.push(0);
                }
                Token::EndList | Token::EndDict => {}
            }
            scratch.spend(out.len() - start)?;
        }
        Ok(())
    }

    /// Append a text of JSON.
    fn text(&self, text: Text, out: &mut Vec<u8>) -> Valued<()> {
        if let Some(plain) = text.plain() {
            self.string(plain, out);
            return Ok(());
        }
        let decoded = text.decoded();
        if !decoded.halves.is_empty() {
            return Err(Bail::VALUE);
        }
        self.string(&decoded.text, out);
        Ok(())
    }

    /// Append the separator and the new line before an item.
    fn item(&self, n: usize, level: usize, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        if n > 0 {
            out.extend_from_slice(self.item_separator);
        }
        self.line(level + 1, out, scratch)
    }

    fn end(&self, close: u8, empty: bool, level: usize, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        if !empty {
            self.line(level, out, scratch)?;
        }
        out.push(close);
        scratch.spend(2)
    }

    fn line(&self, level: usize, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        let Some(indent) = &self.indent else { return Ok(()) };
        scratch.spend(1 + indent.len() * level)?;
        out.push(b'\n');
        for _ in 0..level {
            out.extend_from_slice(indent);
        }
        Ok(())
    }

    /// Append a text.
    pub(super) fn string(&self, text: &str, out: &mut Vec<u8>) {
        if !self.ensure_ascii || text.bytes().fold(0, |any, byte| any | u8::from(byte >= 0x7f)) == 0 {
            return json_text::string(text, out);
        }
        out.push(b'"');
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.bytes().position(|byte| byte >= 0x7f).unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            json_text::inside(plain, out);
            let mut chars = after.chars();
            if let Some(c) = chars.next() {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing into a vector can't fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            rest = chars.as_str();
        }
        out.push(b'"');
    }
}
