//! Characters in a column's texts that nobody sees and that a model gets all the same.
//!
//! Most texts have none. A first look at all bytes says so of plain ASCII, a second one, at three bytes at a time, of any
//! other text. Only where neither does are characters told apart.

use std::sync::atomic::{AtomicBool, Ordering};

use memchr::{memchr, memchr2_iter};

use super::texts::Texts;
use crate::threads;

/// What is odd about a character; the numbers are Python's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum OddKind {
    /// A control character, C0, DEL or C1, but for tab, line feed and carriage return.
    Control = 0,
    /// A bidirectional embedding, override or isolate, or the end of one: U+202A to U+202E, U+2066 to U+2069.
    Bidi = 1,
    /// A line end of another kind than the first of the text: line feed, carriage return, or both.
    LineEnd = 2,
    /// A character that shows nothing: one that Unicode has as ignorable by default (zero width space and joiners, soft
    /// hyphen, direction marks, fillers, tags), or an annotation mark. A joiner between two characters beyond ASCII is
    /// none, as Persian, Indic scripts and emoji have it; nor is the first variation selector behind a character that
    /// can vary.
    Invisible = 3,
    /// U+FFFD, which stands where bytes could not be read.
    Replacement = 4,
    /// U+FEFF, the byte order mark of a file.
    ByteOrderMark = 5,
}

impl OddKind {
    /// All kinds, by their numbers.
    pub const ALL: [Self; 6] =
        [Self::Control, Self::Bidi, Self::LineEnd, Self::Invisible, Self::Replacement, Self::ByteOrderMark];

    /// Its name, for Python.
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
    /// Its first byte in the row's text.
    pub start: i64,
    /// The byte behind its last.
    pub end: i64,
    /// What is odd.
    pub kind: OddKind,
}

/// The first character of each kind in each row's text: row by row, in a row by place. None if texts that were opened
/// [for their bytes](Texts::bytes_of) turn out to be none.
pub fn odd_characters(texts: &Texts) -> Option<Vec<OddCharacter>> {
    let sound = AtomicBool::new(true);
    let found = texts.look(|rows| {
        let mut out = Vec::new();
        for rows in threads::chunks(rows, ROWS_TOGETHER) {
            if texts.stretch(rows.clone()).is_some_and(is_plain) {
                continue;
            }
            if !texts.are_sound(rows.clone()) {
                sound.store(false, Ordering::Relaxed);
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
    sound.into_inner().then_some(found)
}

/// Short texts that are looked at as one first.
const ROWS_TOGETHER: usize = 32;

/// Whether bytes are ASCII without anything odd, nor any carriage return.
#[allow(clippy::needless_bitwise_bool, reason = "the loop around it becomes vector code so")]
fn is_plain(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| (byte.wrapping_sub(0x20) < 0x5f) | (*byte == b'\n') | (*byte == b'\t');
    // Without a branch within a stretch, so that the compiler takes many bytes at a time.
    text.chunks(STRETCH).all(|stretch| stretch.iter().fold(true, |plain, byte| plain & is_plain(byte)))
}

/// Add what is odd about a text.
fn look_closer(row: usize, text: &[u8], out: &mut Vec<OddCharacter>) {
    let first = out.len();
    let add = |(start, end): (usize, usize), kind: OddKind, out: &mut Vec<OddCharacter>| {
        out.push(OddCharacter { row: row as i64, start: start as i64, end: end as i64, kind });
    };
    if let Some(place) = other_line_end(text) {
        add(place, OddKind::LineEnd, out);
    }
    let mut seen = 0_u8;
    let mut at = 0;
    // Stretches that the first look passes are skipped.
    while let Some(start) = next_that_may_be_odd(text, at) {
        let end = start + char_length(text[start]);
        if let Some(kind) = kind_of(text, start, end)
            && seen & 1 << kind as u8 == 0
        {
            seen |= 1 << kind as u8;
            add((start, end), kind, out);
            // Line ends aside.
            if seen.count_ones() as usize == OddKind::ALL.len() - 1 {
                break;
            }
        }
        at = end;
    }
    out[first..].sort_unstable();
}

/// The first line end of another kind than the first one.
fn other_line_end(text: &[u8]) -> Option<(usize, usize)> {
    memchr(b'\r', text)?;
    let mut ends = memchr2_iter(b'\r', b'\n', text).filter_map(|at| match text[at] {
        b'\n' if at > 0 && text[at - 1] == b'\r' => None,
        b'\r' if text.get(at + 1) == Some(&b'\n') => Some((at, at + 2)),
        _ => Some((at, at + 1)),
    });
    let (start, end) = ends.next()?;
    ends.find(|(other, behind)| text[*other..*behind] != text[start..end])
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The next byte, from `from` on, at which a character begins that may be odd.
fn next_that_may_be_odd(text: &[u8], from: usize) -> Option<usize> {
    let mut start = from;
    while start < text.len() {
        let end = (start + BLOCK).min(text.len());
        // With the bytes of the character that goes over the block's end.
        if may_be_odd(&text[start..(end + 2).min(text.len())]) {
            let byte = |at: usize| text.get(at).copied().unwrap_or_default();
            if let Some(at) = (start..end).find(|at| is_suspect(byte(*at), byte(*at + 1), byte(*at + 2))) {
                return Some(at);
            }
        }
        start = end;
    }
    None
}

/// Whether an odd character may begin anywhere in `text`.
fn may_be_odd(text: &[u8]) -> bool {
    let Some((_, one)) = text.split_first() else { return false };
    let two = one.get(1..).unwrap_or_default();
    let mut found = false;
    // Without a branch, so that the compiler takes many bytes at a time; in stretches, so that it may stop.
    let blocks = text.chunks(STRETCH).zip(one.chunks(STRETCH)).zip(two.chunks(STRETCH));
    for ((zero, one), two) in blocks {
        for ((zero, one), two) in zero.iter().zip(one).zip(two) {
            found |= is_suspect(*zero, *one, *two);
        }
        if found {
            return true;
        }
    }
    match text {
        [.., last] if text.len() == 1 => is_suspect(*last, 0, 0),
        [.., before, last] => is_suspect(*before, *last, 0) || is_suspect(*last, 0, 0),
        _ => false,
    }
}

/// Bytes after which the first look may stop.
const STRETCH: usize = 4096;

/// Whether bytes may begin an odd character: true for all that do, and few others.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_bitwise_bool, reason = "the loop around it becomes vector code so")]
fn is_suspect(byte: u8, one: u8, two: u8) -> bool {
    let within = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
    let control = (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r') | (byte == 0x7f);
    let latin = (byte == 0xc2) & ((one < 0xa0) | (one == 0xad));
    let marks = (byte == 0xcd) & (one == 0x8f) | (byte == 0xd8) & (one == 0x9c);
    let fillers = (one == 0x85) & within(two, 0x9f, 0xa0) | (one == 0x9e) & within(two, 0xb4, 0xb5);
    let letters = (byte == 0xe1) & (fillers | (one == 0xa0) & within(two, 0x8b, 0x8f));
    let punctuation =
        (one == 0x80) & (within(two, 0x8b, 0x8f) | within(two, 0xaa, 0xae)) | (one == 0x81) & (two >= 0xa0);
    let general = (byte == 0xe2) & punctuation | (byte == 0xe3) & (one == 0x85) & (two == 0xa4);
    let specials = (one == 0xbb) & (two == 0xbf) | (one == 0xbe) & (two == 0xa0) | (one == 0xbf) & (two >= 0xb0);
    let forms = (byte == 0xef) & ((one == 0xb8) & (two < 0x90) | specials);
    let far = (byte == 0xf0) & ((one == 0x9b) & (two == 0xb2) | (one == 0x9d) & (two == 0x85)) | (byte == 0xf3);
    control | latin | marks | letters | general | forms | far
}

/// How many bytes a character has, by its first.
fn char_length(byte: u8) -> usize {
    match byte {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// The character of a text that begins at a byte.
fn char_at(text: &[u8], start: usize) -> Option<char> {
    let bytes = text.get(start..start + char_length(*text.get(start)?))?;
    std::str::from_utf8(bytes).ok()?.chars().next()
}

/// What is odd about the character from `start` to `end`.
fn kind_of(text: &[u8], start: usize, end: usize) -> Option<OddKind> {
    let before = || text[..start].iter().rposition(|byte| byte & 0xC0 != 0x80).and_then(|at| char_at(text, at));
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

/// Whether a character chooses a form of the one before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether Unicode has a character as `Default_Ignorable_Code_Point`: shown as nothing by what doesn't know it.
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

    fn found(texts: Vec<Option<String>>) -> Vec<(i64, OddKind, i64, i64)> {
        let array: ArrayRef = Arc::new(StringArray::from(texts));
        let texts = Texts::new(&Field::new("", array.data_type().clone(), true), &array).unwrap();
        odd_characters(&texts).unwrap().into_iter().map(|odd| (odd.row, odd.kind, odd.start, odd.end)).collect()
    }

    fn of(text: &str) -> Vec<(OddKind, i64, i64)> {
        found(vec![Some(text.to_owned())]).into_iter().map(|(_, kind, start, end)| (kind, start, end)).collect()
    }

    #[test]
    fn a_first_look_passes_nothing_that_is_odd() {
        for c in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let own = c.encode_utf8(&mut bytes).as_bytes();
            let byte = |at: usize| own.get(at).copied().unwrap_or_default();
            let suspect = is_suspect(byte(0), byte(1), byte(2));
            assert_eq!(is_plain(own), matches!(c, '\t' | '\n' | ' '..='~'), "{c:?}");
            if kind_of(own, 0, own.len()).is_some() {
                assert!(suspect && may_be_odd(own), "{c:?}");
                let text = format!("{}{c}", "x".repeat(BLOCK - 1));
                assert_eq!(of(&text).len(), 1, "{c:?}");
            } else if !suspect {
                assert!(!may_be_odd(own), "{c:?}");
            }
        }
    }

    #[test]
    fn each_kind_is_told_once_at_its_first_place() {
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
        assert_eq!(found(vec![None, Some(String::new()), Some("\0".into())]), [(2, OddKind::Control, 0, 1)]);
    }

    #[test]
    fn line_ends_are_mixed_where_one_differs_from_the_first() {
        for (text, place) in [
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
            let expected: Vec<_> = place.into_iter().map(|(start, end)| (OddKind::LineEnd, start, end)).collect();
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
                    kind_of(text.as_bytes(), start, end).filter(|k| expected.iter().all(|(own, _, _)| own != k))
                {
                    expected.push((kind, start as i64, end as i64));
                }
            }
            assert_eq!(of(&text), expected, "{text:?}");
        }
    }
}
