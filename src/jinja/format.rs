//! Values in the form of Python's `format()`, and texts between spaces.

use std::io::Write as _;

use super::scratch::Scratch;
use super::text;
use super::value::{Bail, Value, Valued};
use crate::python_text;

/// The widest field, and the longest fraction, that is written here. `tests/models/jinja_model.py` has the same limits.
const MAX_WIDTH: usize = 1 << 16;
const MAX_PRECISION: usize = 400;

/// A format specification, such as `>10,.2f`.
struct Spec<'r> {
    fill: &'r str,
    align: Option<char>,
    sign: Option<char>,
    width: usize,
    /// The separator of groups of digits.
    separator: Option<u8>,
    precision: Option<usize>,
    kind: Option<char>,
}

impl<'r> Spec<'r> {
    /// Read a specification. Bail for one that Python refuses, and for rare forms.
    fn of(spec: &'r str) -> Valued<Self> {
        let is_align = |c: Option<char>| c.filter(|c| matches!(c, '<' | '>' | '^' | '='));
        let mut rest = spec.chars();
        let (first, second) = (rest.next(), rest.next());
        let (mut fill, align, mut rest) = if is_align(second).is_some() {
            let end = first.map_or(0, char::len_utf8);
            (&spec[..end], second, &spec[end + 1..])
        } else if is_align(first).is_some() {
            ("", first, &spec[1..])
        } else {
            ("", None, spec)
        };
        let mut take = |wanted: &[char]| {
            let first = rest.chars().next().filter(|c| wanted.contains(c));
            rest = &rest[first.map_or(0, char::len_utf8)..];
            first
        };
        let sign = take(&['+', '-', ' ']);
        let mut align = align;
        if fill.is_empty() && take(&['0']).is_some() {
            (fill, align) = ("0", align.or(Some('=')));
        }
        let number = |rest: &mut &'r str, most: usize| {
            let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            *rest = after;
            if digits.is_empty() {
                return Ok(None);
            }
            digits.parse().ok().filter(|number| *number <= most).map(Some).ok_or(Bail::VALUE)
        };
        let width = number(&mut rest, MAX_WIDTH)?.unwrap_or(0);
        let mut bytes = rest.bytes();
        let separator = bytes.next().filter(|byte| matches!(byte, b',' | b'_'));
        rest = &rest[usize::from(separator.is_some())..];
        let precision = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                Some(number(&mut rest, MAX_PRECISION)?.ok_or(Bail::VALUE)?)
            }
            None => None,
        };
        let mut rest = rest.chars();
        let kind = rest.next();
        if rest.next().is_some() {
            return Err(Bail::VALUE);
        }
        Ok(Self { fill: if fill.is_empty() { " " } else { fill }, align, sign, width, separator, precision, kind })
    }
}

/// Append `format(value, spec)`; if `is_printf`, a float is written as an int by `d`, as `%` does.
pub(super) fn format(value: Value, spec: &[u8], is_printf: bool, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
    if spec.is_empty() {
        return super::print::text(value, out, scratch);
    }
    let spec = Spec::of(text::utf8(spec)?)?;
    scratch.spend(spec.width)?;
    match value {
        Value::Str(value) => {
            let is_plain = spec.sign.is_none() && spec.separator.is_none() && spec.fill != "0";
            if !is_plain || spec.align == Some('=') || !matches!(spec.kind, None | Some('s')) {
                return Err(Bail::VALUE);
            }
            let most = spec.precision.map_or(Value::None, |most| Value::Int(most as i64));
            let excerpt = text::slice(value, Value::None, most, Value::None, scratch);
            // Without a step a slice needs no memory of its own.
            padded(b"", excerpt?, &spec, '<', out);
            Ok(())
        }
        Value::Bool(value) => integer(value.into(), &spec, out),
        Value::Int(value) => integer(value, &spec, out),
        Value::Float(value) if is_printf && spec.kind == Some('d') => {
            let whole = super::number::to_int(Value::Float(value))?.index()?;
            integer(whole, &spec, out)
        }
        Value::Float(value) => float(value, &spec, out),
        _ => Err(Bail::VALUE),
    }
}

fn integer(value: i64, spec: &Spec, out: &mut Vec<u8>) -> Valued<()> {
    let size = value.unsigned_abs();
    let digits = match spec.kind {
        None | Some('d') => itoa::Buffer::new().format(size).as_bytes().to_vec(),
        Some('x') => format!("{size:x}").into_bytes(),
        Some('X') => format!("{size:X}").into_bytes(),
        Some('o') => format!("{size:o}").into_bytes(),
        Some('b') => format!("{size:b}").into_bytes(),
        Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => return float(value as f64, spec, out),
        _ => return Err(Bail::VALUE),
    };
    if spec.precision.is_some() || (spec.separator.is_some() && !matches!(spec.kind, None | Some('d'))) {
        return Err(Bail::VALUE);
    }
    number(value < 0, &digits, spec, out)
}

fn float(value: f64, spec: &Spec, out: &mut Vec<u8>) -> Valued<()> {
    if !value.is_finite() {
        return Err(Bail::VALUE);
    }
    let size = value.abs();
    let precision = spec.precision.unwrap_or(6);
    let mut digits = Vec::with_capacity(24);
    match (spec.kind, spec.precision) {
        (None, None) => python_text::write_float(size, &mut digits),
        (Some('f' | 'F'), _) => write!(digits, "{size:.precision$}").map_err(|_| Bail::VALUE)?,
        (Some('%'), _) => {
            let hundredfold = size * 100.0;
            if !hundredfold.is_finite() {
                return Err(Bail::VALUE);
            }
            write!(digits, "{hundredfold:.precision$}%").map_err(|_| Bail::VALUE)?;
        }
        (Some('e' | 'E'), _) => scientific(size, precision, false, &mut digits)?,
        (Some('g' | 'G'), _) => general(size, precision.max(1), &mut digits)?,
        _ => return Err(Bail::VALUE),
    }
    if matches!(spec.kind, Some('E' | 'G')) {
        digits.make_ascii_uppercase();
    }
    number(value.is_sign_negative(), &digits, spec, out)
}

/// Append a float with an exponent of at least two digits, and without zeros at the end if `is_short`.
fn scientific(size: f64, precision: usize, is_short: bool, out: &mut Vec<u8>) -> Valued<()> {
    let made = format!("{size:.precision$e}");
    let (mantissa, exponent) = made.split_once('e').ok_or(Bail::VALUE)?;
    let mantissa = if is_short { without_zeros(mantissa) } else { mantissa };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    write!(out, "{mantissa}e{sign}{exponent:0>2}").map_err(|_| Bail::VALUE)
}

/// Append a float by `g`: with an exponent if it is very large or very small, without zeros at the end.
fn general(size: f64, precision: usize, out: &mut Vec<u8>) -> Valued<()> {
    let made = format!("{size:.*e}", precision - 1);
    let exponent: i64 = made.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).ok_or(Bail::VALUE)?;
    if exponent < -4 || exponent >= precision as i64 {
        return scientific(size, precision - 1, true, out);
    }
    let decimals = (precision as i64 - 1 - exponent) as usize;
    out.extend_from_slice(without_zeros(&format!("{size:.decimals$}")).as_bytes());
    Ok(())
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Append a number with its sign, and its separators of thousands.
fn number(is_negative: bool, digits: &[u8], spec: &Spec, out: &mut Vec<u8>) -> Valued<()> {
    let sign = match (is_negative, spec.sign) {
        (true, _) => &b"-"[..],
        (_, Some('+')) => b"+",
        (_, Some(' ')) => b" ",
        _ => b"",
    };
    let Some(separator) = spec.separator else {
        padded(sign, digits, spec, '>', out);
        return Ok(());
    };
    // Zeros that fill a number have separators too.
    if spec.align == Some('=') && spec.width > 0 {
        return Err(Bail::VALUE);
    }
    let whole = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    if digits[whole..].contains(&b'e') || digits[whole..].contains(&b'E') {
        return Err(Bail::VALUE);
    }
    let mut grouped = Vec::with_capacity(digits.len() + whole / 3);
    for (index, digit) in digits.iter().enumerate() {
        if index > 0 && index < whole && (whole - index) % 3 == 0 {
            grouped.push(separator);
        }
        grouped.push(*digit);
    }
    padded(sign, &grouped, spec, '>', out);
    Ok(())
}

/// Append a text with its sign, filled to the width.
fn padded(sign: &[u8], excerpt: &[u8], spec: &Spec, align: char, out: &mut Vec<u8>) {
    let space = if spec.width == 0 { 0 } else { spec.width.saturating_sub(sign.len() + text::length(excerpt)) };
    let (before, inside) = match spec.align.unwrap_or(align) {
        '<' => (0, 0),
        '^' => (space / 2, 0),
        '=' => (0, space),
        _ => (space, 0),
    };
    repeat(spec.fill.as_bytes(), before, out);
    out.extend_from_slice(sign);
    repeat(spec.fill.as_bytes(), inside, out);
    out.extend_from_slice(excerpt);
    repeat(spec.fill.as_bytes(), space - before - inside, out);
}

fn repeat(fill: &[u8], times: usize, out: &mut Vec<u8>) {
    if let [byte] = fill {
        out.resize(out.len() + times, *byte);
    } else {
        for _ in 0..times {
            out.extend_from_slice(fill);
        }
    }
}

/// `center`, `ljust` and `rjust`, by the side's name.
pub(super) fn justify<'r>(
    excerpt: &'r [u8],
    width: i64,
    fill: &[u8],
    side: &[u8],
    scratch: &Scratch<'r>,
) -> Valued<&'r [u8]> {
    if text::length(fill) != 1 || width > MAX_WIDTH as i64 {
        return Err(Bail::VALUE);
    }
    let width = usize::try_from(width).unwrap_or(0);
    let space = width.saturating_sub(text::length(excerpt));
    let before = match side {
        b"center" => space / 2 + (space & width & 1),
        b"ljust" => 0,
        b"rjust" => space,
        _ => return Err(Bail::VALUE),
    };
    if space == 0 {
        return Ok(excerpt);
    }
    scratch.text(|out| {
        repeat(fill, before, out);
        out.extend_from_slice(excerpt);
        repeat(fill, space - before, out);
        Ok(())
    })
}
