//! Strings as JSON writes them: as Python's `json.dumps(..., ensure_ascii=False)` does.

/// What is looked at in one step: the compiler makes vector code of it.
const STEP: usize = 32;

/// The escapes of the bytes below the space.
const CONTROL: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t", "\\n",
    "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015",
    "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

/// Whether a byte can't stand in a JSON string as it is.
#[inline]
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The place of the first byte from `start` on that needs an escape.
fn next_special(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(step) = bytes.get(at..at + STEP) {
        if step.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += STEP;
    }
    bytes[at..].iter().position(|byte| is_special(*byte)).map(|found| at + found)
}

/// The inside of a JSON string, piece by piece: stretches of `text` as they are, and escapes.
pub fn escape(text: &str, mut put: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while let Some(at) = next_special(bytes, start) {
        if start < at {
            put(&text[start..at]);
        }
        put(match bytes[at] {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            control => CONTROL[control as usize],
        });
        start = at + 1;
    }
    put(&text[start..]);
}

/// Appends the inside of a JSON string.
pub fn inside(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len());
    escape(text, |piece| out.extend_from_slice(piece.as_bytes()));
}

/// Appends a JSON string.
pub fn string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
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
            for before in [0, 1, STEP - 1, STEP, 2 * STEP + 1] {
                let text = format!("{}{}é\u{2028}", "x".repeat(before), char::from(byte));
                let mut out = Vec::new();
                string(&text, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
            }
        }
    }
}
