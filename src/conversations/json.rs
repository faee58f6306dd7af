//! Texts that hold a conversation as JSON, read as Python's `json.loads` reads them.
//!
//! A conversation is a list of messages, or an object that has one under `messages` or `conversations`. Python reads
//! the texts that can't be read here, and reports what is wrong with them: text that isn't JSON, two keys of one name,
//! half a surrogate pair, and numbers or nesting near Python's limits.

use std::borrow::Cow;

use super::location::{LISTS, Location};
use super::reading::{Reading, Slot, add_float, add_string};
use super::shapes::OpenedTexts;
use crate::json_text::{Escaped, next_special, unescaped};

/// The maximal depth of nested values.
const MAX_DEPTH: usize = 100;

/// The longest number that is read here.
const MAX_NUMBER_BYTES: usize = 1000;

/// Python reads an object with more keys, because each key is compared with all before it.
const MAX_KEYS: usize = 64;

/// The keys under which an object may have its messages.
const MESSAGES: [&str; 2] = ["messages", "conversations"];

/// Other keys of an object that a chat template may use: an object with one of them can't be read here.
const TEMPLATE_ARGUMENTS: [&str; 3] = ["tools", "functions", "documents"];

/// Read the conversation in `text`; the result is None if it can't be read here.
pub fn conversation(text: &str, reading: &mut Reading) -> Option<()> {
    whole(text, |parser| match parser.peek()? {
        b'[' => parser.list(Location::Message, 0, reading),
        b'{' => parser.holder(reading),
        _ => None,
    })
}

/// Read the object in `text`, which is at this location; the result is None if it can't be read here.
pub fn object(text: &str, location: Location, reading: &mut Reading) -> Option<()> {
    whole(text, |parser| if parser.peek()? == b'{' { parser.value(location, 0, reading) } else { None })
}

/// Read the list of tools or documents in `text` as a member of an object, unless there are none.
pub fn list(name: &str, text: &str, is_first: &mut bool, reading: &mut Reading) -> Option<()> {
    whole(text, |parser| {
        if parser.is_none() {
            return Some(());
        }
        reading.key(name, std::mem::take(is_first));
        parser.tools(0, reading)
    })
}

/// Read the value in `text` as a member of an object, unless it is null.
pub fn member(name: &str, text: &str, is_first: &mut bool, reading: &mut Reading) -> Option<()> {
    whole(text, |parser| {
        if parser.peek()? == b'n' {
            return parser.word().map(|_| ());
        }
        reading.key(name, std::mem::take(is_first));
        parser.value(Location::Value, 0, reading)
    })
}

/// Read the members of the object in `text` as those of another one; the result is None if one has another's name.
pub fn members(text: &str, others: &[&str], is_first: &mut bool, reading: &mut Reading) -> Option<()> {
    whole(text, |parser| {
        if !parser.take(b'{') {
            return None;
        }
        parser.skip_blanks();
        if parser.take(b'}') {
            return Some(());
        }
        let mut keys = Vec::new();
        loop {
            parser.skip_blanks();
            let key = parser.key(&mut keys)?;
            if others.contains(&key) {
                return None;
            }
            reading.key(key, std::mem::take(is_first));
            let is_list = LISTS.contains(&key);
            if is_list && parser.is_none() {
                reading.json("null");
            } else if is_list {
                parser.tools(1, reading)?;
            } else {
                parser.value(Location::Value, 1, reading)?;
            }
            parser.skip_blanks();
            if !parser.take(b',') {
                return parser.take(b'}').then_some(());
            }
        }
    })
}

/// Read all of a text, and blanks around what `read` reads.
fn whole<'t>(text: &'t str, read: impl FnOnce(&mut Parser<'t>) -> Option<()>) -> Option<()> {
    let mut parser = Parser { text, bytes: text.as_bytes(), position: 0, scratch: String::new() };
    parser.skip_blanks();
    read(&mut parser)?;
    parser.skip_blanks();
    (parser.position == text.len()).then_some(())
}

/// Read a text at a location where texts are opened; return true if the text isn't JSON of a kind that is opened there.
/// The result is None if it can't be read here.
#[inline]
pub fn opened(text: &str, location: Location, reading: &mut Reading) -> Option<bool> {
    match location {
        Location::CallContent => open(text, location, b"{[", reading),
        Location::Arguments if reading.shapes.opened.arguments => open(text, location, b"{", reading),
        _ => Some(false),
    }
}

fn open(text: &str, location: Location, begins: &[u8], reading: &mut Reading) -> Option<bool> {
    let mut parser = Parser { text, bytes: text.as_bytes(), position: 0, scratch: String::new() };
    parser.skip_blanks();
    if !parser.peek().is_some_and(|byte| begins.contains(&byte)) {
        return Some(false);
    }
    parser.value(location, 0, reading)?;
    parser.skip_blanks();
    (parser.position == text.len()).then_some(true)
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    position: usize,
    scratch: String,
}

/// The answers of a message's `role` and `from` to the question if its content is a call; None for one without a value.
#[derive(Default)]
struct Speaker([Option<bool>; 2]);

impl Speaker {
    /// Add a name, as it is written in the skeleton.
    fn add(&mut self, is_from: bool, written: &str, opened: &OpenedTexts) {
        let is_call = match written.as_bytes() {
            [b'"', b'=', name @ .., b'"'] => opened.is_call(name),
            b"null" => return,
            _ => false,
        };
        self.0[usize::from(is_from)] = Some(is_call);
    }

    fn calls(&self) -> bool {
        self.0[0].or(self.0[1]) == Some(true)
    }
}

/// The content of a string: a stretch of the text, or the unescaped characters in the scratch.
#[derive(Clone, Copy)]
enum Inside<'t> {
    Raw(&'t str),
    Scratch,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    /// Go past a byte, if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Read an object that has the messages under one of its keys.
    fn holder(&mut self, reading: &mut Reading) -> Option<()> {
        self.position += 1;
        let (mut keys, mut has_messages) = (Vec::new(), false);
        loop {
            self.skip_blanks();
            let key = self.key(&mut keys)?;
            if TEMPLATE_ARGUMENTS.contains(&key) || MESSAGES.contains(&key) && has_messages {
                return None;
            }
            if MESSAGES.contains(&key) {
                if self.peek()? != b'[' {
                    return None;
                }
                has_messages = true;
                self.list(Location::Message, 1, reading)?;
            } else {
                let before = reading.written();
                self.value(Location::Value, 1, reading)?;
                reading.take_back(before);
            }
            self.skip_blanks();
            if !self.take(b',') {
                return (self.take(b'}') && has_messages).then_some(());
            }
        }
    }

    /// Go past null or an empty list, if it is here.
    fn is_none(&mut self) -> bool {
        let before = self.position;
        let is_none = match self.peek() {
            Some(b'n') => self.word() == Some("null"),
            Some(b'[') => {
                self.position += 1;
                self.skip_blanks();
                self.take(b']')
            }
            _ => false,
        };
        self.position = if is_none { self.position } else { before };
        is_none
    }

    /// Read a list of objects: tools, or documents.
    fn tools(&mut self, depth: usize, reading: &mut Reading) -> Option<()> {
        let mut is_first = true;
        if !self.take(b'[') {
            return None;
        }
        reading.json("[");
        loop {
            self.skip_blanks();
            if self.peek()? != b'{' {
                return None;
            }
            reading.json(if std::mem::take(&mut is_first) { "" } else { "," });
            self.value(Location::Tool, depth + 1, reading)?;
            self.skip_blanks();
            if !self.take(b',') {
                reading.json("]");
                return self.take(b']').then_some(());
            }
        }
    }

    fn value(&mut self, location: Location, depth: usize, reading: &mut Reading) -> Option<()> {
        match self.peek()? {
            b'"' => self.string_value(location, reading)?,
            b'{' if location.is_closed_object(reading.opening) && !self.is_empty(b'}') => {
                self.slot(Slot::Object, depth, reading)?;
            }
            b'[' if location.is_closed_list(reading.opening) && !self.is_empty(b']') => {
                self.slot(Slot::List, depth, reading)?;
            }
            b'{' => self.object(location, depth, reading)?,
            b'[' => self.list(location.item(), depth, reading)?,
            b't' | b'f' | b'n' => reading.json(self.word()?),
            _ => {
                let slot = self.number(&mut reading.texts)?;
                reading.end_slot(slot);
            }
        }
        Some(())
    }

    /// Return true if the list or object here ends with `end` before its first item.
    fn is_empty(&self, end: u8) -> bool {
        let rest = &self.bytes[self.position + 1..];
        rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) == Some(&end)
    }

    /// Read a value as a slot with its JSON.
    fn slot(&mut self, slot: Slot, depth: usize, reading: &mut Reading) -> Option<()> {
        self.add_json(depth, &mut reading.texts)?;
        reading.end_slot(slot);
        Some(())
    }

    /// Read a value, and append it as Python's `json.dumps` writes it.
    fn add_json(&mut self, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        let opening = self.peek()?;
        match opening {
            b'"' => match self.string()? {
                Inside::Raw(text) => add_string(text, out),
                Inside::Scratch => add_string(&self.scratch, out),
            },
            b'{' | b'[' => {
                if depth == MAX_DEPTH {
                    return None;
                }
                let closing = opening + 2;
                out.push(opening);
                self.position += 1;
                self.skip_blanks();
                let mut keys = Vec::new();
                let mut is_first = true;
                while !(is_first && self.take(closing)) {
                    out.extend_from_slice(if is_first { b"" } else { b", " });
                    is_first = false;
                    self.skip_blanks();
                    if opening == b'{' {
                        add_string(self.key(&mut keys)?, out);
                        out.extend_from_slice(b": ");
                    }
                    self.add_json(depth + 1, out)?;
                    self.skip_blanks();
                    if self.take(closing) {
                        break;
                    }
                    if !self.take(b',') {
                        return None;
                    }
                }
                out.push(closing);
            }
            b't' | b'f' | b'n' => out.extend_from_slice(self.word()?.as_bytes()),
            _ => {
                self.number(out)?;
            }
        }
        Some(())
    }

    /// Read `null`, `true` or `false`.
    fn word(&mut self) -> Option<&'static str> {
        const WORDS: [&str; 3] = ["null", "true", "false"];
        let word = WORDS.into_iter().find(|word| self.text[self.position..].starts_with(word))?;
        self.position += word.len();
        Some(word)
    }

    fn object(&mut self, location: Location, depth: usize, reading: &mut Reading) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        let (start, before) = (self.position, reading.written());
        self.position += 1;
        reading.json("{");
        self.skip_blanks();
        if self.take(b'}') {
            reading.json("}");
            return Some(());
        }
        let mut keys = Vec::new();
        let mut speaker = Speaker::default();
        loop {
            self.skip_blanks();
            let is_first = keys.is_empty();
            let key = self.key(&mut keys)?;
            reading.key(key, is_first);
            let below = location.under(key.as_bytes());
            let (is_from, value) = (key == "from", reading.written());
            self.value(below, depth + 1, reading)?;
            if location == Location::Message && below == Location::Name {
                speaker.add(is_from, reading.since(value), &reading.shapes.opened);
            }
            self.skip_blanks();
            if !self.take(b',') {
                break;
            }
        }
        if speaker.calls() {
            // Now that the role is known, the message is read once more.
            self.position = start;
            reading.take_back(before);
            return self.object(Location::CallMessage, depth, reading);
        }
        reading.json("}");
        self.take(b'}').then_some(())
    }

    /// Read a list; `item` is the location of its items.
    fn list(&mut self, item: Location, depth: usize, reading: &mut Reading) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.position += 1;
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

    /// Read the next key, go to its value and add the key to `keys`; the result is None if `keys` has it already.
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

    fn string_value(&mut self, location: Location, reading: &mut Reading) -> Option<()> {
        let inside = self.string()?;
        let text = match inside {
            Inside::Raw(text) => text,
            Inside::Scratch => &self.scratch,
        };
        if location == Location::Name {
            reading.string(text);
        } else if !opened(text, location, reading)? {
            reading.slot(text.as_bytes());
        }
        Some(())
    }

    fn string(&mut self) -> Option<Inside<'t>> {
        if !self.take(b'"') {
            return None;
        }
        let start = self.position;
        let mut end = next_special(self.bytes, start)?;
        if self.bytes[end] == b'"' {
            self.position = end + 1;
            return Some(Inside::Raw(&self.text[start..end]));
        }
        self.scratch.clear();
        loop {
            self.scratch.push_str(&self.text[self.position..end]);
            self.position = end + 1;
            match self.bytes[end] {
                b'"' => return Some(Inside::Scratch),
                b'\\' => {
                    let (length, Some(Escaped::Character(character))) = unescaped(&self.bytes[end..]) else {
                        return None;
                    };
                    self.scratch.push(character);
                    self.position = end + length;
                }
                _ => return None, // a control character
            }
            end = next_special(self.bytes, self.position)?;
        }
    }

    /// Read a number, and append it as Python's `json.dumps` writes it.
    fn number(&mut self, out: &mut Vec<u8>) -> Option<Slot> {
        let start = self.position;
        let is_negative = self.take(b'-');
        let rest = &self.text[self.position..];
        if rest.starts_with("Infinity") || (rest.starts_with("NaN") && !is_negative) {
            self.position += if rest.starts_with("NaN") { "NaN" } else { "Infinity" }.len();
            out.extend_from_slice(&self.bytes[start..self.position]);
            return Some(Slot::Float);
        }
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut slot = Slot::Int;
        if self.take(b'.') {
            slot = Slot::Float;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            slot = Slot::Float;
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let number = &self.text[start..self.position];
        if number.len() > MAX_NUMBER_BYTES {
            return None;
        }
        match (slot, number) {
            (Slot::Float, _) => add_float(number.parse().ok()?, out),
            (_, "-0") => out.push(b'0'),
            _ => out.extend_from_slice(number.as_bytes()),
        }
        Some(slot)
    }

    /// Read at least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }
}
