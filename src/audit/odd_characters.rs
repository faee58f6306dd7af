//! Finds characters in a column's texts that people can't see but that a model gets.
//!
//! Most texts have none, so two quick scans come first: the first passes plain ASCII by single bytes, the second passes
//! other texts by three bytes at a time. Only texts that neither passes are examined character by character.

use std::sync::atomic::{AtomicBool, Ordering};

use memchr::{memchr, memchr2_iter};

use super::texts::Texts;
use crate::threads;

/// The kinds of odd characters. Python uses the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum OddKind {
    /// A control character (C0, DEL or C1) other than tab, line feed and carriage return.
    Control = 0,
    /// A bidirectional embedding, override or isolate, or the end of one: U+202A to U+202E, U+2066 to U+2069.
    Bidi = 1,
    /// A line end that differs from the first one of the text: line feed, carriage return, or both.
    LineEnd = 2,
    /// A character that displays nothing: one that Unicode has as ignorable by default (zero width space and joiners,
    /// soft hyphen, direction marks, fillers, tags), or an annotation mark. Two uses don't count: a joiner between two
    /// characters beyond ASCII, as in Persian, Indic scripts and emoji, and the first variation selector after a
    /// character that can vary.
    Invisible = 3,
    /// U+FFFD, which replaces bytes that could not be decoded.
    Replacement = 4,
    /// U+FEFF, the byte order mark of a file.
    ByteOrderMark = 5,
}

impl OddKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Control, Self::Bidi, Self::LineEnd, Self::Invisible, Self::Replacement, Self::ByteOrderMark];

    /// Return the kind's name for Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Bidi => "bidi",
            Self::LineEnd => "line_end",
            Self::Invisible => "invisible",
            Self::Replacement => "replacement",
            Self::ByteOrderMark => "byte_order_mark",
        }
    }
}

/// The first character of a kind in a row's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OddCharacter {
    /// The row.
    pub row: i64,
    /// The offset of its first byte in the row's text.
    pub start: i64,
    /// The offset after its last byte.
    pub end: i64,
    /// The kind.
    pub kind: OddKind,
}

/// Return the first character of each kind in each row's text, sorted by row, then by offset. The result is None if a
/// column that was opened [for its bytes](Texts::bytes_of) isn't valid UTF-8.
pub fn odd_characters(texts: &Texts) -> Option<Vec<OddCharacter>> {
    let is_sound = AtomicBool::new(true);
    let characters = texts.scan(|rows| {
        let mut out = Vec::new();
        for rows in threads::chunks(rows, ROWS_TOGETHER) {
            if texts.stretch(rows.clone()).is_some_and(is_plain) {
                continue;
            }
            if !texts.are_sound(rows.clone()) {
                is_sound.store(false, Ordering::Relaxed);
                break;
            }
            for row in rows {
                if let Some(text) = texts.get(row)
                    && !is_plain(text)
                    && (may_be_odd(text) || memchr(b'\r', text).is_some())
                {
                    look_closer(row, text, &mut out);
                }
            }
        }
        out
    });
    is_sound.into_inner().then_some(characters)
}

/// So many short texts are scanned together first.
const ROWS_TOGETHER: usize = 32;

/// Return true if bytes are plain ASCII: no odd character and no carriage return.
#[allow(clippy::needless_bitwise_bool, reason = "the loop around it becomes vector code so")]
fn is_plain(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| (byte.wrapping_sub(0x20) < 0x5f) | (*byte == b'\n') | (*byte == b'\t');
    // There is no branch within a stretch, so that the compiler can process many bytes at a time.
    text.chunks(STRETCH).all(|stretch| stretch.iter().fold(true, |plain, byte| plain & is_plain(byte)))
}

/// Add the odd characters of a text.
fn look_closer(row: usize, text: &[u8], out: &mut Vec<OddCharacter>) {
    let first = out.len();
    let add = |(start, end): (usize, usize), kind: OddKind, out: &mut Vec<OddCharacter>| {
        out.push(OddCharacter { row: row as i64, start: start as i64, end: end as i64, kind });
    };
    if let Some(range) = other_line_end(text) {
        add(range, OddKind::LineEnd, out);
    }
    let mut seen = 0_u8;
    let mut from = 0;
    // Skip the parts that the quick scan passes.
    while let Some(start) = next_that_may_be_odd(text, from) {
        let end = start + char_length(text[start]);
        if let Some(kind) = kind_of(text, start, end)
            && seen & 1 << kind as u8 == 0
        {
            seen |= 1 << kind as u8;
            add((start, end), kind, out);
            // A line end was looked for above.
            if seen.count_ones() as usize == OddKind::ALL.len() - 1 {
                break;
            }
        }
        from = end;
    }
    out[first..].sort_unstable();
}

/// Return the range of the first line end that differs from the first one.
fn other_line_end(text: &[u8]) -> Option<(usize, usize)> {
    memchr(b'\r', text)?;
    let mut ends = memchr2_iter(b'\r', b'\n', text).filter_map(|index| match text[index] {
        b'\n' if index > 0 && text[index - 1] == b'\r' => None,
        b'\r' if text.get(index + 1) == Some(&b'\n') => Some((index, index + 2)),
        _ => Some((index, index + 1)),
    });
    let (start, end) = ends.next()?;
    ends.find(|(other, end_of_other)| text[*other..*end_of_other] != text[start..end])
}

/// So many bytes are scanned together.
const BLOCK: usize = 64;

/// Return the offset, from `from` on, of the next character that may be odd.
fn next_that_may_be_odd(text: &[u8], from: usize) -> Option<usize> {
    let mut start = from;
    while start < text.len() {
        let end = (start + BLOCK).min(text.len());
        // Include the rest of a character that crosses the block's end.
        if may_be_odd(&text[start..(end + 2).min(text.len())]) {
            let byte = |index: usize| text.get(index).copied().unwrap_or_default();
            if let Some(index) = (start..end).find(|index| is_suspect(byte(*index), byte(*index + 1), byte(*index + 2)))
            {
                return Some(index);
            }
        }
        start = end;
    }
    None
}

/// Return true if an odd character may begin anywhere in `text`.
fn may_be_odd(text: &[u8]) -> bool {
    let Some((_, next)) = text.split_first() else { return false };
    let after_next = next.get(1..).unwrap_or_default();
    let mut is_odd = false;
    // There is no branch within a stretch, so that the compiler can process many bytes at a time. The loop may stop
    // after each stretch.
    let blocks = text.chunks(STRETCH).zip(next.chunks(STRETCH)).zip(after_next.chunks(STRETCH));
    for ((zero, next), after_next) in blocks {
        for ((zero, next), after_next) in zero.iter().zip(next).zip(after_next) {
            is_odd |= is_suspect(*zero, *next, *after_next);
        }
        if is_odd {
            return true;
        }
    }
    match text {
        [.., last] if text.len() == 1 => is_suspect(*last, 0, 0),
        [.., before, last] => is_suspect(*before, *last, 0) || is_suspect(*last, 0, 0),
        _ => false,
    }
}

/// So many bytes are scanned before the quick scan may stop.
const STRETCH: usize = 4096;

/// Return true if bytes may begin an odd character: for all that do, and for few others.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_bitwise_bool, reason = "the loop around it becomes vector code so")]
fn is_suspect(byte: u8, second: u8, third: u8) -> bool {
    let within = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
    let control = (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r') | (byte == 0x7f);
    let latin = (byte == 0xc2) & ((second < 0xa0) | (second == 0xad));
    let marks = (byte == 0xcd) & (second == 0x8f) | (byte == 0xd8) & (second == 0x9c);
    let fillers = (second == 0x85) & within(third, 0x9f, 0xa0) | (second == 0x9e) & within(third, 0xb4, 0xb5);
    let letters = (byte == 0xe1) & (fillers | (second == 0xa0) & within(third, 0x8b, 0x8f));
    let punctuation =
        (second == 0x80) & (within(third, 0x8b, 0x8f) | within(third, 0xaa, 0xae)) | (second == 0x81) & (third >= 0xa0);
    let general = (byte == 0xe2) & punctuation | (byte == 0xe3) & (second == 0x85) & (third == 0xa4);
    let specials =
        (second == 0xbb) & (third == 0xbf) | (second == 0xbe) & (third == 0xa0) | (second == 0xbf) & (third >= 0xb0);
    let forms = (byte == 0xef) & ((second == 0xb8) & (third < 0x90) | specials);
    let far =
        (byte == 0xf0) & ((second == 0x9b) & (third == 0xb2) | (second == 0x9d) & (third == 0x85)) | (byte == 0xf3);
    control | latin | marks | letters | general | forms | far
}

/// Return the number of bytes of a character, given its first byte.
fn char_length(byte: u8) -> usize {
    match byte {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Return the character of a text that begins at an offset.
fn char_at(text: &[u8], start: usize) -> Option<char> {
    let bytes = text.get(start..start + char_length(*text.get(start)?))?;
    std::str::from_utf8(bytes).ok()?.chars().next()
}

/// Return the kind of the character from `start` to `end`, if it is odd.
fn kind_of(text: &[u8], start: usize, end: usize) -> Option<OddKind> {
    let before = || text[..start].iter().rposition(|byte| byte & 0xC0 != 0x80).and_then(|index| char_at(text, index));
    match char_at(text, start)? {
        '\t' | '\n' | '\r' => None,
        c if c.is_control() => Some(OddKind::Control),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(OddKind::Bidi),
        '\u{fffd}' => Some(OddKind::Replacement),
        '\u{feff}' => Some(OddKind::ByteOrderMark),
        '\u{200c}' | '\u{200d}' => {
            let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && (!is_ignorable(c) || is_selector(c)));
            (!joins(before()) || !joins(char_at(text, end))).then_some(OddKind::Invisible)
        }
        c if is_selector(c) => {
            let varies = |c: char| match c {
                '0'..='9' | '#' | '*' => true,
                _ => !c.is_ascii() && !is_ignorable(c) && !c.is_whitespace(),
            };
            (!before().is_some_and(varies)).then_some(OddKind::Invisible)
        }
        c => (is_ignorable(c) || matches!(c, '\u{fff9}'..='\u{fffb}')).then_some(OddKind::Invisible),
    }
}

/// Return true if a character selects a variant of the character before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Return true if a character is a `Default_Ignorable_Code_Point` of Unicode: software that doesn't know it displays
/// nothing.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringArray};
    use arrow_schema::Field;

    use super::*;

    fn odd_in(texts: Vec<Option<String>>) -> Vec<(i64, OddKind, i64, i64)> {
        let array: ArrayRef = Arc::new(StringArray::from(texts));
        let texts = Texts::new(&Field::new("", array.data_type().clone(), true), &array).unwrap();
        odd_characters(&texts).unwrap().into_iter().map(|odd| (odd.row, odd.kind, odd.start, odd.end)).collect()
    }

    fn of(text: &str) -> Vec<(OddKind, i64, i64)> {
        odd_in(vec![Some(text.to_owned())]).into_iter().map(|(_, kind, start, end)| (kind, start, end)).collect()
    }

    #[test]
    fn a_first_look_passes_nothing_that_is_odd() {
        for c in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let character = c.encode_utf8(&mut bytes).as_bytes();
            let byte = |index: usize| character.get(index).copied().unwrap_or_default();
            let suspect = is_suspect(byte(0), byte(1), byte(2));
            assert_eq!(is_plain(character), matches!(c, '\t' | '\n' | ' '..='~'), "{c:?}");
            if kind_of(character, 0, character.len()).is_some() {
                assert!(suspect && may_be_odd(character), "{c:?}");
                let text = format!("{}{c}", "x".repeat(BLOCK - 1));
                assert_eq!(of(&text).len(), 1, "{c:?}");
            } else if !suspect {
                assert!(!may_be_odd(character), "{c:?}");
            }
        }
    }

    #[test]
    fn each_kind_is_reported_once_at_its_first_offset() {
        let text = "a\u{7}\u{0}b\u{202e}c\u{2066}\n\r\u{200b}\u{200b}\u{fffd}\u{feff}\u{85}\u{ad}";
        let kinds = [
            (OddKind::Control, 1, 2),
            (OddKind::Bidi, 4, 7),
            (OddKind::LineEnd, 12, 13),
            (OddKind::Invisible, 13, 16),
            (OddKind::Replacement, 19, 22),
            (OddKind::ByteOrderMark, 22, 25),
        ];
        assert_eq!(of(text), kinds);
        assert_eq!(of(&format!("\t\n{}é中。“…” ﷺ𝔸 ㅋㅋ", "text ".repeat(50))), []);
        assert_eq!(odd_in(vec![None, Some(String::new()), Some("\0".into())]), [(2, OddKind::Control, 0, 1)]);
    }

    #[test]
    fn line_ends_are_mixed_where_one_differs_from_the_first() {
        for (text, range) in [
            ("a\r\nb\r\n", None),
            ("a\nb\n", None),
            ("a\rb\r", None),
            ("a\r\nb\n", Some((4, 5))),
            ("a\nb\r\n", Some((3, 5))),
            ("\r\r\n", Some((1, 3))),
            ("\n\r", Some((1, 2))),
            ("\r", None),
            ("\r\n\r", Some((2, 3))),
        ] {
            let expected: Vec<_> = range.into_iter().map(|(start, end)| (OddKind::LineEnd, start, end)).collect();
            assert_eq!(of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn joiners_and_selectors_that_do_their_work_are_not_odd() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "1\u{fe0f}\u{20e3}",
            "葛\u{e0100}",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
        for text in
            ["a\u{200d}b", "\u{200c}", "é\u{200d}", "a\u{fe0f}", "\u{fe0f}", "❤\u{fe0f}\u{fe0e}", "é\u{200b}\u{200d}é"]
        {
            assert_eq!(of(text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn random_texts_are_searched_like_character_by_character() {
        let mut random = rand_mt::Mt::new(5);
        let mut below = |n: u32| random.next_u32() % n;
        let parts = [
            "x",
            "text of more bytes than one, ",
            "é",
            "中文。",
            "\u{200b}",
            "\u{200d}",
            "\0",
            "\u{9f}",
            "\u{fe0f}",
            "😀",
            "\u{e0041}",
            "\u{feff}",
            "\u{fffd}",
            "\u{2069}",
        ];
        for _ in 0..3000 {
            let text: String = (0..below(40)).map(|_| parts[(below(3) * below(15) / 2) as usize % 14]).collect();
            let mut expected: Vec<(OddKind, i64, i64)> = Vec::new();
            for (start, c) in text.char_indices() {
                let end = start + c.len_utf8();
                if let Some(kind) =
                    kind_of(text.as_bytes(), start, end).filter(|k| expected.iter().all(|(seen, _, _)| seen != k))
                {
                    expected.push((kind, start as i64, end as i64));
                }
            }
            assert_eq!(of(&text), expected, "{text:?}");
        }
    }
}
