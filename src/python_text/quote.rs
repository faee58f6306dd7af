//! The `repr` of strings and bytes: the quotes, and the escapes.

use std::io::Write as _;
use std::sync::OnceLock;

use arrow_array::OffsetSizeTrait;

use super::fill::{SLOT_BYTES, put};

/// Append formatted text; writing into a vector can't fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => {{ let _ = write!($out, $($format)*); }};
}

/// The number of 64-bit words in the bitmap for [`set_printable`], which has one bit for each code point.
pub const PRINTABLE_WORDS: usize = 0x11_0000 / 64;

/// The characters that the running interpreter prints as they are.
static PRINTABLE: OnceLock<Vec<u64>> = OnceLock::new();

/// Install the running interpreter's `str.isprintable`: bit `c % 64` of word `c / 64` is set if `c` is printable.
///
/// Each Python release has its own Unicode tables, so the `repr` of a string differs between releases, and a field's
/// text has to be that of the running interpreter. Without a bitmap, the compiler's tables are used, which follow the
/// same rule (no control, format, surrogate, private or unassigned character, no separator but the space) for another
/// Unicode version.
///
/// The first bitmap stays. Returns true if `bitmap` is now in use. It isn't if it doesn't have [`PRINTABLE_WORDS`]
/// words, or if there was another one before.
pub fn set_printable(bitmap: Vec<u64>) -> bool {
    bitmap.len() == PRINTABLE_WORDS && PRINTABLE.set(bitmap).is_ok()
}

fn is_printable(c: char) -> bool {
    match PRINTABLE.get() {
        Some(bitmap) => bitmap[c as usize / 64] >> (c as usize % 64) & 1 == 1,
        // `str::escape_debug` escapes a combining mark only at the start of a text, so a letter is put before it.
        None => format!("a{c}").escape_debug().nth(1) == Some(c),
    }
}

/// Append the `repr` of bytes if it shows them as they are: printable ASCII without `\\`, and not with both quotes.
/// Otherwise append nothing and return false.
#[inline]
pub(super) fn plain(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let (start, len) = (out.len(), bytes.len());
    if len < SLOT_BYTES {
        out.extend_from_slice(&[b' '; SLOT_BYTES]);
        let Some(slot) = out[start..].first_chunk_mut::<SLOT_BYTES>() else { return false };
        if let Some(inside) = slot[1..].first_chunk_mut::<{ SLOT_BYTES - 1 }>() {
            put(bytes, inside);
        }
        let quote = quote_around(kinds(slot));
        slot[0] = quote.unwrap_or_default();
        out.truncate(if quote.is_some() { start + 1 + len } else { start });
        out.extend(quote);
        return quote.is_some();
    }
    let mut kinds_of_bytes = bytes.last_chunk().map_or(OTHER, kinds);
    for chunk in bytes.as_chunks().0 {
        kinds_of_bytes |= kinds(chunk);
        if kinds_of_bytes & OTHER != 0 {
            return false;
        }
    }
    let Some(quote) = quote_around(kinds_of_bytes) else { return false };
    out.reserve(len + 2);
    out.push(quote);
    out.extend_from_slice(bytes);
    out.push(quote);
    true
}

/// Append the `repr` of texts with commas between them, up to the first that isn't printable ASCII without `\\` and
/// `'`, as nearly all are. Returns the number of these texts. `offsets` are the beginnings of the texts in `bytes`, and
/// the end of the last one; they may be invalid.
#[inline]
pub(super) fn plain_items<O: OffsetSizeTrait>(bytes: &[u8], offsets: &[O], out: &mut Vec<u8>) -> usize {
    /// Most texts are no longer than this. So many bytes are copied at once, and the excess is overwritten.
    const COPIED_BYTES: usize = 2 * SLOT_BYTES;
    /// The bytes between two texts: the closing quote of the first, and the opening quote of the second.
    const BETWEEN: &[u8; 4] = b"', '";
    let [first, .., last] = offsets else { return 0 };
    // The texts are adjacent, and are checked together.
    let plain = plain_end(bytes, first.as_usize(), last.as_usize());
    let (before, mut done) = (out.len(), 0);
    out.push(b'\'');
    for ends in offsets.windows(2) {
        let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
        let Some(text) = bytes.get(start..end).filter(|_| end <= plain) else { break };
        match bytes[start..].first_chunk::<COPIED_BYTES>() {
            Some(window) if text.len() <= COPIED_BYTES => {
                let start_of_copy = out.len();
                out.extend_from_slice(window);
                out.truncate(start_of_copy + text.len());
            }
            _ => out.extend_from_slice(text),
        }
        out.extend_from_slice(BETWEEN);
        done += 1;
    }
    // After the last text, only the quote is needed.
    out.truncate(if done > 0 { out.len() - (BETWEEN.len() - 1) } else { before });
    done
}

/// Return the index of the first byte from `start` on that isn't printable ASCII, or is `\\` or `'`; at most `end`.
#[inline]
fn plain_end(bytes: &[u8], start: usize, end: usize) -> usize {
    let is_odd = |byte: &u8| !matches!(byte, b' '..=b'~') | matches!(byte, b'\\' | b'\'');
    let mut index = start;
    while index < end {
        let rest = bytes.get(index..).unwrap_or_default();
        // There is no branch within, so the compiler tests several bytes at once.
        let window = rest.first_chunk::<SLOT_BYTES>();
        if window.is_none_or(|window| window.iter().fold(false, |any, byte| any | is_odd(byte))) {
            let rest = &rest[..rest.len().min(end - index)];
            match rest.iter().take(SLOT_BYTES).position(is_odd) {
                Some(odd) => return index + odd,
                None if rest.len() <= SLOT_BYTES => return index + rest.len(),
                None => {}
            }
        }
        index += SLOT_BYTES;
    }
    end
}

/// The kinds of bytes, one bit each: an apostrophe.
const APOSTROPHE: u8 = 1;
const QUOTE: u8 = 2;
/// Bytes that aren't printable ASCII, and `\\`.
const OTHER: u8 = 4;

/// Return the kinds that occur among some bytes.
#[inline]
fn kinds(bytes: &[u8; SLOT_BYTES]) -> u8 {
    // Arithmetic without branches lets the compiler test several bytes at once.
    let odd = bytes.map(|byte| {
        let other = u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') | u8::from(byte == b'\\');
        (u8::from(byte == b'\'') * APOSTROPHE) | (u8::from(byte == b'"') * QUOTE) | (other * OTHER)
    });
    let all = odd.as_chunks().0.iter().fold(0, |all, part| all | u64::from_ne_bytes(*part));
    if all == 0 { 0 } else { all.to_ne_bytes().into_iter().fold(0, |kinds, byte| kinds | byte) }
}

/// Return the quotes around a text in which nothing is escaped: single quotes, unless only they would have to be
/// escaped.
fn quote_around(kinds: u8) -> Option<u8> {
    match kinds {
        0 | QUOTE => Some(b'\''),
        APOSTROPHE => Some(b'"'),
        _ => None,
    }
}

/// Append `repr(text)`.
pub fn string(text: &str, out: &mut Vec<u8>) {
    let quote = quote_of(text.as_bytes());
    out.reserve(text.len() + 2);
    out.push(quote);
    inside(text, quote, out);
    out.push(quote);
}

/// Append what stands between the quotes of `repr(text)`.
pub(super) fn inside(text: &str, quote: u8, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (index, c) in text.char_indices() {
        let plain = match c {
            '\\' => false,
            ' '..='~' => c as u32 != u32::from(quote),
            '\0'..='\x7f' => false,
            _ => is_printable(c),
        };
        if plain {
            continue;
        }
        out.extend_from_slice(&bytes[done..index]);
        done = index + c.len_utf8();
        match (c, c as u32) {
            (c, code) if code < 0x80 => ascii(c as u8, out),
            (_, code @ ..0x100) => put!(out, "\\x{code:02x}"),
            (_, code @ ..0x1_0000) => put!(out, "\\u{code:04x}"),
            (_, code) => put!(out, "\\U{code:08x}"),
        }
    }
    out.extend_from_slice(&bytes[done..]);
}

/// Append `repr(bytes)`.
pub(super) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let quote = quote_of(bytes);
    out.reserve(bytes.len() + 3);
    out.extend_from_slice(&[b'b', quote]);
    for &byte in bytes {
        if matches!(byte, b' '..=b'~') && byte != b'\\' && byte != quote { out.push(byte) } else { ascii(byte, out) }
    }
    out.push(quote);
}

/// Return the quote for bytes: a single quote, unless only that would have to be escaped.
pub(super) fn quote_of(bytes: &[u8]) -> u8 {
    if memchr::memchr(b'\'', bytes).is_some() && memchr::memchr(b'"', bytes).is_none() { b'"' } else { b'\'' }
}

/// Append the escape of one byte.
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
            let (mut quick, mut all) = (b"[".to_vec(), b"[".to_vec());
            assert!(plain(&long.as_bytes()[..len], &mut quick));
            string(&long[..len], &mut all);
            assert_eq!(quick, all);
            for index in 0..len {
                for quotes in [&b"\""[..], b"'", b"\"'", b"'\""] {
                    let mut text = long.as_bytes()[..len].to_vec();
                    quotes.iter().zip(0..).for_each(|(quote, n)| text[(index + 7 * n) % len] = *quote);
                    let (mut quick, mut all) = (b"[".to_vec(), b"[".to_vec());
                    string(std::str::from_utf8(&text).unwrap(), &mut all);
                    let both = text.contains(&b'"') && text.contains(&b'\'');
                    assert_eq!(plain(&text, &mut quick), !both);
                    assert_eq!(quick, if both { &b"["[..] } else { &all });
                }
                for other in [b'\\', b'\n', 0x7f, 0x80, 0xff] {
                    let mut text = long.as_bytes()[..len].to_vec();
                    text[index] = other;
                    assert!(!plain(&text, &mut quick));
                    assert_eq!(quick, all);
                }
            }
        }
    }

    /// Return texts of all lengths with `among` among their bytes and `room` bytes after them, and their beginnings.
    fn items(among: &[u8], room: usize) -> (Vec<u8>, Vec<i32>) {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        for len in (0..=70).chain((0..=70).rev()).chain([64; 9]) {
            bytes.extend((0..len).map(|index| b'a' + (index % 26) as u8));
            offsets.push(bytes.len() as i32);
        }
        let (middle, end) = (bytes.len() / 3, bytes.len());
        bytes[middle..middle + among.len()].copy_from_slice(among);
        bytes.resize(end + room, b'.');
        (bytes, offsets)
    }

    #[test]
    fn plain_items_are_quoted_alike() {
        for among in [&b""[..], b"'", b"\"", b"\\", b"\n", b"\x7f", "\u{e9}".as_bytes(), b"\"'"] {
            for room in [0, 10, 64, 1000] {
                let (bytes, offsets) = items(among, room);
                for (first, count) in
                    (0..offsets.len()).flat_map(|index| [1, 2, 5, 16, offsets.len()].map(|n| (index, n)))
                {
                    let some_offsets = &offsets[first..offsets.len().min(first + count + 1)];
                    let (mut out, mut all) = (b"[".to_vec(), b"[".to_vec());
                    let done = plain_items(&bytes, some_offsets, &mut out);
                    let text = |n: usize| &bytes[some_offsets[n] as usize..some_offsets[n + 1] as usize];
                    for n in 0..done {
                        all.extend_from_slice(if n > 0 { b", " } else { b"" });
                        string(std::str::from_utf8(text(n)).unwrap(), &mut all);
                    }
                    assert_eq!(out, all);
                    let odd = |byte: &u8| !(b' '..=b'~').contains(byte) || b"\\'".contains(byte);
                    assert!(done + 1 == some_offsets.len() || text(done).iter().any(odd));
                }
            }
        }
    }

    #[test]
    fn items_that_lead_outside_are_no_plain_ones() {
        let bytes = [b'a'; 100];
        for offsets in [&[3, 2][..], &[-1, 3], &[-1, -1], &[40, 104], &[101, 101], &[99, 200], &[5], &[]] {
            let mut out = b"[".to_vec();
            assert_eq!((plain_items(&bytes, offsets, &mut out), &out[..]), (0, &b"["[..]));
        }
        let mut out = Vec::new();
        assert_eq!((plain_items(&bytes, &[98, 100, 100, 99, 101], &mut out), &out[..]), (2, &b"'aa', ''"[..]));
    }
}
