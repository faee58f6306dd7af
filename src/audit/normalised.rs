//! Normalises texts: removes what people change when they copy a text, which is case, punctuation and spacing.
//!
//! Compatibility forms stay as they are (no NFKC): the rows of one dataset come from one source, which writes them in
//! one way, and `x²` would become `x2`, which is another task.

use std::borrow::Cow;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Append a text in lower case (`str.casefold` of each character) and without punctuation. Each run of white space
/// becomes one space, and white space at the ends is removed. Punctuation stays if another number or another sum would
/// result without it: `/` and `%`; a point, comma or colon before a digit; a hyphen, dash or `*` next to a digit, or
/// alone between spaces. A text that is all punctuation stays as well.
pub fn normalised(text: &[u8], out: &mut Vec<u8>) {
    // Bytes of a column are UTF-8: they were checked.
    let text = simdutf8::basic::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed);
    let start = out.len();
    if text.is_ascii() {
        put_ascii(text.as_bytes(), out);
    } else {
        put(&text, out);
    }
    if out.len() == start {
        out.extend_from_slice(text.trim_matches(is_space).as_bytes());
    }
}

/// Return true for white space as `str.isspace` defines it.
fn is_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}') || c.is_whitespace()
}

/// Return true if punctuation between two characters is kept.
fn counts(c: char, before: Option<char>, after: Option<char>) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    match c {
        '/' | '%' => true,
        '.' | ',' | ':' => is_digit(after),
        '-' | '*' | '\u{2010}'..='\u{2015}' => {
            is_digit(before) || is_digit(after) || before.is_none_or(is_space) && after.is_none_or(is_space)
        }
        _ => false,
    }
}

/// The class of an ASCII byte for [`put_ascii`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ascii {
    Kept,
    Space,
    Punctuation,
}

static ASCII: [Ascii; 128] = {
    let mut table = [Ascii::Kept; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'\t'..=b'\r' | 0x1c..=b' ' => Ascii::Space,
            // Symbols, which aren't punctuation to Unicode.
            b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~' => Ascii::Kept,
            _ if (byte as char).is_ascii_punctuation() => Ascii::Punctuation,
            _ => Ascii::Kept,
        };
        byte += 1;
    }
    table
};

/// [`put`] for ASCII.
fn put_ascii(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(text.len());
    let mut spaced = false;
    for (index, byte) in text.iter().enumerate() {
        match ASCII[usize::from(byte & 0x7f)] {
            Ascii::Kept => {}
            Ascii::Space => {
                spaced = true;
                continue;
            }
            Ascii::Punctuation => {
                let before = index.checked_sub(1).map(|previous| char::from(text[previous]));
                if !counts(char::from(*byte), before, text.get(index + 1).map(|byte| char::from(*byte))) {
                    continue;
                }
            }
        }
        if std::mem::take(&mut spaced) && out.len() > start {
            out.push(b' ');
        }
        out.push(byte.to_ascii_lowercase());
    }
}

fn put(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    let (mut spaced, mut before) = (false, None);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let current = Some(c);
        if is_space(c) {
            spaced = true;
        } else if !is_punctuation(c) || counts(c, before, rest.clone().next()) {
            if std::mem::take(&mut spaced) && out.len() > start {
                out.push(b' ');
            }
            fold(c, out);
        }
        before = current;
    }
}

/// Return true if a character is a letter of a caseless script that is common in datasets.
fn is_plain_letter(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}')
}

fn is_punctuation(c: char) -> bool {
    match c {
        c if c.is_ascii() => ASCII[c as usize] == Ascii::Punctuation,
        c if is_plain_letter(c) => false,
        c => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

/// Append a character as `str.casefold` does. Cherokee letters are folded to the opposite case, consistently for all of
/// them.
fn fold(c: char, out: &mut Vec<u8>) {
    let mut put = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    match c {
        c if c.is_ascii() => put(c.to_ascii_lowercase()),
        // Case folding is the lower case of the upper case. The exceptions are a letter whose upper case belongs to
        // another letter, and a letter without an upper case.
        'ı' => put(c),
        'ẞ' => "ss".chars().for_each(put),
        c if is_plain_letter(c) => put(c),
        c => c.to_uppercase().flat_map(char::to_lowercase).for_each(put),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut out = b"kept".to_vec();
        normalised(text.as_bytes(), &mut out);
        String::from_utf8(out.split_off(4)).unwrap()
    }

    #[test]
    fn case_punctuation_and_spacing_go() {
        for (text, expected) in [
            ("  Hello,\t\u{a0}World! ", "hello world"),
            ("don't", "dont"),
            ("«Straße» — ΣΊΣΥΦΟΣ", "strasse — σίσυφοσ"),
            ("（北京，中国）。", "北京中国"),
            ("ẞ ı İ", "ss ı i\u{307}"),
            ("\u{1c}a\u{1f}b\u{1f}", "a b"),
            ("a $b$ <c>", "a $b$ <c>"),
            ("", ""),
            (" \n", ""),
        ] {
            assert_eq!(of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_makes_another_number_stays() {
        for (text, other) in [
            ("3.5", "35"),
            ("1,000", "1000"),
            ("10:30", "1030"),
            ("-5", "5"),
            ("5 * 3", "5 - 3"),
            ("5*3", "53"),
            ("5-x", "5x"),
            ("6/2", "62"),
            ("x/y", "xy"),
            ("10%", "10"),
            ("5 – 3", "5 3"),
            ("?", "!"),
            ("-", "*"),
        ] {
            assert_ne!(of(text), of(other));
        }
        for (text, other) in [("e-mail", "email"), ("is 5.", "is 5"), ("(5)", "5"), ("**a**", "a"), ("a: b", "a b")] {
            assert_eq!(of(text), of(other));
        }
    }

    #[test]
    fn ascii_is_as_any_other_text() {
        let mut random = rand_mt::Mt::new(11);
        for _ in 0..20_000 {
            let text: String =
                (0..random.next_u32() % 8).map(|_| char::from((random.next_u32() % 128) as u8)).collect();
            let (mut ascii, mut any) = (Vec::new(), Vec::new());
            put_ascii(text.as_bytes(), &mut ascii);
            put(&text, &mut any);
            assert_eq!(ascii, any, "{text:?}");
            // Compare with a text that isn't ASCII.
            assert_eq!(
                of(&format!("{text} é")).trim_end_matches('é').trim_end(),
                String::from_utf8(any).unwrap(),
                "{text:?}"
            );
            let normal = of(&text);
            assert_eq!(of(&normal), normal, "{text:?}");
        }
    }

    #[test]
    fn plain_letters_have_no_case_and_are_no_punctuation() {
        for c in ('\0'..=char::MAX).filter(|c| is_plain_letter(*c)) {
            assert!(c.general_category_group() != GeneralCategoryGroup::Punctuation, "{c}");
            assert!(c.to_uppercase().eq([c]) && c.to_lowercase().eq([c]) && !is_space(c), "{c}");
        }
        for byte in 0..128_u8 {
            let c = char::from(byte);
            assert_eq!(
                ASCII[usize::from(byte)] == Ascii::Punctuation,
                c.general_category_group() == GeneralCategoryGroup::Punctuation
            );
            assert_eq!(ASCII[usize::from(byte)] == Ascii::Space, is_space(c));
        }
    }
}
