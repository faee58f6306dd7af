//! Integers and floats as Python prints them. `str`, `repr` and JSON are the same, except for numbers that JSON doesn't
//! have.

use std::fmt::Write as _;

use super::conversion::Conversion;
use super::fill::{Slot, append, put};
use super::none::none;

/// An integer of at most 64 bits.
pub(super) trait Integer: Copy {
    /// Return true if it is negative, and its absolute value.
    fn parts(self) -> (bool, u64);
}

macro_rules! integers {
    ($($signed:ty, $unsigned:ty);+) => {$(
        impl Integer for $signed {
            #[inline]
            fn parts(self) -> (bool, u64) {
                (self < 0, self.unsigned_abs().into())
            }
        }
        impl Integer for $unsigned {
            #[inline]
            fn parts(self) -> (bool, u64) {
                (false, self.into())
            }
        }
    )+};
}

integers!(i8, u8; i16, u16; i32, u32; i64, u64);

const EIGHT_DIGITS: u64 = 100_000_000;
/// The digit zero, eight times.
pub(super) const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Return the eight digits of a number below 10⁸, as one byte each, the first in the lowest.
#[inline]
fn eight_digits(number: u64) -> u64 {
    // Split into halves of four digits, in 32 bits each, and split these twice more. The factors are 2²⁰ / 100 and 2¹⁰
    // / 10.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    digits_of_twos(hundreds | ((fours - hundreds * 100) << 16))
}

/// Return the digits of four numbers below 100, which have 16 bits each: one byte for each digit, the first number's in
/// the lowest.
#[inline]
pub(super) fn digits_of_twos(twos: u64) -> u64 {
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// Put eight bytes at `offset` of a slot, which has room for them.
#[inline]
fn put_eight(slot: &mut Slot, offset: usize, bytes: u64) {
    if let Some(to) = slot.get_mut(offset..offset + 8) {
        to.copy_from_slice(&bytes.to_le_bytes());
    }
}

/// Put the digits of a number below 10⁸ at `offset`, without leading zeros, and return the end of the text.
#[inline]
fn put_leading(slot: &mut Slot, offset: usize, number: u64) -> usize {
    let digits = eight_digits(number);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    put_eight(slot, offset, (digits | ZEROS) >> (8 * zeros));
    offset + 8 - zeros as usize
}

/// Put an integer into a slot, and return its length.
#[inline]
pub(super) fn put_integer(value: impl Integer, slot: &mut Slot) -> usize {
    let (negative, number) = value.parts();
    slot[0] = b'-';
    let offset = usize::from(negative);
    if number < EIGHT_DIGITS {
        return put_leading(slot, offset, number);
    }
    let (upper, last) = (number / EIGHT_DIGITS, number % EIGHT_DIGITS);
    let offset = if upper < EIGHT_DIGITS {
        put_leading(slot, offset, upper)
    } else {
        let offset = put_leading(slot, offset, upper / EIGHT_DIGITS);
        put_eight(slot, offset, eight_digits(upper % EIGHT_DIGITS) | ZEROS);
        offset + 8
    };
    put_eight(slot, offset, eight_digits(last) | ZEROS);
    offset + 8
}

/// Append an integer.
pub(super) fn integer(value: impl Integer, out: &mut Vec<u8>) {
    append(out, |slot| put_integer(value, slot));
}

/// Return a float as Python prints it.
pub fn float_text(value: f64) -> String {
    let mut out = Vec::new();
    // The printed text is ASCII.
    write_float(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Append a float as Python prints it.
pub fn write_float(value: f64, out: &mut Vec<u8>) {
    float(value, Conversion::Str, out);
}

/// Append a float.
pub(super) fn float(value: f64, conversion: Conversion, out: &mut Vec<u8>) {
    if conversion.is_json() && !value.is_finite() {
        none(conversion, out); // as JavaScript writes it
    } else {
        append(out, |slot| put_float(value, slot));
    }
}

/// The smallest number that Python prints without an exponent.
const LEAST_POSITIONAL: f64 = 1e-4;

/// Put a float into a slot: the shortest digits that read back as the same value, in Python's layout.
///
/// The layout is that of Python's C function `format_float_short`: scientific if the number is below 10⁻⁴ or at least
/// 10¹⁶, with at least two exponent digits; otherwise positional, with `.0` if it is whole. zmij has the same layout,
/// except for small numbers.
#[inline]
pub(super) fn put_float(value: f64, slot: &mut Slot) -> usize {
    let size = value.abs();
    if size.is_finite() && (size >= LEAST_POSITIONAL || size == 0.0) {
        put(zmij::Buffer::new().format_finite(value).as_bytes(), slot)
    } else {
        put_unusual(value, slot)
    }
}

#[cold]
#[inline(never)]
fn put_unusual(value: f64, slot: &mut Slot) -> usize {
    if value.is_nan() {
        return put(b"nan", slot); // whatever its sign
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return put(format!("{sign}inf").as_bytes(), slot);
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = Shortest::parse(buffer.format_finite(value.abs()).as_bytes());
    let mut text = String::with_capacity(32);
    text.push_str(sign);
    text.push_str(&shortest.digits[..1]);
    if shortest.digits.len() > 1 {
        text.push('.');
        text.push_str(&shortest.digits[1..]);
    }
    // Writing into a string can't fail.
    let _ = write!(text, "e-{:02}", shortest.exponent);
    put(text.as_bytes(), slot)
}

/// A number between zero and one: its significant digits d₁d₂…, as d₁.d₂… × 10^-exponent.
struct Shortest {
    digits: String,
    exponent: usize,
}

impl Shortest {
    /// Read zmij's text of such a number: digits with a point or an exponent or both.
    fn parse(text: &[u8]) -> Self {
        let digits_of = |text: &[u8]| String::from_utf8_lossy(text).replace('.', "");
        match text.iter().position(|byte| *byte == b'e') {
            Some(index) => {
                let digits = text[index + 1..].iter().filter(|byte| byte.is_ascii_digit());
                let exponent = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
                Self { digits: digits_of(&text[..index]), exponent }
            }
            None => {
                let all = digits_of(text); // 0.00001234: its zeros are as many as the exponent
                let digits = all.trim_start_matches('0');
                Self { digits: digits.to_owned(), exponent: all.len() - digits.len() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: impl Integer) -> String {
        let mut out = Vec::new();
        integer(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_of_every_length() {
        let mut power: u64 = 1;
        for _ in 0..20 {
            for number in [power.wrapping_sub(1), power, power + 1, power + power / 3] {
                assert_eq!(printed(number), number.to_string());
                assert_eq!(printed(number as i64), (number as i64).to_string());
                assert_eq!(printed((number as i64).wrapping_neg()), (number as i64).wrapping_neg().to_string());
            }
            power = power.saturating_mul(10);
        }
        assert_eq!(printed(i64::MIN), i64::MIN.to_string());
        assert_eq!(printed(u64::MAX), u64::MAX.to_string());
        assert_eq!((printed(i8::MIN), printed(0_u8)), ("-128".into(), "0".into()));
    }

    #[test]
    fn all_numbers_of_five_digits_and_what_stands_before_them() {
        for number in 0..100_000_u32 {
            assert_eq!(printed(number), number.to_string());
            assert_eq!(printed(12_300_000 + u64::from(number)), (12_300_000 + u64::from(number)).to_string());
        }
    }

    #[test]
    fn floats_around_the_layouts() {
        for (value, text) in [
            (1e-4, "0.0001"),
            (9.999_999_999_999_999e-5, "9.999999999999999e-05"),
            (1.25e-5, "1.25e-05"),
            (-1e-6, "-1e-06"),
            (3e-9, "3e-09"),
            (1.5e-10, "1.5e-10"),
            (5e-324, "5e-324"),
            (-2.225_073_858_507_201_4e-308, "-2.2250738585072014e-308"),
            (-0.000_123_456_789_012_345_67, "-0.00012345678901234567"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (-0.0, "-0.0"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }
}
