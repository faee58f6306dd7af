//! Texts that hold a conversation as JSON, read as Python's `json.loads` reads them.
//!
//! A conversation is a list of messages, or an object that has one under `messages` or `conversations`. What isn't read
//! here is left to Python, which knows what is wrong with it: text that is no JSON, two keys of one name, half a
//! surrogate pair, numbers and nesting that its own limits are near.

use std::borrow::Cow;

use super::places::Place;
use super::reading::Reading;
use crate::json_text::next_special;

/// As deep as values may be nested.
const MAX_DEPTH: usize = 100;

/// The longest number that is read here.
const MAX_NUMBER_BYTES: usize = 1000;

/// An object of more keys is left to Python: each is compared with all before it.
const MAX_KEYS: usize = 64;

/// Under what an object has its messages.
const MESSAGES: [&str; 2] = ["messages", "conversations"];

/// What else an object may say that a text would depend on: none of it may be passed over.
const OWN_ARGUMENTS: [&str; 3] = ["tools", "functions", "documents"];

/// Read the conversation in `text`; None if it can't be read here.
pub fn conversation(text: &str, reading: &mut Reading) -> Option<()> {
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, scratch: String::new() };
    parser.skip_blanks();
    match parser.peek()? {
        b'[' => parser.list(Place::Message, 0, reading)?,
        b'{' => parser.holder(reading)?,
        _ => return None,
    }
    parser.skip_blanks();
    (parser.at == text.len()).then_some(())
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    scratch: String,
}

/// A string's inside: as it stands there, or with its escapes undone, in the scratch.
#[derive(Clone, Copy)]
enum Inside<'t> {
    Raw(&'t str),
    Scratch,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Go past a byte, if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// An object that has the messages under one of its keys.
    fn holder(&mut self, reading: &mut Reading) -> Option<()> {
        self.at += 1;
        let (mut keys, mut found) = (Vec::new(), false);
        loop {
            self.skip_blanks();
            let key = self.key(&mut keys)?;
            if OWN_ARGUMENTS.contains(&key) || MESSAGES.contains(&key) && found {
                return None;
            }
            if MESSAGES.contains(&key) {
                if self.peek()? != b'[' {
                    return None;
                }
                found = true;
                self.list(Place::Message, 1, reading)?;
            } else {
                let before = reading.written();
                self.value(Place::Shape, 1, reading)?;
                reading.take_back(before);
            }
            self.skip_blanks();
            if !self.take(b',') {
                return (self.take(b'}') && found).then_some(());
            }
        }
    }

    fn value(&mut self, place: Place, depth: usize, reading: &mut Reading) -> Option<()> {
        match self.peek()? {
            b'"' => self.string_value(place, reading)?,
            b'{' => self.object(place, depth, reading)?,
            b'[' => self.list(place.item(), depth, reading)?,
            b'-' | b'0'..=b'9' => self.number(reading)?,
            _ => {
                const WORDS: [&str; 5] = ["null", "true", "false", "NaN", "Infinity"];
                let word = WORDS.into_iter().find(|word| self.text[self.at..].starts_with(word))?;
                self.at += word.len();
                reading.json(word);
            }
        }
        Some(())
    }

    fn object(&mut self, place: Place, depth: usize, reading: &mut Reading) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        reading.json("{");
        self.skip_blanks();
        if self.take(b'}') {
            reading.json("}");
            return Some(());
        }
        let mut keys = Vec::new();
        loop {
            self.skip_blanks();
            let is_first = keys.is_empty();
            let key = self.key(&mut keys)?;
            reading.key(key, is_first);
            self.value(place.under(key.as_bytes()), depth + 1, reading)?;
            self.skip_blanks();
            if !self.take(b',') {
                reading.json("}");
                return self.take(b'}').then_some(());
            }
        }
    }

    /// A list; `item` is where its items stand.
    fn list(&mut self, item: Place, depth: usize, reading: &mut Reading) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        reading.json("[");
        self.skip_blanks();
        if self.take(b']') {
            reading.json("]");
            return Some(());
        }
        loop {
            self.skip_blanks();
            self.value(item, depth + 1, reading)?;
            self.skip_blanks();
            if !self.take(b',') {
                reading.json("]");
                return self.take(b']').then_some(());
            }
            reading.json(",");
        }
    }

    /// The next key, up to its value, put behind those before it; None if it was there before.
    fn key<'k>(&mut self, keys: &'k mut Vec<Cow<'t, str>>) -> Option<&'k str> {
        let key = match self.string()? {
            Inside::Raw(key) => Cow::Borrowed(key),
            Inside::Scratch => Cow::Owned(self.scratch.clone()),
        };
        if keys.len() == MAX_KEYS || keys.contains(&key) {
            return None;
        }
        keys.push(key);
        self.skip_blanks();
        if !self.take(b':') {
            return None;
        }
        self.skip_blanks();
        keys.last().map(|key| &**key)
    }

    fn string_value(&mut self, place: Place, reading: &mut Reading) -> Option<()> {
        let inside = self.string()?;
        let text = match inside {
            Inside::Raw(text) => text,
            Inside::Scratch => &self.scratch,
        };
        if place.is_hole() {
            reading.hole(text.as_bytes());
        } else {
            reading.string(text);
        }
        Some(())
    }

    fn string(&mut self) -> Option<Inside<'t>> {
        if !self.take(b'"') {
            return None;
        }
        let start = self.at;
        let mut end = next_special(self.bytes, start)?;
        if self.bytes[end] == b'"' {
            self.at = end + 1;
            return Some(Inside::Raw(&self.text[start..end]));
        }
        self.scratch.clear();
        loop {
            self.scratch.push_str(&self.text[self.at..end]);
            self.at = end + 1;
            match self.bytes[end] {
                b'"' => return Some(Inside::Scratch),
                b'\\' => {
                    let character = self.escape()?;
                    self.scratch.push(character);
                }
                _ => return None, // a control character
            }
            end = next_special(self.bytes, self.at)?;
        }
    }

    /// The character that an escape stands for, whose backslash has been passed.
    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                match char::from_u32(first) {
                    Some(own) => own,
                    None => {
                        // Half a pair: Python joins it with the other half, which has to follow.
                        let is_pair = first < 0xDC00 && self.take(b'\\') && self.take(b'u');
                        let second =
                            is_pair.then(|| self.hex()).flatten().filter(|own| (0xDC00..0xE000).contains(own))?;
                        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?
                    }
                }
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    /// A number, whose text goes into the shape as it is.
    fn number(&mut self, reading: &mut Reading) -> Option<()> {
        let start = self.at;
        self.take(b'-');
        if self.text[self.at..].starts_with("Infinity") {
            self.at += "Infinity".len();
        } else {
            if !self.take(b'0') {
                self.digits()?;
            }
            if self.take(b'.') {
                self.digits()?;
            }
            if self.take(b'e') || self.take(b'E') {
                let _ = self.take(b'+') || self.take(b'-');
                self.digits()?;
            }
        }
        let number = &self.text[start..self.at];
        (number.len() <= MAX_NUMBER_BYTES).then(|| reading.json(number))
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}
