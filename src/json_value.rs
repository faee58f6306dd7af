//! JSON texts, read as Python's `json.loads` reads them: token by token, checked, without recursion.

use crate::error::{Code, Error, Result};
use crate::json_text::{Escaped, next_special, unescaped};

/// Values nested deeper are refused; Python's own reader stops at its recursion limit, which is a little more.
const MAX_DEPTH: usize = 900;

/// A token of a JSON text: a plain value, a key, or the beginning or end of a list or dict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Truth(bool),
    /// An integer, as it is written.
    Integer(&'a str),
    /// A number with a fraction or an exponent, as it is written.
    Float(&'a str),
    /// `NaN`, `Infinity` or `-Infinity`, which Python writes and reads, though JSON has none.
    NoNumber(f64),
    /// A string.
    Text(Text<'a>),
    /// The key of the value that comes next.
    Key(Text<'a>),
    /// `[`.
    BeginList,
    /// `]`.
    EndList,
    /// `{`.
    BeginDict,
    /// `}`.
    EndDict,
}

/// A string in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text<'a> {
    /// The bytes between the quotes.
    raw: &'a str,
    /// True if there is an escape among them.
    escaped: bool,
}

/// A string without its escapes.
#[derive(Debug, Default, PartialEq)]
pub struct Decoded {
    /// The text without halves of surrogate pairs.
    pub text: String,
    /// The halves that are no pairs, each with its position in `text`.
    pub halves: Vec<(usize, u16)>,
}

impl<'a> Text<'a> {
    /// Return the text, if it is written without escapes.
    pub fn plain(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.raw)
    }

    /// Return the text that the escapes stand for.
    pub fn decoded(self) -> Decoded {
        let mut out = Decoded::default();
        let mut rest = self.raw;
        while let Some(index) = memchr::memchr(b'\\', rest.as_bytes()) {
            out.text.push_str(&rest[..index]);
            let (length, escaped) = unescaped(&rest.as_bytes()[index..]);
            match escaped {
                Some(Escaped::Character(character)) => out.text.push(character),
                Some(Escaped::Half(half)) => out.halves.push((out.text.len(), half)),
                None => {}
            }
            rest = &rest[index + length..];
        }
        out.text.push_str(rest);
        out
    }
}

enum Next {
    Value,
    ItemOrEnd,
    Key,
    KeyOrEnd,
    AfterValue,
}

/// Reads the tokens of one text.
pub struct Tokens<'a> {
    text: &'a str,
    position: usize,
    next: Next,
    /// True for each dict, false for each list that is open.
    open: Vec<bool>,
}

impl<'a> Tokens<'a> {
    /// Begin at the start of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, position: 0, next: Next::Value, open: Vec::new() }
    }

    /// Return the next token; None at the end of the text.
    ///
    /// # Errors
    ///
    /// `RenderError` if the text isn't JSON, or is nested too deep.
    pub fn next(&mut self) -> Result<Option<Token<'a>>> {
        loop {
            self.skip_blanks();
            let is_dict = self.open.last().copied();
            match (&self.next, is_dict, self.peek()) {
                (Next::ItemOrEnd, _, Some(b']'))
                | (Next::KeyOrEnd, _, Some(b'}'))
                | (Next::AfterValue, Some(false), Some(b']'))
                | (Next::AfterValue, Some(true), Some(b'}')) => {
                    self.position += 1;
                    self.open.pop();
                    self.next = Next::AfterValue;
                    return Ok(Some(if is_dict == Some(true) { Token::EndDict } else { Token::EndList }));
                }
                (Next::Value | Next::ItemOrEnd, ..) => return self.value().map(Some),
                (Next::Key | Next::KeyOrEnd, ..) => return self.key().map(Some),
                (Next::AfterValue, Some(is_dict), Some(b',')) => {
                    self.position += 1;
                    self.next = if is_dict { Next::Key } else { Next::Value };
                }
                (Next::AfterValue, None, None) => return Ok(None),
                (Next::AfterValue, None, _) => return Err(self.fault("expected its end")),
                (Next::AfterValue, Some(true), _) => return Err(self.fault("expected ',' or '}'")),
                (Next::AfterValue, Some(false), _) => return Err(self.fault("expected ',' or ']'")),
            }
        }
    }

    fn value(&mut self) -> Result<Token<'a>> {
        self.next = Next::AfterValue;
        let rest = &self.text[self.position..];
        let words = [
            ("null", Token::Null),
            ("true", Token::Truth(true)),
            ("false", Token::Truth(false)),
            ("NaN", Token::NoNumber(f64::NAN)),
            ("Infinity", Token::NoNumber(f64::INFINITY)),
            ("-Infinity", Token::NoNumber(f64::NEG_INFINITY)),
        ];
        match rest.as_bytes().first() {
            Some(b'"') => self.string().map(Token::Text),
            Some(b'[') => self.open(false, Token::BeginList, Next::ItemOrEnd),
            Some(b'{') => self.open(true, Token::BeginDict, Next::KeyOrEnd),
            Some(b'0'..=b'9') => self.number(),
            Some(b'-') if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.number(),
            _ => {
                let Some((word, token)) = words.into_iter().find(|(word, _)| rest.starts_with(word)) else {
                    return Err(self.fault("expected a value"));
                };
                self.position += word.len();
                Ok(token)
            }
        }
    }

    fn open(&mut self, is_dict: bool, token: Token<'a>, next: Next) -> Result<Token<'a>> {
        if self.open.len() >= MAX_DEPTH {
            let message = format!("its JSON is nested more than {MAX_DEPTH} deep");
            return Err(Error::render(Code::UnconvertibleValue, message));
        }
        self.position += 1;
        self.open.push(is_dict);
        self.next = next;
        Ok(token)
    }

    fn key(&mut self) -> Result<Token<'a>> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in double quotes"));
        }
        let key = self.string()?;
        self.skip_blanks();
        if !self.take(b':') {
            return Err(self.fault("expected ':'"));
        }
        self.next = Next::Value;
        Ok(Token::Key(key))
    }

    fn number(&mut self) -> Result<Token<'a>> {
        let start = self.position;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let whole = self.position;
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let number = &self.text[start..self.position];
        Ok(if self.position == whole { Token::Integer(number) } else { Token::Float(number) })
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.position;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
        if self.position == start { Err(self.fault("expected a digit")) } else { Ok(()) }
    }

    /// Read a string, at whose first quote the position is.
    fn string(&mut self) -> Result<Text<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.position + 1;
        let mut escaped = false;
        self.position = start;
        loop {
            let Some(special) = next_special(bytes, self.position) else {
                self.position = start - 1;
                return Err(self.fault("expected a string that ends"));
            };
            self.position = special;
            match bytes[special] {
                b'"' => {
                    self.position += 1;
                    return Ok(Text { raw: &self.text[start..special], escaped });
                }
                b'\\' => {
                    escaped = true;
                    let (length, character) = unescaped(&bytes[special..]);
                    if character.is_none() {
                        let is_number = bytes.get(special + 1) == Some(&b'u');
                        self.position += if is_number { 2 } else { 0 };
                        let expected = if is_number { "four hexadecimal digits" } else { "an escape that JSON has" };
                        return Err(self.fault(&format!("expected {expected}")));
                    }
                    self.position += length;
                }
                _ => return Err(self.fault("expected a string without control characters")),
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.position += usize::from(is_there);
        is_there
    }

    fn fault(&self, expected: &str) -> Error {
        let position = self.position.min(self.text.len());
        let rest = String::from_utf8_lossy(&self.text.as_bytes()[position..]);
        let excerpt: String = rest.chars().take(20).collect();
        let excerpt = if excerpt.is_empty() { "the end".to_owned() } else { format!("{excerpt:?}") };
        let message = format!("it isn't JSON: {expected} at byte {position}, found {excerpt}");
        Error::render(Code::UnconvertibleValue, message)
    }
}
