//! Decimals as Python prints them.

use std::io::Write as _;

use arrow_buffer::i256;

use super::conversion::Conversion;
use crate::error::Result;

/// Append `value` × 10^-`scale`, for every width up to 128 bits.
///
/// # Errors
///
/// There are none: the signature is that of every value printer.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn small(value: i128, scale: i8, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let mut buffer = itoa::Buffer::new();
    put(value < 0, buffer.format(value.unsigned_abs()).as_bytes(), scale, conversion, out);
    Ok(())
}

/// Append `value` × 10^-`scale`, for 256 bits.
///
/// # Errors
///
/// There are none.
pub(super) fn large(value: i256, scale: i8, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    if let Some(value) = value.to_i128() {
        return small(value, scale, conversion, out);
    }
    let text = value.to_string();
    let digits = text.trim_start_matches('-');
    put(digits.len() < text.len(), digits.as_bytes(), scale, conversion, out);
    Ok(())
}

/// Append a decimal by the rule of `to-scientific-string`: positional if the exponent isn't positive and the first
/// digit is at most six digits after the point.
fn put(negative: bool, digits: &[u8], scale: i8, conversion: Conversion, out: &mut Vec<u8>) {
    match conversion {
        Conversion::Str => {}
        Conversion::Repr => out.extend_from_slice(b"Decimal('"),
        Conversion::Json | Conversion::JsonWithoutNulls => out.push(b'"'),
    }
    if negative {
        out.push(b'-');
    }
    let scale = i32::from(scale);
    let len = digits.len() as i32;
    let left = len - scale; // digits before the point
    if scale >= 0 && left > -6 {
        if left <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + left.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else {
            let (whole, fraction) = digits.split_at(left as usize);
            out.extend_from_slice(whole);
            if !fraction.is_empty() {
                out.push(b'.');
                out.extend_from_slice(fraction);
            }
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        if left != 1 {
            // Writing into a vector can't fail.
            let _ = write!(out, "E{:+}", left - 1);
        }
    }
    match conversion {
        Conversion::Str => {}
        Conversion::Repr => out.extend_from_slice(b"')"),
        Conversion::Json | Conversion::JsonWithoutNulls => out.push(b'"'),
    }
}
