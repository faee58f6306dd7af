//! Equality and order of values as in Python.

use std::cmp::Ordering;

use super::column::{Column, Record};
use super::scratch::Scratch;
use super::value::{Bail, List, Value, Valued};

/// A number: a bool is the int 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    /// Return the number. Bail for any other value.
    pub(super) fn of(value: Value) -> Valued<Self> {
        match value {
            Value::Float(value) => Ok(Self::Float(value)),
            other => Ok(Self::Int(other.index()?)),
        }
    }

    /// Return the exact order of two numbers, or None if one of them is NaN.
    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => int_and_float(a, b),
            (Self::Float(a), Self::Int(b)) => int_and_float(b, a).map(Ordering::reverse),
        }
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Self::Float(value) if value.is_nan())
    }
}

/// The first float after all ints of 64 bits.
const AFTER_INTS: f64 = 9_223_372_036_854_775_808.0;

fn int_and_float(int: i64, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        None
    } else if float >= AFTER_INTS {
        Some(Ordering::Less)
    } else if float < -AFTER_INTS {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        // If the integer parts are equal, the fraction decides.
        Some(int.cmp(&(whole as i64)).then(whole.total_cmp(&float)))
    }
}

/// Return `left == right`. `within` is true for items of containers: Python first tests whether two items are the same
/// object.
pub(super) fn equal(left: Value, right: Value, within: bool, scratch: &Scratch) -> Valued<bool> {
    scratch.spend(1)?;
    match (left, right) {
        (Value::Other(..), _) | (_, Value::Other(..)) => Err(Bail::VALUE),
        (Value::Str(a), Value::Str(b)) => Ok(a == b),
        (Value::None, Value::None) => Ok(true),
        (Value::Bool(_) | Value::Int(_) | Value::Float(_), Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
            let (a, b) = (Number::of(left)?, Number::of(right)?);
            if within && a.is_nan() && b.is_nan() {
                return Err(Bail::VALUE);
            }
            Ok(a.order(b) == Some(Ordering::Equal))
        }
        (Value::Record(a, row), Value::Record(b, other)) => records(a, row, b, other, scratch),
        _ => match (left.list(), right.list()) {
            (Ok(a), Ok(b)) => lists(a, b, scratch),
            _ => Ok(false),
        },
    }
}

fn lists(a: List, b: List, scratch: &Scratch) -> Valued<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        if !equal(a, b, true, scratch)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn records(a: &Record, row: usize, b: &Record, other: usize, scratch: &Scratch) -> Valued<bool> {
    let pairs: Option<Vec<(&Column, &Column)>> =
        a.names().iter().zip(a.fields()).map(|(name, field)| Some((field, b.field(name.as_bytes())?))).collect();
    let Some(pairs) = pairs.filter(|pairs| pairs.len() == b.len()) else { return Ok(false) };
    for (a, b) in pairs {
        if !equal(a.value(row), b.value(other), true, scratch)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Return the order of two texts or of two numbers, or None if one of them is NaN. Bail for other values.
pub(super) fn order(left: Value, right: Value) -> Valued<Option<Ordering>> {
    match (left, right) {
        // UTF-8 preserves the order of code points.
        (Value::Str(a), Value::Str(b)) => Ok(Some(a.cmp(b))),
        _ => Ok(Number::of(left)?.order(Number::of(right)?)),
    }
}
