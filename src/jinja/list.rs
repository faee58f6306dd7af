//! Operations on lists.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::case::{Mapping, mapped};
use super::compare::{Number, equal, order};
use super::scratch::Scratch;
use super::value::{Bail, List, Value, Valued};

/// The item at a place, from the end for a negative one.
pub(super) fn item(items: List<'_>, at: i64) -> Valued<Value<'_>> {
    super::text::place(at, items.len()).map(|at| items.get(at)).ok_or(Bail::VALUE)
}

/// A slice.
pub(super) fn slice<'r>(
    items: List<'r>,
    start: Value,
    stop: Value,
    step: Value,
    scratch: &Scratch<'r>,
) -> Valued<Value<'r>> {
    let (start, step, many) = super::text::bounds(start, stop, step, items.len())?;
    if let (List::Items(items), 1) = (items, step) {
        let start = (start as usize).min(items.len());
        return Ok(Value::Items(&items[start..start + many]));
    }
    scratch.list((0..many).map(|n| items.get((start + n as i64 * step) as usize)))
}

/// One list behind the other.
pub(super) fn add<'r>(left: List<'r>, right: List<'r>, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let first = left.len();
    let get = |at: usize| if at < first { left.get(at) } else { right.get(at - first) };
    scratch.list((0..first + right.len()).map(get))
}

/// Where a value stands first.
pub(super) fn find(items: List, value: Value, scratch: &Scratch) -> Valued<Option<usize>> {
    for (at, item) in items.iter().enumerate() {
        if equal(item, value, true, scratch)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// How often a value stands in a list.
pub(super) fn count(items: List, value: Value, scratch: &Scratch) -> Valued<usize> {
    let mut count = 0;
    for item in items.iter() {
        count += usize::from(equal(item, value, true, scratch)?);
    }
    Ok(count)
}

/// Items with what they are ordered by: all texts, or all numbers that are numbers.
fn keyed<'r>(items: List<'r>, case_sensitive: bool, scratch: &Scratch<'r>) -> Valued<Vec<(Value<'r>, Value<'r>)>> {
    scratch.spend(items.len() * 2 * size_of::<Value>())?;
    let mut out: Vec<(Value, Value)> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let key = match item {
            Value::Str(text) if !case_sensitive => Value::Str(mapped(Mapping::Lower, text, scratch)?),
            other => other,
        };
        let alike = match (key, out.first()) {
            (Value::Str(_), first) => first.is_none_or(|(key, _)| matches!(key, Value::Str(_))),
            (key, first) => !Number::of(key)?.is_nan() && first.is_none_or(|(key, _)| !matches!(key, Value::Str(_))),
        };
        if !alike {
            return Err(Bail::VALUE);
        }
        out.push((key, item));
    }
    Ok(out)
}

/// The order of two keys, which are alike.
fn by_key(left: &(Value, Value), right: &(Value, Value)) -> Ordering {
    order(left.0, right.0).ok().flatten().unwrap_or(Ordering::Equal)
}

/// The filter `sort`: what is equal keeps its order, in reverse too.
pub(super) fn sort<'r>(
    items: List<'r>,
    reverse: bool,
    case_sensitive: bool,
    scratch: &Scratch<'r>,
) -> Valued<Value<'r>> {
    let mut keyed = keyed(items, case_sensitive, scratch)?;
    keyed.sort_by(|left, right| if reverse { by_key(right, left) } else { by_key(left, right) });
    scratch.list(keyed.into_iter().map(|(_, item)| item))
}

/// The filters `min` and `max`: the first of those that are equal.
pub(super) fn extreme<'r>(
    items: List<'r>,
    wanted: Ordering,
    case_sensitive: bool,
    scratch: &Scratch<'r>,
) -> Valued<Value<'r>> {
    let keyed = keyed(items, case_sensitive, scratch)?;
    let best = keyed.into_iter().reduce(|best, next| if by_key(&next, &best) == wanted { next } else { best });
    best.map(|(_, item)| item).ok_or(Bail::VALUE)
}

/// What makes two items the same.
#[derive(PartialEq, Eq, Hash)]
enum Same<'r> {
    Text(&'r [u8]),
    Int(i64),
    Float(u64),
}

/// The filter `unique`: the first of those that are equal.
pub(super) fn unique<'r>(items: List<'r>, case_sensitive: bool, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for (key, item) in keyed(items, case_sensitive, scratch)? {
        let same = match key {
            Value::Str(text) => Same::Text(text),
            other => match Number::of(other)? {
                Number::Int(value) => Same::Int(value),
                // A float that is an int is equal to it.
                Number::Float(value)
                    if Number::Int(value as i64).order(Number::Float(value)) == Some(Ordering::Equal) =>
                {
                    Same::Int(value as i64)
                }
                Number::Float(value) => Same::Float(value.to_bits()),
            },
        };
        if seen.insert(same) {
            out.push(item);
        }
    }
    scratch.list(out.into_iter())
}
