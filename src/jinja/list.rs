//! Operations on lists.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::case::{Mapping, mapped};
use super::compare::{Number, equal, order};
use super::scratch::Scratch;
use super::value::{Bail, List, Value, Valued};

/// Return the item at an index. A negative index counts from the end.
pub(super) fn item(items: List<'_>, index: i64) -> Valued<Value<'_>> {
    super::text::resolve_index(index, items.len()).map(|index| items.get(index)).ok_or(Bail::VALUE)
}

/// Return a slice of a list.
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

/// Return the concatenation of two lists.
pub(super) fn add<'r>(left: List<'r>, right: List<'r>, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let first = left.len();
    let get = |index: usize| if index < first { left.get(index) } else { right.get(index - first) };
    scratch.list((0..first + right.len()).map(get))
}

/// Return the index of the first item that equals a value.
pub(super) fn find(items: List, value: Value, scratch: &Scratch) -> Valued<Option<usize>> {
    for (index, item) in items.iter().enumerate() {
        if equal(item, value, true, scratch)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Return the number of items that equal a value.
pub(super) fn count(items: List, value: Value, scratch: &Scratch) -> Valued<usize> {
    let mut count = 0;
    for item in items.iter() {
        count += usize::from(equal(item, value, true, scratch)?);
    }
    Ok(count)
}

/// Return each item with its sort key. Bail unless all keys are texts, or all are numbers other than NaN.
fn keyed<'r>(items: List<'r>, case_sensitive: bool, scratch: &Scratch<'r>) -> Valued<Vec<(Value<'r>, Value<'r>)>> {
    scratch.spend(items.len() * 2 * size_of::<Value>())?;
    let mut out: Vec<(Value, Value)> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let key = match item {
            Value::Str(text) if !case_sensitive => Value::Str(mapped(Mapping::LowerCase, text, scratch)?),
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

/// Compare two keys of the same kind.
fn by_key(left: &(Value, Value), right: &(Value, Value)) -> Ordering {
    order(left.0, right.0).ok().flatten().unwrap_or(Ordering::Equal)
}

/// The filter `sort`. Equal items keep their order, also if the order is reversed.
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

/// The filters `min` and `max`. Return the first one of equal items.
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

/// Identity of an item for `unique`.
#[derive(PartialEq, Eq, Hash)]
enum Same<'r> {
    Text(&'r [u8]),
    Int(i64),
    Float(u64),
}

/// The filter `unique`. Keep the first one of equal items.
pub(super) fn unique<'r>(items: List<'r>, case_sensitive: bool, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for (key, item) in keyed(items, case_sensitive, scratch)? {
        let same = match key {
            Value::Str(text) => Same::Text(text),
            other => match Number::of(other)? {
                Number::Int(value) => Same::Int(value),
                // A float with the value of an int equals this int.
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
