//! Conditions on columns that hold or not, and never bail: what a branch of a program that copies is taken by.

use std::cmp::Ordering;
use std::ops::Range;

use super::column::Column;
use super::compare::Number;
use super::constant::Constant;
use super::flat_source::Source;
use super::value::Value;

/// A condition on a row.
pub(super) enum Condition<'a> {
    /// It holds for all rows, or for none.
    Known(bool),
    /// A text is there and not empty: of a source, by its number.
    Filled(usize),
    /// A value is true.
    True(Column<'a>),
    /// A value is none.
    Missing(Side<'a>),
    /// Two values are equal.
    Equal(Side<'a>, Side<'a>),
    Not(Box<Condition<'a>>),
    /// By the first, the second or the third.
    Select(Box<[Condition<'a>; 3]>),
}

/// What is compared.
pub(super) enum Side<'a> {
    /// A text of a source, by its number.
    Text(usize),
    /// A number or bool.
    Number(Column<'a>),
    Constant(&'a Constant),
}

impl Condition<'_> {
    /// Whether it holds for each of some rows.
    pub(super) fn holds(&self, rows: Range<usize>, sources: &[Source], out: &mut Vec<bool>) {
        out.clear();
        match self {
            Self::Known(holds) => out.resize(rows.len(), *holds),
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
                let [by, one, other] = &**conditions;
                let (mut by_holds, mut one_holds) = (Vec::new(), Vec::new());
                by.holds(rows.clone(), sources, &mut by_holds);
                one.holds(rows.clone(), sources, &mut one_holds);
                other.holds(rows, sources, out);
                for ((out, by), one) in out.iter_mut().zip(by_holds).zip(one_holds) {
                    *out = if by { one } else { *out };
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

/// `==` of values that are no containers.
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
