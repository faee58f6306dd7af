//! Lines of texts: the filters `indent` and `wordwrap`.

use memchr::memchr;

use super::scratch::Scratch;
use super::text::{self, is_space};
use super::value::{Bail, Valued};

/// Return true for a text of which only line feeds end lines: ASCII without rare control characters.
fn is_simple(text: &[u8]) -> bool {
    // All bytes are read, without a branch, so that many are tried at a time.
    let odd =
        |byte: u8| u8::from(byte >= 0x7f) | (u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t'));
    text.iter().fold(0, |any, byte| any | odd(*byte)) == 0
}

/// The filter `indent`: each line after the first begins with `indention`, also blank lines if `blank`.
pub(super) fn indent<'r>(text: &'r [u8], indention: &[u8], blank: bool, scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    scratch.spend(text.len())?;
    let mut is_first = true;
    let mut add = |line: &[u8], out: &mut Vec<u8>| {
        if !is_first {
            out.push(b'\n');
            if blank || !line.is_empty() {
                scratch.spend(indention.len())?;
                out.extend_from_slice(indention);
            }
        }
        is_first = false;
        out.extend_from_slice(line);
        Ok(())
    };
    scratch.text(|out| {
        if is_simple(text) {
            let mut rest = text;
            while let Some(end) = memchr(b'\n', rest) {
                add(&rest[..end], out)?;
                rest = &rest[end + 1..];
            }
            return add(rest, out);
        }
        let string = text::utf8(text)?;
        for line in text::lines(string) {
            add(line.as_bytes(), out)?;
        }
        // Jinja2 splits the text with one more line feed, which ends a line of its own unless it follows a `\r`.
        if string.chars().next_back().is_none_or(|c| c != '\r' && text::ends_line(c)) {
            add(b"", out)?;
        }
        Ok(())
    })
}

/// The arguments of `wordwrap`.
pub(super) struct Wrapping<'r> {
    pub(super) width: usize,
    pub(super) break_long_words: bool,
    pub(super) on_hyphens: bool,
    /// The text between lines.
    pub(super) between: &'r [u8],
}

impl Wrapping<'_> {
    /// The filter `wordwrap`, which is `textwrap.wrap` of each line.
    pub(super) fn wrap<'t>(&self, text: &'t [u8], scratch: &Scratch<'t>) -> Valued<&'t [u8]> {
        scratch.spend(text.len())?;
        let string = text::utf8(text)?;
        scratch.text(|out| {
            for (number, line) in text::lines(string).enumerate() {
                if number > 0 {
                    self.separate(out, scratch)?;
                }
                self.line(line, out, scratch)?;
            }
            Ok(())
        })
    }

    fn separate(&self, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        scratch.spend(self.between.len())?;
        out.extend_from_slice(self.between);
        Ok(())
    }

    /// Append the lines that a line is wrapped to.
    fn line(&self, line: &str, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
        let mut chunks = Chunks { line, start: 0, on_hyphens: self.on_hyphens };
        let mut next = chunks.next()?;
        let mut is_first = true;
        while let Some(chunk) = next {
            // White space at the beginning of a line is dropped, except at the very beginning.
            if !is_first && chunk.is_blank(line) {
                next = chunks.next()?;
            }
            // The chunks of a line follow each other, so they are its bounds and the last of them.
            let (start, mut width) = (next.map_or(line.len(), |chunk| chunk.start), 0);
            let mut last = Chunk { start, end: start, length: 0 };
            while let Some(chunk) = next
                && width + chunk.length <= self.width
            {
                last = chunk;
                width += chunk.length;
                next = chunks.next()?;
            }
            if let Some(long) = next
                && long.length > self.width
            {
                if self.break_long_words {
                    // Python's versions differ in where they break a long word that has a hyphen.
                    if self.on_hyphens && long.text(line).contains('-') {
                        return Err(Bail::VALUE);
                    }
                    let room = self.width - width;
                    let bytes = long.text(line).char_indices().nth(room).map_or(long.len(), |(index, _)| index);
                    last = Chunk { start: long.start, end: long.start + bytes, length: room };
                    next = Some(Chunk { start: last.end, end: long.end, length: long.length - room });
                } else if last.end == start {
                    last = long;
                    next = chunks.next()?;
                }
            }
            let end = if last.is_blank(line) { last.start } else { last.end };
            if start < end {
                if !is_first {
                    self.separate(out, scratch)?;
                }
                is_first = false;
                out.extend_from_slice(&line.as_bytes()[start..end]);
            }
        }
        Ok(())
    }
}

/// A part of a line that isn't broken if it fits, with its number of characters.
#[derive(Clone, Copy)]
struct Chunk {
    start: usize,
    end: usize,
    length: usize,
}

impl Chunk {
    fn len(self) -> usize {
        self.end - self.start
    }

    fn text(self, line: &str) -> &str {
        &line[self.start..self.end]
    }

    fn is_blank(self, line: &str) -> bool {
        self.text(line).chars().all(is_space)
    }
}

/// The chunks of a line, as `textwrap` splits it.
struct Chunks<'t> {
    line: &'t str,
    start: usize,
    on_hyphens: bool,
}

impl Chunks<'_> {
    fn next(&mut self) -> Valued<Option<Chunk>> {
        let (bytes, start) = (self.line.as_bytes(), self.start);
        let Some(first) = bytes.get(start) else { return Ok(None) };
        let (mut end, mut length, mut has_hyphen) = (start, 0, false);
        while let Some(byte) = bytes.get(end)
            && is_gap(*byte) == is_gap(*first)
        {
            length += usize::from(byte & 0xC0 != 0x80);
            has_hyphen |= *byte == b'-';
            end += 1;
        }
        if has_hyphen && self.on_hyphens {
            // Which characters are letters depends on Python's version.
            let word = bytes[..start].iter().rposition(|byte| is_gap(*byte)).map_or(0, |index| index + 1);
            if !bytes[word..end].is_ascii() {
                return Err(Bail::VALUE);
            }
            end = end_of_part(bytes, start);
            length = end - start;
        }
        self.start = end;
        Ok(Some(Chunk { start, end, length }))
    }
}

/// Return true for what `textwrap` takes for white space.
fn is_gap(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Return the end of the part of a word with hyphens that begins at `start`, by `textwrap`'s regular expression.
fn end_of_part(line: &[u8], start: usize) -> usize {
    let byte_of = |index: Option<usize>| index.and_then(|index| line.get(index)).copied().unwrap_or(b' ');
    let is_letter = |index: Option<usize>| byte_of(index).is_ascii_alphabetic() || byte_of(index) == b'_';
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_punctuated = |index: Option<usize>| is_word(byte_of(index)) || b"!\"'&.,?".contains(&byte_of(index));
    // The end of two or more hyphens between words.
    let dash = |index: usize| {
        let many = line[index..].iter().take_while(|byte| **byte == b'-').count();
        let is_dash = many >= 2 && is_punctuated(index.checked_sub(1)) && is_word(byte_of(Some(index + many)));
        is_dash.then_some(index + many)
    };
    if let Some(end) = dash(start) {
        return end;
    }
    let mut end = start + 1;
    loop {
        let before = |count: usize| end.checked_sub(count);
        if line.get(end) == Some(&b'-') {
            let is_after_word = is_letter(before(1)) && is_letter(before(2));
            let is_after_part = is_punctuated(before(1)) && byte_of(before(2)) == b'-' && is_letter(before(3));
            let is_before_word = is_letter(Some(end + 1))
                && (is_letter(Some(end + 2)) || (byte_of(Some(end + 2)) == b'-' && is_letter(Some(end + 3))));
            if (is_after_word || is_after_part) && is_before_word {
                return end + 1;
            }
        }
        if line.get(end).is_none_or(|byte| is_gap(*byte)) || dash(end).is_some() {
            return end;
        }
        end += 1;
    }
}
