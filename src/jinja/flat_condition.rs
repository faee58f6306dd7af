//! Conditions on columns that are true or false and never bail. They select the branches of programs that copy.

use std::cmp::Ordering;
use std::ops::Range;

use super::column::Column;
use super::compare::Number;
use super::constant::Constant;
use super::flat_source::Source;
use super::value::Value;

/// A condition on a row.
pub(super) enum Condition<'a> {
    /// The condition holds for all rows, or for none.
    Always(bool),
    /// A text of a source, by the source's number, is neither null nor empty.
    Filled(usize),
    /// A value is true.
    True(Column<'a>),
    /// A value is None.
    Missing(Side<'a>),
    /// Two values are equal.
    Equal(Side<'a>, Side<'a>),
    Not(Box<Condition<'a>>),
    /// If the first condition holds, the second one decides, otherwise the third one.
    Select(Box<[Condition<'a>; 3]>),
}

/// A side of a comparison.
pub(super) enum Side<'a> {
    /// A text of a source, by the source's number.
    Text(usize),
    /// A number or bool.
    Number(Column<'a>),
    Constant(&'a Constant),
}

impl Condition<'_> {
    /// Fill `out` with true for each row for which the condition holds, and with false for the others.
    pub(super) fn holds(&self, rows: Range<usize>, sources: &[Source], out: &mut Vec<bool>) {
        out.clear();
        match self {
            Self::Always(holds) => out.resize(rows.len(), *holds),
            Self::Filled(source) => {
                let texts = &sources[*source].texts;
                out.extend(rows.map(|row| !texts.is_null(row) && texts.length(row) > 0));
            }
            Self::True(column) => out.extend(rows.map(|row| column.value(row).truth() == Ok(true))),
            Self::Missing(side) => {
                out.extend(rows.map(|row| matches!(side.value(row, sources), Value::None)));
            }
            Self::Equal(left, right) => {
                out.extend(rows.map(|row| equal(left.value(row, sources), right.value(row, sources))));
            }
            Self::Not(condition) => {
                condition.holds(rows, sources, out);
                for holds in out.iter_mut() {
                    *holds = !*holds;
                }
            }
            Self::Select(conditions) => {
                let [test, value, other] = &**conditions;
                let (mut test_holds, mut value_holds) = (Vec::new(), Vec::new());
                test.holds(rows.clone(), sources, &mut test_holds);
                value.holds(rows.clone(), sources, &mut value_holds);
                other.holds(rows, sources, out);
                for ((out, test), value) in out.iter_mut().zip(test_holds).zip(value_holds) {
                    *out = if test { value } else { *out };
                }
            }
        }
    }
}

impl Side<'_> {
    #[inline]
    fn value<'r>(&'r self, row: usize, sources: &'r [Source]) -> Value<'r> {
        match self {
            Self::Text(source) if sources[*source].texts.is_null(row) => Value::None,
            Self::Text(source) => Value::Str(sources[*source].texts.bytes(row)),
            Self::Number(column) => column.value(row),
            Self::Constant(value) => Value::of(value),
        }
    }
}

/// Return `left == right` for values that aren't containers.
fn equal(left: Value, right: Value) -> bool {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::None, Value::None) => true,
        _ => match (Number::of(left), Number::of(right)) {
            (Ok(a), Ok(b)) => a.order(b) == Some(Ordering::Equal),
            _ => false,
        },
    }
}
