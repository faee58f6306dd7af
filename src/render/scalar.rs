//! Single Arrow values as configuration values: labels, and messages that stand in a column.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::value::Value;

/// The value of a cell as Python sees it, for strings, numbers, lists and structs; anything else is opaque.
pub fn value_at(array: &dyn Array, row: usize) -> Value {
    use DataType as T;
    if array.is_null(row) {
        return Value::None;
    }
    let list = |values: ArrayRef| Value::List((0..values.len()).map(|n| value_at(&values, n)).collect());
    let int = |value: Option<i64>| value.map_or_else(|| Value::Other("an int beyond 64 bits".into()), Value::Int);
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
        T::UInt64 => int(array.as_primitive::<UInt64Type>().value(row).try_into().ok()),
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
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.normalized_keys();
            value_at(dictionary.values(), keys[row])
        }
        other => Value::Other(format!("a value of type {other}").into()),
    }
}

/// The distinct values of a column, sorted: null first, then by value.
pub fn distinct(arrays: &[ArrayRef]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for array in arrays {
        for row in 0..array.len() {
            let value = value_at(array, row);
            if seen.insert(format!("{value:?}")) {
                out.push(value);
            }
        }
    }
    out.sort_by(|a, b| match (a, b) {
        (Value::None, Value::None) => std::cmp::Ordering::Equal,
        (Value::None, _) => std::cmp::Ordering::Less,
        (_, Value::None) => std::cmp::Ordering::Greater,
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        _ => std::cmp::Ordering::Equal,
    });
    out
}
