//! An array of objects as lines, one an item.

use memchr::memchr2;

use super::strings;

/// Turns the items of an array into lines, piece by piece.
///
/// Line breaks between the values of an item become spaces.
pub struct Items {
    /// The key under which an object has the array; None if the file has to be the array.
    key: Option<String>,
    state: State,
    /// The number of open brackets of the item, or of the value that is skipped.
    depth: usize,
    /// True within a string, and true after a backslash there.
    in_string: bool,
    is_escaped: bool,
    /// The key of the object that is being read, or was read last.
    name: Vec<u8>,
    /// The current line, from 1.
    line: usize,
    /// The bytes of the byte order mark so far.
    mark: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the array or object.
    Start,
    /// Before a key of the object, or its end.
    Key,
    /// Within a key.
    Name,
    /// After a key.
    Colon,
    /// Before a value of the object.
    Value,
    /// Within a value that is skipped.
    Skipped,
    /// After a value of the object.
    Comma,
    /// Before an item; the flag is true if the array may end here.
    Item(bool),
    /// Within an item with brackets.
    Nested,
    /// Within an item without brackets.
    Bare,
    /// After an item.
    After,
    /// After everything.
    End,
}

/// A fault of the file, for a message; the line is counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct ItemsFault {
    /// The line.
    pub line: usize,
    /// The description of the fault.
    pub what: &'static str,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

impl Items {
    /// Read an array, or an object that has the array under a key.
    pub fn new(key: Option<String>) -> Self {
        Self {
            key,
            state: State::Start,
            depth: 0,
            in_string: false,
            is_escaped: false,
            name: Vec::new(),
            line: 1,
            mark: 0,
        }
    }

    /// Append the lines of the next piece of the file. The last line may be incomplete.
    ///
    /// # Errors
    ///
    /// An [`ItemsFault`] if the file isn't such an array.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<(), ItemsFault> {
        let mut position = 0;
        while position < piece.len() {
            if self.in_string {
                position += self.string(&piece[position..], out)?;
                continue;
            }
            if self.state == State::Nested || self.state == State::Skipped {
                position += self.nested(&piece[position..], out);
                continue;
            }
            self.byte(piece[position], out)?;
            position += 1;
        }
        Ok(())
    }

    /// Check that the file ends where it may.
    ///
    /// # Errors
    ///
    /// An [`ItemsFault`] if it doesn't.
    pub fn finish(&self) -> Result<(), ItemsFault> {
        match self.state {
            State::End => Ok(()),
            State::Start => Err(self.fault("holds nothing")),
            _ if self.in_string => Err(self.fault("not valid JSON: Unterminated string")),
            State::After => Err(self.fault("',' or ']' is wanted after an item")),
            State::Item(_) | State::Nested | State::Bare => Err(self.fault("the array isn't closed")),
            _ => Err(self.fault("the object isn't closed")),
        }
    }

    /// Go on within a string; return the number of bytes.
    fn string(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<usize, ItemsFault> {
        let mut position = 0;
        if self.is_escaped {
            self.is_escaped = false;
            position = 1;
        }
        let end = loop {
            let Some(index) = memchr2(b'"', b'\\', &piece[position..]) else { break piece.len() };
            position += index + 1;
            if piece[position - 1] == b'"' {
                self.in_string = false;
                break position;
            }
            if position == piece.len() {
                self.is_escaped = true;
                break position;
            }
            position += 1;
        };
        if memchr::memchr(b'\n', &piece[..end]).is_some() {
            self.line += 1;
            return Err(self.fault("not valid JSON: Invalid control character"));
        }
        match self.state {
            State::Name => {
                self.name.extend_from_slice(&piece[..end]);
                if !self.in_string {
                    self.name.pop();
                    self.state = State::Colon;
                }
            }
            State::Skipped => self.end_of_skipped(),
            _ => out.extend_from_slice(&piece[..end]),
        }
        Ok(end)
    }

    fn end_of_skipped(&mut self) {
        if self.depth == 0 && !self.in_string {
            self.state = State::Comma;
        }
    }

    /// Go on within brackets up to a string or the closing bracket; return the number of bytes.
    fn nested(&mut self, piece: &[u8], out: &mut Vec<u8>) -> usize {
        let is_item = self.state == State::Nested;
        let first = out.len();
        for (index, byte) in piece.iter().enumerate() {
            let byte = *byte;
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                b'\n' => self.line += 1,
                _ => {}
            }
            if is_item {
                out.push(if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
            }
            if self.in_string {
                return index + 1;
            }
            if self.depth == 0 {
                self.state = if is_item { State::After } else { State::Comma };
                return index + 1;
            }
        }
        debug_assert!(!is_item || out.len() == first + piece.len());
        piece.len()
    }

    /// Take a byte that is in no string and in no brackets of an item.
    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) -> Result<(), ItemsFault> {
        if self.state == State::Start && self.line == 1 && self.mark < MARK.len() && byte == MARK[self.mark] {
            self.mark += 1;
            return Ok(());
        }
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.line += usize::from(byte == b'\n');
        if self.state == State::Bare {
            match byte {
                b',' | b']' => self.state = State::After,
                _ => {
                    out.push(if is_blank { b' ' } else { byte });
                    return Ok(());
                }
            }
        }
        if is_blank {
            return Ok(());
        }
        self.state = match (self.state, byte) {
            (State::Start, b'[') => {
                self.key = None;
                State::Item(true)
            }
            (State::Start, b'{') if self.key.is_some() => State::Key,
            (State::Start, _) => return Err(self.fault("another form")),
            (State::Key, b'"') => {
                self.name.clear();
                self.in_string = true;
                State::Name
            }
            (State::Key, b'}') => return Err(self.fault("no such key")),
            (State::Colon, b':') => State::Value,
            (State::Value, b'[') if self.is_key() => State::Item(true),
            (State::Value, _) if self.is_key() => return Err(self.fault("no array")),
            (State::Value, b'"') => {
                self.in_string = true;
                State::Skipped
            }
            (State::Value, b'{' | b'[') => {
                self.depth = 1;
                State::Skipped
            }
            (State::Value, b',' | b'}' | b']') => return Err(self.fault("not valid JSON: Expecting value")),
            // What is no string and has no brackets ends with a comma or the end of the object.
            (State::Value, _) => State::Comma,
            (State::Comma, b',') => State::Key,
            (State::Comma, b'}') => return Err(self.fault("no such key")),
            (State::Comma, b'"' | b'{' | b'[' | b']') => {
                return Err(self.fault("not valid JSON: Expecting ',' delimiter"));
            }
            (State::Comma, _) => State::Comma,
            (State::Item(true), b']') => State::End,
            (State::Item(_), b'{' | b'[') => {
                out.push(byte);
                self.depth = 1;
                State::Nested
            }
            (State::Item(_), b',' | b']') => return Err(self.fault("not valid JSON: Expecting value")),
            (State::Item(_), _) => {
                out.push(byte);
                self.in_string = byte == b'"';
                State::Bare
            }
            (State::After, b',') => {
                out.push(b'\n');
                State::Item(false)
            }
            (State::After, b']') => {
                out.push(b'\n');
                State::End
            }
            (State::After, _) => return Err(self.fault("',' or ']' is wanted after an item")),
            // An object goes on after its array.
            (State::End, _) if self.key.is_some() => State::End,
            (State::End, _) => return Err(self.fault("something follows the array")),
            _ => return Err(self.fault("not valid JSON: Expecting property name enclosed in double quotes")),
        };
        Ok(())
    }

    fn is_key(&self) -> bool {
        let mut name = Vec::new();
        strings::decode(&self.name, &mut name);
        self.key.as_ref().is_some_and(|key| key.as_bytes() == name)
    }

    fn fault(&self, what: &'static str) -> ItemsFault {
        ItemsFault { line: self.line, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, key: Option<&str>, size: usize) -> Result<String, ItemsFault> {
        let (mut items, mut out) = (Items::new(key.map(str::to_owned)), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            items.feed(piece, &mut out)?;
        }
        items.finish()?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn items_are_lines_wherever_pieces_end() {
        let text = "\u{feff} [\n{\"a\\\"]\": [1,\n {}]}, {}\n, 7 ,\"x\", [{\"b\":\"\\\\\"}]\n] ";
        let wanted = "{\"a\\\"]\": [1,  {}]}\n{}\n7 \n\"x\"\n[{\"b\":\"\\\\\"}]\n";
        let object = "{\"v\": [{\"data\": []}], \"x\": \"]\", \"n\": -1.5 , \"d\\u0061ta\": [{\"a\":\n1}], \"z\": {\"data\": 1}}";
        for size in 1..=text.len() {
            assert_eq!(lines(text, None, size).unwrap(), wanted);
            assert_eq!(lines(object, Some("data"), size).unwrap(), "{\"a\": 1}\n");
        }
        assert_eq!(lines("[ ]", None, 1).unwrap(), "");
    }

    #[test]
    fn faults_have_their_lines() {
        for (text, line, what) in [
            ("", 1, "holds nothing"),
            ("{}", 1, "another form"),
            ("[{}\n{}]", 2, "',' or ']' is wanted after an item"),
            ("[{},", 1, "the array isn't closed"),
            ("[{},]", 1, "not valid JSON: Expecting value"),
            ("[{}", 1, "',' or ']' is wanted after an item"),
            ("[{\"a", 1, "not valid JSON: Unterminated string"),
            ("[\n{\"a\n", 3, "not valid JSON: Invalid control character"),
            ("[]\n x", 2, "something follows the array"),
        ] {
            assert_eq!(lines(text, None, 1), Err(ItemsFault { line, what }), "{text}");
        }
        for (text, what) in [
            ("7", "another form"),
            ("[] 1", "something follows the array"),
            ("{}", "no such key"),
            ("{\"b\": 1}", "no such key"),
            ("{\"a\": 1}", "no array"),
            ("{\"b\": 1", "the object isn't closed"),
            ("{\"b\" 1}", "not valid JSON: Expecting property name enclosed in double quotes"),
        ] {
            assert_eq!(lines(text, Some("a"), 1), Err(ItemsFault { line: 1, what }), "{text}");
        }
    }
}
