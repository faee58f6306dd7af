//! Strings as JSON, in the form of Python's `json.dumps(..., ensure_ascii=False)`, and what escapes stand for.

use wide::u8x16;

/// So much of a text is written at once: at least the longest escapes of what is left after the last block.
const BUFFER: usize = 256;
/// The number of bytes that are examined in one step.
const BLOCK: usize = 16;
/// The number of bytes that an escape is written as, with what is too much.
const WORD: usize = 8;

/// The escapes of the bytes below the space.
const CONTROL: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t", "\\n",
    "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015",
    "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

/// Return true if a byte can't stand in a JSON string as it is.
#[inline]
const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Return the index of the first byte that needs an escape, or the number of bytes if there is none.
#[inline]
fn first_special(block: [u8; BLOCK]) -> usize {
    let bytes = u8x16::new(block);
    let is_control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    let is_special = is_control | bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
    (is_special.to_bitmask() | 1 << BLOCK).trailing_zeros() as usize
}

/// Return the index of the first byte from `start` on that needs an escape.
pub fn next_special(bytes: &[u8], start: usize) -> Option<usize> {
    let (blocks, rest) = bytes[start..].as_chunks::<BLOCK>();
    for (n, block) in blocks.iter().enumerate() {
        let index = first_special(*block);
        if index < BLOCK {
            return Some(start + n * BLOCK + index);
        }
    }
    let offset = bytes.len() - rest.len();
    rest.iter().position(|byte| is_special(*byte)).map(|index| offset + index)
}

/// Return the index of the first byte from `start` on that means something to HTML: `<`, `>`, `&` or `'`.
pub fn next_of_html(bytes: &[u8], start: usize) -> Option<usize> {
    let (blocks, rest) = bytes[start..].as_chunks::<BLOCK>();
    for (n, block) in blocks.iter().enumerate() {
        let block = u8x16::new(*block);
        let matches = b"<>&'".map(|byte| block.simd_eq(u8x16::splat(byte)));
        let mask = (matches[0] | matches[1] | matches[2] | matches[3]).to_bitmask();
        if mask != 0 {
            return Some(start + n * BLOCK + mask.trailing_zeros() as usize);
        }
    }
    let offset = bytes.len() - rest.len();
    rest.iter().position(|byte| b"<>&'".contains(byte)).map(|index| offset + index)
}

/// Return the escape of a special byte.
const fn escape_of(special: u8) -> &'static str {
    match special {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        control => CONTROL[control as usize],
    }
}

/// Write the inside of a JSON string piece by piece: stretches of `text` as they are, and escapes.
pub fn escape(text: &str, mut put: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while let Some(index) = next_special(bytes, start) {
        if start < index {
            put(&text[start..index]);
        }
        put(escape_of(bytes[index]));
        start = index + 1;
    }
    put(&text[start..]);
}

/// Append the insides of JSON strings, for adjacent texts: `ends` are their ends in `bytes`, and `put` receives the end
/// of each in `out`, which counts from what `out` has before the call. All of `bytes` is searched in one go, because a
/// start for each short text would take longer.
pub fn insides(bytes: &[u8], ends: impl Iterator<Item = usize>, out: &mut Vec<u8>, mut put: impl FnMut(usize)) {
    let first = out.len();
    // The number of bytes that have been appended, and the number of bytes that the escapes have added.
    let (mut start, mut longer) = (0, 0);
    let mut special = next_special_far(bytes, 0);
    for end in ends {
        while let Some(index) = special
            && index < end
        {
            out.extend_from_slice(&bytes[start..index]);
            let escaped = escape_of(bytes[index]);
            out.extend_from_slice(escaped.as_bytes());
            (start, longer) = (index + 1, longer + escaped.len() - 1);
            special = next_special_far(bytes, start);
        }
        put(first + end + longer);
    }
    out.extend_from_slice(&bytes[start..]);
}

/// Do the same as [`next_special`]; this one is faster if the byte is far away.
fn next_special_far(bytes: &[u8], start: usize) -> Option<usize> {
    const STRETCH: usize = 64;
    let close = bytes.len().min(start + STRETCH);
    if let Some(index) = next_special(&bytes[..close], start) {
        return Some(index);
    }
    // Every byte is tested without a branch, so that the processor handles many at once.
    let (stretches, _) = bytes[close..].as_chunks::<STRETCH>();
    let clean = stretches.iter().take_while(|all| !all.iter().fold(false, |any, byte| any | is_special(*byte))).count();
    next_special(bytes, close + clean * STRETCH)
}

/// The escapes of special bytes, each with its length after it; a word of it is written, and what is too much of it is
/// overwritten by what follows.
static ESCAPES: [[u8; WORD]; b'\\' as usize + 1] = {
    let mut out = [[0; WORD]; b'\\' as usize + 1];
    let mut byte = 0;
    while byte < out.len() {
        if is_special(byte as u8) {
            let escape = escape_of(byte as u8).as_bytes();
            let mut n = 0;
            while n < escape.len() {
                out[byte][n] = escape[n];
                n += 1;
            }
            out[byte][WORD - 1] = escape.len() as u8;
        }
        byte += 1;
    }
    out
};

/// Append the inside of a JSON string.
pub fn inside(text: &str, out: &mut Vec<u8>) {
    // Whole blocks are written, so that the length of a copy is no variable; what is too much is overwritten.
    let mut buffer = [0; BUFFER];
    let (bytes, mut read, mut written) = (text.as_bytes(), 0, 0);
    while let Some(block) = bytes[read..].first_chunk::<BLOCK>() {
        if written > BUFFER - 2 * BLOCK {
            out.extend_from_slice(&buffer[..written]);
            written = 0;
        }
        buffer[written..written + BLOCK].copy_from_slice(block);
        let clean = first_special(*block);
        (read, written) = (read + clean, written + clean);
        if clean < BLOCK {
            written += write_escape(bytes[read], &mut buffer[written..]);
            read += 1;
        }
    }
    out.extend_from_slice(&buffer[..written]);
    written = 0;
    for byte in &bytes[read..] {
        if is_special(*byte) {
            written += write_escape(*byte, &mut buffer[written..]);
        } else {
            buffer[written] = *byte;
            written += 1;
        }
    }
    out.extend_from_slice(&buffer[..written]);
}

/// Write the escape of a special byte, as a whole word; return its length.
#[inline]
fn write_escape(special: u8, out: &mut [u8]) -> usize {
    let escape = &ESCAPES[special as usize];
    out[..WORD].copy_from_slice(escape);
    escape[WORD - 1] as usize
}

/// Do the same as [`inside`] for bytes that are a text.
pub fn inside_of_bytes(text: &[u8], out: &mut Vec<u8>) {
    match simdutf8::basic::from_utf8(text) {
        Ok(text) => inside(text, out),
        Err(_) => inside(&String::from_utf8_lossy(text), out),
    }
}

/// The meaning of an escape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Escaped {
    /// A character.
    Character(char),
    /// Half of a surrogate pair, without the other half.
    Half(u16),
}

/// Return the length of the escape with which `bytes` begin, and what it stands for; None if JSON has no such escape.
/// Two escapes that are a surrogate pair count as one.
pub fn unescaped(bytes: &[u8]) -> (usize, Option<Escaped>) {
    let character = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescaped_unit(bytes),
        _ => return (2, None),
    };
    (2, Some(Escaped::Character(character)))
}

fn unescaped_unit(bytes: &[u8]) -> (usize, Option<Escaped>) {
    let Some(unit) = hexadecimal(bytes.get(2..6)) else { return (2, None) };
    if let Some(character) = char::from_u32(unit.into()) {
        return (6, Some(Escaped::Character(character)));
    }
    let second = || (bytes.get(6..8) == Some(b"\\u")).then(|| hexadecimal(bytes.get(8..12))).flatten();
    match (unit, second()) {
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            let code = 0x1_0000 + ((u32::from(unit) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
            (12, char::from_u32(code).map(Escaped::Character))
        }
        _ => (6, Some(Escaped::Half(unit))),
    }
}

fn hexadecimal(digits: Option<&[u8]>) -> Option<u16> {
    digits?.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)? as u16))
}

/// Append a JSON string.
pub fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    inside(text, out);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_ascii_is_escaped_or_stays_wherever_it_stands() {
        for byte in 0..128_u8 {
            for before in 0..=2 * WORD {
                let text = format!("{}{}é\u{2028}\n\n", "x".repeat(before), char::from(byte));
                let mut out = Vec::new();
                string(&text, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
                let mut pieces = String::new();
                escape(&text, |piece| pieces.push_str(piece));
                assert_eq!(format!("\"{pieces}\""), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn texts_that_lie_one_after_the_other_are_escaped_each_by_itself() {
        let special = ["\"", "\\", "\n", "\u{1f}", "\u{7f}", "é", "\u{2028}", ""];
        let texts: Vec<String> = (0..400)
            .map(|n| format!("{}{}{}", "x".repeat(n % 150), special[n % 8], special[n / 8 % 8].repeat(n % 3)))
            .collect();
        for texts in [&texts[..], &texts[7..8], &texts[8..9], &[], &[String::new(), String::new()]] {
            let ends = texts.iter().scan(0, |end, text| {
                *end += text.len();
                Some(*end)
            });
            let (mut out, mut ends_in_json) = (b"before".to_vec(), vec![6]);
            insides(texts.concat().as_bytes(), ends, &mut out, |end| ends_in_json.push(end));
            for (n, text) in texts.iter().enumerate() {
                let json = serde_json::to_string(text).unwrap();
                assert_eq!(
                    std::str::from_utf8(&out[ends_in_json[n]..ends_in_json[n + 1]]).unwrap(),
                    &json[1..json.len() - 1]
                );
            }
            assert_eq!((ends_in_json.len(), ends_in_json.last()), (texts.len() + 1, Some(&out.len())));
        }
    }

    #[test]
    fn long_texts_are_written_a_buffer_at_a_time() {
        for before in 0..5 {
            let text = "x".repeat(before) + &"é\n\u{1F600}\"".repeat(BUFFER);
            let (mut json_of_text, mut appended) = (Vec::new(), b"a".to_vec());
            inside(&text, &mut json_of_text);
            inside(&text, &mut appended);
            let json = serde_json::to_string(&text).unwrap();
            assert_eq!(json_of_text, &json.as_bytes()[1..json.len() - 1]);
            assert!(appended[0] == b'a' && appended[1..] == json_of_text[..]);
        }
    }
}
