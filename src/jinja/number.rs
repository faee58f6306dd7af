//! Arithmetic as in Python, for ints of 64 bits.

use super::compare::Number;
use super::value::{Bail, List, Value, Valued};

/// All ints up to this one are exact as floats.
const MAX_EXACT: u64 = 1 << 53;

impl Number {
    fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// Apply `ints` to two ints, or `floats` to two other numbers. Bail if there is no result.
fn both<'r>(
    left: Value,
    right: Value,
    ints: impl Fn(i64, i64) -> Option<i64>,
    floats: impl Fn(f64, f64) -> Option<f64>,
) -> Valued<Value<'r>> {
    match (Number::of(left)?, Number::of(right)?) {
        (Number::Int(a), Number::Int(b)) => ints(a, b).map(Value::Int),
        (a, b) => floats(a.float(), b.float()).map(Value::Float),
    }
    .ok_or(Bail::VALUE)
}

pub(super) fn add<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    both(left, right, i64::checked_add, |a, b| Some(a + b))
}

pub(super) fn sub<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    both(left, right, i64::checked_sub, |a, b| Some(a - b))
}

pub(super) fn mul<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    both(left, right, i64::checked_mul, |a, b| Some(a * b))
}

/// Python's `/`. Bail for ints that aren't exact as floats, because Python divides them exactly.
pub(super) fn truediv<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    let (left, right) = (Number::of(left)?, Number::of(right)?);
    if let (Number::Int(a), Number::Int(b)) = (left, right)
        && a.unsigned_abs().max(b.unsigned_abs()) > MAX_EXACT
    {
        return Err(Bail::VALUE);
    }
    let divisor = right.float();
    if divisor == 0.0 { Err(Bail::VALUE) } else { Ok(Value::Float(left.float() / divisor)) }
}

/// Python's `//`, which rounds towards minus infinity.
pub(super) fn floordiv<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    let ints = |a: i64, b: i64| {
        let quotient = a.checked_div(b)?;
        Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
    };
    both(left, right, ints, |a, b| divmod(a, b).map(|(quotient, _)| quotient))
}

/// Python's `%`, which has the sign of the divisor.
pub(super) fn modulo<'r>(left: Value, right: Value) -> Valued<Value<'r>> {
    let ints = |a: i64, b: i64| {
        let rest = if b == -1 { 0 } else { a.checked_rem(b)? };
        Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
    };
    both(left, right, ints, |a, b| divmod(a, b).map(|(_, rest)| rest))
}

/// `divmod` of floats, with the same steps as in CPython.
fn divmod(a: f64, b: f64) -> Option<(f64, f64)> {
    if b == 0.0 {
        return None;
    }
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let floor = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else {
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    };
    Some((floor, rest))
}

pub(super) fn neg<'r>(value: Value) -> Valued<Value<'r>> {
    match Number::of(value)? {
        Number::Int(value) => value.checked_neg().map(Value::Int).ok_or(Bail::VALUE),
        Number::Float(value) => Ok(Value::Float(-value)),
    }
}

pub(super) fn abs<'r>(value: Value) -> Valued<Value<'r>> {
    match Number::of(value)? {
        Number::Int(value) => value.checked_abs().map(Value::Int).ok_or(Bail::VALUE),
        Number::Float(value) => Ok(Value::Float(value.abs())),
    }
}

/// More decimals than any float has.
const MAX_DECIMALS: i64 = 400;

/// `round` to `precision` decimals, or to an int if there is no precision. Bail for a negative precision.
pub(super) fn round<'r>(value: Value, precision: Option<Value>) -> Valued<Value<'r>> {
    let decimals = precision.map(Value::index).transpose()?;
    match (Number::of(value)?, decimals) {
        (Number::Int(value), None | Some(0..)) => Ok(Value::Int(value)),
        (Number::Float(value), None) => whole(value.round_ties_even()).map(Value::Int).ok_or(Bail::VALUE),
        (Number::Float(value), Some(MAX_DECIMALS..)) => Ok(Value::Float(value)),
        (Number::Float(value), Some(decimals @ 0..)) if value.is_finite() => {
            // Rust and Python both print the exact value, and round half to even.
            let text = format!("{value:.*}", decimals as usize);
            text.parse().map(Value::Float).map_err(|_| Bail::VALUE)
        }
        (Number::Float(value), Some(0..)) => Ok(Value::Float(value)),
        _ => Err(Bail::VALUE),
    }
}

/// Return a whole float as an int. Return None if the int has more than 64 bits.
fn whole(value: f64) -> Option<i64> {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    fits.then_some(value as i64)
}

/// `sum` of ints. Bail for floats, because their sum depends on Python's version.
pub(super) fn sum<'r>(items: List) -> Valued<Value<'r>> {
    let total = items.iter().try_fold(0_i64, |sum, item| sum.checked_add(item.index().ok()?));
    total.map(Value::Int).ok_or(Bail::VALUE)
}

/// The filter `int`.
pub(super) fn int<'r>(value: Value, default: Value<'r>, base: i64) -> Valued<Value<'r>> {
    match value {
        Value::Str(text) => {
            if base != 10 {
                return Err(Bail::VALUE);
            }
            if let Read::Number(value) = int_of(text)? {
                return Ok(Value::Int(value));
            }
            match float_of(text)? {
                Read::Number(value) if value.is_finite() => whole(value.trunc()).map(Value::Int).ok_or(Bail::VALUE),
                _ => Ok(default),
            }
        }
        Value::Float(value) if value.is_nan() => Ok(default),
        Value::Float(value) => whole(value.trunc()).map(Value::Int).ok_or(Bail::VALUE),
        Value::Other(..) => Err(Bail::VALUE),
        other => Ok(other.index().map_or(default, Value::Int)),
    }
}

/// The filter `float`.
pub(super) fn float<'r>(value: Value, default: Value<'r>) -> Valued<Value<'r>> {
    match value {
        Value::Str(text) => match float_of(text)? {
            Read::Number(value) => Ok(Value::Float(value)),
            Read::None => Ok(default),
        },
        Value::Other(..) => Err(Bail::VALUE),
        other => Ok(Number::of(other).map_or(default, |number| Value::Float(number.float()))),
    }
}

/// Python's `int` of a number or a decimal text.
/// Return the number that a JSON text holds, as `json.loads` does. Bail for an int beyond 64 bits.
pub(super) fn from_json<'r>(text: &[u8]) -> Valued<Value<'r>> {
    let text = str::from_utf8(text).map_err(|_| Bail::VALUE)?;
    let number = match text {
        "NaN" => Some(Value::Float(f64::NAN)),
        "Infinity" => Some(Value::Float(f64::INFINITY)),
        "-Infinity" => Some(Value::Float(f64::NEG_INFINITY)),
        _ if text.contains(['.', 'e', 'E']) => text.parse().ok().map(Value::Float),
        _ => text.parse().ok().map(Value::Int),
    };
    number.ok_or(Bail::VALUE)
}

pub(super) fn to_int<'r>(value: Value) -> Valued<Value<'r>> {
    match value {
        Value::Str(text) => match int_of(text)? {
            Read::Number(value) => Ok(Value::Int(value)),
            Read::None => Err(Bail::VALUE),
        },
        Value::Float(value) => whole(value.trunc()).map(Value::Int).ok_or(Bail::VALUE),
        other => other.index().map(Value::Int),
    }
}

/// The number in a text.
enum Read<T> {
    Number(T),
    /// The text isn't a number.
    None,
}

/// Return a text without white space at its ends. Return None if the text can't be a number because of a character
/// that isn't ASCII.
///
/// # Errors
///
/// If a character may be a digit for Python.
fn ascii(text: &[u8]) -> Valued<Option<&[u8]>> {
    // `strip()` removes these four separators as white space, but Python's parsers of numbers don't.
    let separator = |byte: &u8| (0x1c..=0x1f).contains(byte);
    if text.iter().any(separator) {
        return Ok(None);
    }
    let text = super::text::strip(text, Value::None, super::text::Ends::Both)?;
    if text.is_ascii() {
        return Ok(Some(text));
    }
    // Digits of other scripts count as digits. A letter of any script is no digit in any version of Unicode.
    if super::text::utf8(text)?.chars().any(|c| !c.is_ascii() && c.is_alphabetic() && !c.is_numeric()) {
        return Ok(None);
    }
    Err(Bail::VALUE)
}

/// Return digits without their underscores. Return None unless all are digits, with at most one underscore between two.
fn digits(text: &[u8]) -> Option<Vec<u8>> {
    let fine = text.first().is_some_and(u8::is_ascii_digit)
        && text.last().is_some_and(u8::is_ascii_digit)
        && text.windows(2).all(|two| two != b"__")
        && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'_');
    fine.then(|| text.iter().filter(|byte| **byte != b'_').copied().collect())
}

/// Split a text into its sign and the rest. The sign is true for minus.
fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// Python's `int` of a text in base 10. Bail if the int has more than 64 bits.
fn int_of(text: &[u8]) -> Valued<Read<i64>> {
    let Some(text) = ascii(text)? else { return Ok(Read::None) };
    let (minus, rest) = signed(text);
    let Some(digits) = digits(rest) else { return Ok(Read::None) };
    let add = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_sub(i64::from(digit - b'0'));
    // Count downwards, because there is one more negative int than positive ones.
    let negative = digits.iter().try_fold(0, add).ok_or(Bail::VALUE)?;
    let value = if minus { Some(negative) } else { negative.checked_neg() };
    value.map(Read::Number).ok_or(Bail::VALUE)
}

/// Python's `float` of a text.
fn float_of(text: &[u8]) -> Valued<Read<f64>> {
    let Some(text) = ascii(text)? else { return Ok(Read::None) };
    let (minus, rest) = signed(text);
    let lowercase = rest.to_ascii_lowercase();
    let sign = |value: f64| Ok(Read::Number(if minus { -value } else { value }));
    match &lowercase[..] {
        b"inf" | b"infinity" => return sign(f64::INFINITY),
        b"nan" => return sign(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match lowercase.iter().position(|byte| *byte == b'e') {
        Some(index) => (&lowercase[..index], Some(&lowercase[index + 1..])),
        None => (&lowercase[..], None),
    };
    let (integer, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(index) => (&mantissa[..index], &mantissa[index + 1..]),
        None => (mantissa, &b""[..]),
    };
    let part = |text: &[u8]| if text.is_empty() { Some(Vec::new()) } else { digits(text) };
    let (Some(integer), Some(fraction)) = (part(integer), part(fraction)) else { return Ok(Read::None) };
    if integer.is_empty() && fraction.is_empty() {
        return Ok(Read::None);
    }
    let mut plain = String::from_utf8([&integer[..], b".", &fraction[..]].concat()).map_err(|_| Bail::VALUE)?;
    if let Some(exponent) = exponent {
        let (minus, rest) = signed(exponent);
        let Some(digits) = digits(rest) else { return Ok(Read::None) };
        plain.push_str(if minus { "e-" } else { "e" });
        plain.extend(digits.iter().map(|byte| char::from(*byte)));
    }
    plain.parse().map_err(|_| Bail::VALUE).and_then(sign)
}
