//! Integers and floats as Python prints them; `str`, `repr` and JSON are the same, but for what JSON has no number for.

use std::fmt::Write as _;

use super::conversion::Conversion;
use super::none::none;
use crate::error::Result;

/// Appends an integer.
///
/// # Errors
///
/// Never: the signature is that of every value printer.
#[allow(clippy::unnecessary_wraps)] // one signature for all value printers keeps the table of types plain
pub(super) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    Ok(())
}

/// A float as Python prints it.
///
/// ```
/// assert_eq!(promptpress::pytext::float_text(1e22), "1e+22");
/// ```
pub fn float_text(value: f64) -> String {
    let mut out = Vec::new();
    // Printing a float can't fail, and what it prints is ASCII.
    let _ = float(value, Conversion::Str, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Append a float as Python prints it.
pub fn write_float(value: f64, out: &mut Vec<u8>) {
    let _ = float(value, Conversion::Str, out);
}

/// Appends a float: the shortest digits that read back as the same value, in Python's layout.
///
/// Digits come from ryu; the layout is that of its C function `format_float_short`: scientific if the first digit's place is below
/// 10⁻⁴ or from 10¹⁶ on, with at least two exponent digits; else positional, with `.0` if whole.
///
/// # Errors
///
/// Never.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn float(value: f64, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    if conversion.is_json() && !value.is_finite() {
        none(conversion, out); // as JavaScript writes it
        return Ok(());
    }
    if value.is_nan() {
        out.extend_from_slice(b"nan"); // whatever its sign
        return Ok(());
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        out.extend_from_slice(b"inf");
        return Ok(());
    }
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return Ok(());
    }
    let mut buffer = ryu::Buffer::new();
    let shortest = Shortest::parse(buffer.format_finite(value.abs()).as_bytes());
    let digits = &shortest.digits[..shortest.len];
    let point = shortest.point;
    if !(-3..=16).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let exponent = point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        let mut text = String::with_capacity(5);
        let _ = write!(text, "e{sign}{:02}", exponent.abs());
        out.extend_from_slice(text.as_bytes());
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let point = point as usize;
        if digits.len() <= point {
            out.extend_from_slice(digits);
            out.resize(out.len() + point - digits.len(), b'0');
            out.extend_from_slice(b".0");
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }
    Ok(())
}

/// A positive number as its significant digits: 0.d₁d₂… × 10^point.
struct Shortest {
    digits: [u8; 32],
    len: usize,
    point: i32,
}

impl Shortest {
    /// Reads ryu's text of a positive finite float: digits with a point or an exponent or both.
    fn parse(text: &[u8]) -> Self {
        let (mantissa, exponent) = match text.iter().position(|byte| *byte == b'e') {
            Some(at) => {
                let (sign, digits) = match &text[at + 1..] {
                    [b'-', digits @ ..] => (-1, digits),
                    digits => (1, digits),
                };
                (&text[..at], sign * digits.iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0')))
            }
            None => (text, 0),
        };
        let mut shortest = Self { digits: [0; 32], len: 0, point: exponent };
        let mut whole = true;
        for &byte in mantissa {
            if byte == b'.' {
                whole = false;
            } else if byte == b'0' && shortest.len == 0 {
                shortest.point -= i32::from(!whole); // a leading zero: only its place counts
            } else {
                shortest.digits[shortest.len] = byte;
                shortest.len += 1;
                shortest.point += i32::from(whole);
            }
        }
        while shortest.len > 1 && shortest.digits[shortest.len - 1] == b'0' {
            shortest.len -= 1;
        }
        shortest
    }
}
