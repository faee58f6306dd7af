//! JSON strings: where they end, whether they are valid, and the texts that they stand for.

use memchr::memchr2;

use crate::json_text::{Escaped, next_special, unescaped};

/// The end of a string, and whether its text needs decoding.
#[derive(Clone, Copy)]
pub(super) struct Scanned {
    /// The index after the closing quote.
    pub end: usize,
    /// True if the text has escapes.
    pub is_escaped: bool,
    /// False if the string stands for no text: it has a wrong escape, half of a surrogate pair or a control character.
    pub is_valid: bool,
}

/// Examine the string whose opening quote is at `start`; None if it isn't closed.
#[inline]
pub(super) fn scan(bytes: &[u8], start: usize) -> Option<Scanned> {
    let mut out = Scanned { end: start + 1, is_escaped: false, is_valid: true };
    loop {
        out.end = next_special(bytes, out.end)?;
        match bytes[out.end] {
            b'"' => {
                out.end += 1;
                return Some(out);
            }
            b'\\' => {
                let (length, escaped) = unescaped(&bytes[out.end..]);
                out.is_escaped = true;
                out.is_valid &= matches!(escaped, Some(Escaped::Character(_)));
                out.end += length;
                if out.end > bytes.len() {
                    return None;
                }
            }
            _ => {
                out.is_valid = false;
                out.end += 1;
            }
        }
    }
}

/// Return the end of the string whose opening quote is at `start`, without examining it; None if it isn't closed.
#[inline]
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut position = start + 1;
    loop {
        position += memchr2(b'"', b'\\', bytes.get(position..)?)?;
        if bytes[position] == b'"' {
            return Some(position + 1);
        }
        position += 2;
    }
}

/// Append the text of a valid string with escapes; `inside` lies between its quotes.
pub(super) fn decode(inside: &[u8], out: &mut Vec<u8>) {
    let mut position = 0;
    while let Some(index) = memchr::memchr(b'\\', &inside[position..]) {
        out.extend_from_slice(&inside[position..position + index]);
        let (length, escaped) = unescaped(&inside[position + index..]);
        if let Some(Escaped::Character(character)) = escaped {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        position = (position + index + length).min(inside.len());
    }
    out.extend_from_slice(&inside[position..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_those_of_another_parser() {
        let parts = [
            "x",
            "é",
            "\\n",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\\"",
            "\\\\",
            "\\/",
            "\\b\\f\\r\\t",
            "\\ud83d",
            "\\ude00",
            "\\u12g4",
            "\\x",
            "\n",
            "\\u12",
            "0123456789abcdef",
        ];
        for (n, first) in parts.iter().enumerate() {
            for second in parts.iter().chain(&parts[n..]) {
                let json = format!("\"{first}{second}\"");
                let scanned = scan(json.as_bytes(), 0).unwrap();
                assert_eq!((scanned.end, end(json.as_bytes(), 0)), (json.len(), Some(json.len())), "{json}");
                let wanted = serde_json::from_str::<String>(&json).ok();
                assert_eq!(scanned.is_valid, wanted.is_some(), "{json}");
                if let Some(wanted) = wanted {
                    let mut out = Vec::new();
                    decode(&json.as_bytes()[1..json.len() - 1], &mut out);
                    assert_eq!(String::from_utf8(out).unwrap(), wanted);
                    assert_eq!(scanned.is_escaped, json.contains('\\'));
                }
            }
        }
        for open in ["\"", "\"x", "\"\\", "\"\\\"", "\"\\u1234"] {
            assert!(scan(open.as_bytes(), 0).is_none() && end(open.as_bytes(), 0).is_none());
        }
    }
}
