//! Single Arrow values as configuration values: labels, and messages in a column.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RunArray};
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::python_text::TextColumn;
use crate::render::input::{PythonCallbacks, is_row_numbers, readable};
use crate::value::Value;

/// Return the Python values of a column whose values choose the entry of a label map. Lists and dicts can't be keys, so
/// they give an error.
///
/// # Errors
///
/// `RenderError` for invalid UTF-8 or offsets, and for a value that Python can't read.
pub fn keys_of(field: &Field, array: &ArrayRef, host: &dyn PythonCallbacks) -> Result<Vec<Result<Value>>> {
    let fault = |row: usize, actual: &str| {
        let message = format!("its values choose among labels, which {actual} can't");
        Err(Error::render(Code::WrongColumnType, message).at_row(row).in_column(field.name()))
    };
    if is_row_numbers(field) {
        let key = |(row, value): (usize, Value)| match value {
            Value::List(_) | Value::Dict(_) => fault(row, value.type_name()),
            key => Ok(key),
        };
        return Ok(host.values(field, array)?.into_iter().enumerate().map(key).collect());
    }
    if array.data_type().is_nested() && !matches!(array.data_type(), DataType::RunEndEncoded(..)) {
        let actual = format!("a value of type {}", array.data_type());
        // A null is None, which is a valid key.
        let key = |row: usize| if array.is_null(row) { Ok(Value::None) } else { fault(row, &actual) };
        return Ok((0..array.len()).map(key).collect());
    }
    readable(field, array)?;
    Ok((0..array.len()).map(|row| Ok(number(value_at(array, row), array.data_type()))).collect())
}

/// Return the number that equals a decimal in Python, if there is one.
fn number(value: Value, data_type: &DataType) -> Value {
    let Value::Other(text) = &value else { return value };
    let is_decimal = |t: &DataType| {
        matches!(
            t,
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
        )
    };
    match data_type {
        t if is_decimal(t) => decimal(text).unwrap_or(value),
        DataType::Dictionary(_, values) if is_decimal(values) => decimal(text).unwrap_or(value),
        _ => value,
    }
}

/// Return the int that a decimal's text stands for, or the float that equals it exactly.
fn decimal(text: &str) -> Option<Value> {
    // The longest float has as many digits after the point.
    const MAX_FLOAT_FRACTION_DIGITS: usize = 1074;
    if text.contains('E') {
        let float: f64 = text.parse().ok()?;
        return (float.fract() == 0.0 && float.abs() < 2_f64.powi(53)).then_some(Value::Int(float as i64));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return Some(whole.parse().map_or_else(|_| Value::Big(whole.into()), Value::Int));
    }
    let float: f64 = text.parse().ok()?;
    (format!("{float:.MAX_FLOAT_FRACTION_DIGITS$}").trim_end_matches('0') == format!("{whole}.{fraction}"))
        .then_some(Value::Float(float))
}

/// Return the Python value of a cell, in a column that is [`readable`]. A value that is no string, number, list or dict
/// is represented by its text.
pub fn value_at(array: &dyn Array, row: usize) -> Value {
    use DataType as T;
    // Dictionaries and run-end encoded arrays have their nulls in their values.
    if array.is_null(row) {
        return Value::None;
    }
    let list = |values: ArrayRef| Value::List((0..values.len()).map(|n| value_at(&values, n)).collect());
    match array.data_type() {
        T::Null => Value::None,
        T::Boolean => Value::Bool(array.as_boolean().value(row)),
        T::Int8 => Value::Int(array.as_primitive::<Int8Type>().value(row).into()),
        T::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(row).into()),
        T::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row).into()),
        T::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        T::UInt8 => Value::Int(array.as_primitive::<UInt8Type>().value(row).into()),
        T::UInt16 => Value::Int(array.as_primitive::<UInt16Type>().value(row).into()),
        T::UInt32 => Value::Int(array.as_primitive::<UInt32Type>().value(row).into()),
        T::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or_else(|_| Value::Big(value.to_string().into()), Value::Int)
        }
        T::Float16 => Value::Float(array.as_primitive::<arrow_array::types::Float16Type>().value(row).to_f64()),
        T::Float32 => Value::Float(array.as_primitive::<arrow_array::types::Float32Type>().value(row).into()),
        T::Float64 => Value::Float(array.as_primitive::<arrow_array::types::Float64Type>().value(row)),
        T::Utf8 => Value::from(array.as_string::<i32>().value(row)),
        T::LargeUtf8 => Value::from(array.as_string::<i64>().value(row)),
        T::Utf8View => Value::from(array.as_string_view().value(row)),
        T::List(_) => list(array.as_list::<i32>().value(row)),
        T::LargeList(_) => list(array.as_list::<i64>().value(row)),
        T::FixedSizeList(..) => list(array.as_fixed_size_list().value(row)),
        T::ListView(_) => list(array.as_list_view::<i32>().value(row)),
        T::LargeListView(_) => list(array.as_list_view::<i64>().value(row)),
        T::Struct(fields) => Value::Dict(
            fields
                .iter()
                .zip(array.as_struct().columns())
                .map(|(f, column)| (Value::from(f.name().as_str()), value_at(column, row)))
                .collect(),
        ),
        T::RunEndEncoded(ends, _) => match ends.data_type() {
            T::Int16 => run_value::<Int16Type>(array, row),
            T::Int32 => run_value::<Int32Type>(array, row),
            _ => run_value::<Int64Type>(array, row),
        },
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match value_at(dictionary.keys(), row) {
                Value::Int(key) => value_at(dictionary.values(), key as usize),
                _ => Value::None,
            }
        }
        other => {
            let text = TextColumn::new(&array.slice(row, 1)).map(|t| String::from_utf8_lossy(t.bytes(0)).into_owned());
            Value::Other(text.unwrap_or_else(|_| format!("a value of type {other}")).into())
        }
    }
}

fn run_value<E: RunEndIndexType>(array: &dyn Array, row: usize) -> Value {
    match array.as_any().downcast_ref::<RunArray<E>>() {
        Some(runs) => value_at(runs.values(), runs.get_physical_index(row)),
        None => Value::None,
    }
}

/// Return the distinct values of a column, sorted: null first, then by value.
pub fn distinct(arrays: &[ArrayRef]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for array in arrays {
        for row in 0..array.len() {
            let value = value_at(array, row);
            // Both zeros are the same label: the zero that comes first, as in a Python set.
            let is_zero = matches!(value, Value::Float(number) if number == 0.0);
            let key = if is_zero { "0.0".to_owned() } else { format!("{value:?}") };
            if seen.insert(key) {
                out.push(value);
            }
        }
    }
    // An unsigned integer beyond 64 bits with a sign.
    let big = |digits: &str| digits.parse::<i128>().unwrap_or(i128::MAX);
    out.sort_by(|a, b| match (a, b) {
        (Value::None, Value::None) => Ordering::Equal,
        (Value::None, _) => Ordering::Less,
        (_, Value::None) => Ordering::Greater,
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::Big(b)) => i128::from(*a).cmp(&big(b)),
        (Value::Big(a), Value::Int(b)) => big(a).cmp(&i128::from(*b)),
        (Value::Big(a), Value::Big(b)) => big(a).cmp(&big(b)),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        _ => Ordering::Equal,
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_numbers_that_they_equal() {
        for (text, number) in [
            ("1", Value::Int(1)),
            ("-0", Value::Int(0)),
            ("1.00", Value::Int(1)),
            ("1E+3", Value::Int(1000)),
            ("0.5", Value::Float(0.5)),
            ("-12.250", Value::Float(-12.25)),
            ("99999999999999999999.0", Value::Big("99999999999999999999".into())),
        ] {
            assert_eq!(decimal(text), Some(number), "{text}");
        }
        for text in ["0.1", "1E-10", "0.5000000000000000000000000001", "1E+40"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
