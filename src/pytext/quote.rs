//! `repr` of strings and bytes: which quote, and what is escaped.

use std::io::Write as _;
use std::sync::OnceLock;

use super::fill::{SLOT_BYTES, put};

/// Appends formatted text; writing into a vector can't fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => {{ let _ = write!($out, $($format)*); }};
}

/// Words of 64 bits in the bitmap for [`set_printable`]: one bit for each code point.
pub const PRINTABLE_WORDS: usize = 0x11_0000 / 64;

/// Which characters the running interpreter prints as they are.
static PRINTABLE: OnceLock<Vec<u64>> = OnceLock::new();

/// Installs the running interpreter's `str.isprintable`: bit `c % 64` of word `c / 64` is set if `c` is printable.
///
/// Each Python release brings its own Unicode tables, so `repr` of one string differs between releases; the text of a
/// field is that of the interpreter it runs in. Without a bitmap the compiler's own tables serve, which follow the
/// same rule (no control, format, surrogate, private or unassigned character, no separator but the space) for
/// another Unicode version.
///
/// The first bitmap stays. Returns whether `bitmap` is now in use: not if it hasn't [`PRINTABLE_WORDS`] words, or
/// another was there before.
pub fn set_printable(bitmap: Vec<u64>) -> bool {
    bitmap.len() == PRINTABLE_WORDS && PRINTABLE.set(bitmap).is_ok()
}

fn is_printable(c: char) -> bool {
    match PRINTABLE.get() {
        Some(bitmap) => bitmap[c as usize / 64] >> (c as usize % 64) & 1 == 1,
        // `str::escape_debug` escapes a combining mark at the start of a text alone, hence the letter before it.
        None => format!("a{c}").escape_debug().nth(1) == Some(c),
    }
}

/// Appends the `repr` of bytes that it shows as they are: printable ASCII without `\\`, and not with both quotes. False, and
/// nothing, if they aren't such.
#[inline]
pub(super) fn plain(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let (at, len) = (out.len(), bytes.len());
    if len < SLOT_BYTES {
        out.extend_from_slice(&[b' '; SLOT_BYTES]);
        let Some(slot) = out[at..].first_chunk_mut::<SLOT_BYTES>() else { return false };
        if let Some(inside) = slot[1..].first_chunk_mut::<{ SLOT_BYTES - 1 }>() {
            put(bytes, inside);
        }
        let quote = quote_around(kinds(slot));
        slot[0] = quote.unwrap_or_default();
        out.truncate(if quote.is_some() { at + 1 + len } else { at });
        out.extend(quote);
        return quote.is_some();
    }
    let mut found = bytes.last_chunk().map_or(OTHER, kinds);
    for chunk in bytes.as_chunks().0 {
        found |= kinds(chunk);
        if found & OTHER != 0 {
            return false;
        }
    }
    let Some(quote) = quote_around(found) else { return false };
    out.reserve(len + 2);
    out.push(quote);
    out.extend_from_slice(bytes);
    out.push(quote);
    true
}

/// [`plain`] of the bytes `start..end` of others, which are looked at too: where those are plain as well, no byte is copied
/// twice. False, and nothing, also if they aren't, or if there are no such bytes.
#[inline]
pub(super) fn plain_among(bytes: &[u8], start: usize, end: usize, out: &mut Vec<u8>) -> bool {
    let Some(len) = end.checked_sub(start).filter(|len| *len <= SLOT_BYTES) else { return false };
    let Some(window) = bytes.get(start..).and_then(<[u8]>::first_chunk) else { return false };
    if kinds(window) & !QUOTE != 0 {
        return false;
    }
    let at = out.len() + 1;
    out.push(b'\'');
    out.extend_from_slice(window);
    out.truncate(at + len);
    out.push(b'\'');
    true
}

/// What bytes hold, a bit each.
const APOSTROPHE: u8 = 1;
const QUOTE: u8 = 2;
/// What isn't printable ASCII, and `\\`.
const OTHER: u8 = 4;

/// What is among some bytes.
#[inline]
fn kinds(bytes: &[u8; SLOT_BYTES]) -> u8 {
    // Each byte is told by arithmetic, and all of them together: the compiler looks at several at once.
    let odd = bytes.map(|byte| {
        let other = u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') | u8::from(byte == b'\\');
        (u8::from(byte == b'\'') * APOSTROPHE) | (u8::from(byte == b'"') * QUOTE) | (other * OTHER)
    });
    let all = odd.as_chunks().0.iter().fold(0, |all, part| all | u64::from_ne_bytes(*part));
    if all == 0 { 0 } else { all.to_ne_bytes().into_iter().fold(0, |kinds, byte| kinds | byte) }
}

/// What stands around a text that nothing is escaped in: single quotes, unless they alone would have to be.
fn quote_around(kinds: u8) -> Option<u8> {
    match kinds {
        0 | QUOTE => Some(b'\''),
        APOSTROPHE => Some(b'"'),
        _ => None,
    }
}

/// Appends `repr(text)`.
pub fn string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let quote = quote_of(bytes);
    out.reserve(bytes.len() + 2);
    out.push(quote);
    let mut done = 0;
    for (at, c) in text.char_indices() {
        let plain = match c {
            '\\' => false,
            ' '..='~' => c as u32 != u32::from(quote),
            '\0'..='\x7f' => false,
            _ => is_printable(c),
        };
        if plain {
            continue;
        }
        out.extend_from_slice(&bytes[done..at]);
        done = at + c.len_utf8();
        match (c, c as u32) {
            (c, code) if code < 0x80 => ascii(c as u8, out),
            (_, code @ ..0x100) => put!(out, "\\x{code:02x}"),
            (_, code @ ..0x1_0000) => put!(out, "\\u{code:04x}"),
            (_, code) => put!(out, "\\U{code:08x}"),
        }
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(quote);
}

/// Appends `repr(bytes)`.
pub(super) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let quote = quote_of(bytes);
    out.reserve(bytes.len() + 3);
    out.extend_from_slice(&[b'b', quote]);
    for &byte in bytes {
        if matches!(byte, b' '..=b'~') && byte != b'\\' && byte != quote { out.push(byte) } else { ascii(byte, out) }
    }
    out.push(quote);
}

/// Single quotes, unless they alone would have to be escaped.
fn quote_of(bytes: &[u8]) -> u8 {
    if memchr::memchr(b'\'', bytes).is_some() && memchr::memchr(b'"', bytes).is_none() { b'"' } else { b'\'' }
}

/// Appends the escape of one byte.
fn ascii(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', byte]),
        _ => put!(out, "\\x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_quoted_alike() {
        let long = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ !~";
        for len in 0..=long.len() {
            let (mut quick, mut among, mut all) = (b"[".to_vec(), b"[".to_vec(), b"[".to_vec());
            assert!(plain(&long.as_bytes()[..len], &mut quick));
            assert_eq!(plain_among(long.as_bytes(), 3, 3 + len, &mut among), len <= 32 && 3 + 32 <= long.len());
            string(&long[..len], &mut all);
            assert_eq!(quick, all);
            if among.len() > 1 {
                let mut own = b"[".to_vec();
                string(&long[3..3 + len], &mut own);
                assert_eq!(among, own);
            }
            for at in 0..len {
                for quotes in [&b"\""[..], b"'", b"\"'", b"'\""] {
                    let mut text = long.as_bytes()[..len].to_vec();
                    quotes.iter().zip(0..).for_each(|(quote, n)| text[(at + 7 * n) % len] = *quote);
                    let (mut quick, mut all) = (b"[".to_vec(), b"[".to_vec());
                    string(std::str::from_utf8(&text).unwrap(), &mut all);
                    let both = text.contains(&b'"') && text.contains(&b'\'');
                    assert_eq!(plain(&text, &mut quick), !both);
                    assert_eq!(quick, if both { &b"["[..] } else { &all });
                    let (mut among, padded) = (b"[".to_vec(), [&text[..], &[b' '; 32]].concat());
                    if plain_among(&padded, 0, len, &mut among) {
                        assert_eq!(among, all);
                    }
                }
                for other in [b'\\', b'\n', 0x7f, 0x80, 0xff] {
                    let mut text = long.as_bytes()[..len].to_vec();
                    text[at] = other;
                    assert!(!plain(&text, &mut quick) && !plain_among(&text, 0, len, &mut quick));
                    assert_eq!(quick, all);
                }
            }
        }
    }
}
