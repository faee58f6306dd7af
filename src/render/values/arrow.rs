//! Configuration values as Arrow arrays: the fields of messages that don't depend on data.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, ListArray, NullArray, StringArray,
    StringViewArray, StructArray, UInt64Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Code, Error, Result};
use crate::plan::Layout;
use crate::render::input::{cast, element_type, is_list};
use crate::value::Value;

/// Return the Arrow type of written strings.
pub fn string_type(layout: Layout) -> DataType {
    match layout {
        Layout::String => DataType::Utf8,
        Layout::LargeString => DataType::LargeUtf8,
        Layout::StringView => DataType::Utf8View,
    }
}

/// Return the type that holds all these values; None if there is none.
pub fn type_of<'a>(values: impl IntoIterator<Item = &'a Value>, layout: Layout) -> Option<DataType> {
    values.into_iter().try_fold(DataType::Null, |so_far, value| {
        let value_type = match value {
            Value::None => DataType::Null,
            Value::Bool(_) => DataType::Boolean,
            Value::Int(_) => DataType::Int64,
            Value::Float(_) => DataType::Float64,
            Value::Str(_) => string_type(layout),
            Value::List(items) => DataType::List(item(type_of(items, layout)?)),
            Value::Dict(items) => {
                let field = |(k, v): &(Value, Value)| Some(Field::new(k.as_str()?, type_of([v], layout)?, true));
                DataType::Struct(items.iter().map(field).collect::<Option<Vec<_>>>()?.into())
            }
            Value::Big(_) | Value::Other(_) => return None,
        };
        unify(&so_far, &value_type, layout)
    })
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, true))
}

/// Return the type that holds values of both types; None if there is none. Strings of any layout become strings of the
/// written layout.
pub fn unify(a: &DataType, b: &DataType, layout: Layout) -> Option<DataType> {
    use DataType as T;
    let is_string = |t: &T| match t {
        T::Utf8 | T::LargeUtf8 | T::Utf8View => true,
        T::Dictionary(_, values) => matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View),
        _ => false,
    };
    Some(match (a, b) {
        (T::Null, other) | (other, T::Null) if is_string(other) => string_type(layout),
        (T::Null, other) | (other, T::Null) => other.clone(),
        (a, b) if is_string(a) && is_string(b) => string_type(layout),
        (a, b) if a == b => a.clone(),
        (a, b) if a.is_integer() && b.is_integer() => T::Int64,
        (a, b) if a.is_numeric() && b.is_numeric() => T::Float64,
        (T::List(a), T::List(b)) => T::List(item(unify(a.data_type(), b.data_type(), layout)?)),
        (T::Struct(a), T::Struct(b)) => {
            let mut fields: Vec<Field> = Vec::new();
            for field in a {
                let field_type = match b.find(field.name()) {
                    Some((_, other)) => unify(field.data_type(), other.data_type(), layout)?,
                    None => field.data_type().clone(),
                };
                fields.push(Field::new(field.name(), field_type, true));
            }
            let rest = b.iter().filter(|f| a.find(f.name()).is_none());
            fields.extend(rest.map(|f| Field::new(f.name(), f.data_type().clone(), true)));
            T::Struct(fields.into())
        }
        _ => return None,
    })
}

/// Build an array of `data_type` from values; [`type_of`] gave the type for these values, and maybe for others.
///
/// # Errors
///
/// `RenderError` for a value that the type can't hold.
pub fn build(values: &[&Value], data_type: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    let wrong = |value: &Value| Error::render(Code::NoArrowType, format!("{value} doesn't fit the type {data_type}"));
    macro_rules! primitive {
        ($array:ty, $($pattern:pat => $value:expr),+) => {
            Arc::new(values.iter().map(|v| match v {
                Value::None => Ok(None),
                $($pattern => Ok(Some($value)),)+
                other => Err(wrong(other)),
            }).collect::<Result<$array>>()?)
        };
    }
    Ok(match data_type {
        T::Null => Arc::new(NullArray::new(values.len())),
        T::Boolean => primitive!(BooleanArray, Value::Bool(b) => *b),
        T::Int64 => primitive!(Int64Array, Value::Int(i) => *i),
        T::UInt64 => {
            primitive!(UInt64Array, Value::Int(i) => *i as u64, Value::Big(digits) => digits.parse().unwrap_or(u64::MAX))
        }
        T::Float64 => primitive!(Float64Array, Value::Float(f) => *f, Value::Int(i) => *i as f64),
        T::Utf8 => primitive!(StringArray, Value::Str(s) => &**s),
        T::LargeUtf8 => primitive!(LargeStringArray, Value::Str(s) => &**s),
        T::Utf8View => primitive!(StringViewArray, Value::Str(s) => &**s),
        T::List(field) => {
            let mut lengths = Vec::with_capacity(values.len());
            let mut flat = Vec::new();
            for value in values {
                match value {
                    Value::List(items) => {
                        lengths.push(items.len());
                        flat.extend(items);
                    }
                    Value::None => lengths.push(0),
                    other => return Err(wrong(other)),
                }
            }
            let child = build(&flat, field.data_type())?;
            Arc::new(ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), child, nulls(values)))
        }
        T::Struct(fields) => {
            let fits = |value: &Value| match value {
                Value::None => true,
                Value::Dict(items) => {
                    items.iter().all(|(key, _)| key.as_str().is_some_and(|key| fields.find(key).is_some()))
                }
                _ => false,
            };
            if let Some(value) = values.iter().find(|value| !fits(value)) {
                return Err(wrong(value));
            }
            let columns = fields
                .iter()
                .map(|field| {
                    let child_values: Vec<&Value> =
                        values.iter().map(|v| v.get(field.name()).unwrap_or(&Value::None)).collect();
                    build(&child_values, field.data_type())
                })
                .collect::<Result<Vec<_>>>()?;
            structs(fields.clone(), columns, nulls(values), values.len())?
        }
        other => {
            // The type came with the data, and no value of a configuration has this type.
            let values_type = type_of(values.iter().copied(), Layout::String).ok_or_else(|| {
                Error::render(Code::NoArrowType, format!("the configuration's values don't fit the type {other}"))
            })?;
            if values_type == T::Null {
                return Ok(new_null_array(other, values.len()));
            }
            return Err(Error::render(
                Code::NoArrowType,
                format!("values of type {values_type} don't fit the type {other}"),
            ));
        }
    })
}

/// Convert an array to a type that can hold all its values; a struct may get more fields.
///
/// # Errors
///
/// `RenderError` for values that don't fit, which includes lists that exceed the size of their type.
pub fn widened(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let fault = |e: arrow_schema::ArrowError| Error::render(Code::InternalError, e.to_string());
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(array.clone()),
        (DataType::Dictionary(_, values), DataType::Struct(_) | DataType::List(_)) => {
            widened(&cast(array, values)?, to)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let source = array.as_struct();
            let column = |field: &Arc<Field>| match source.column_by_name(field.name()) {
                Some(column) => widened(column, field.data_type()),
                None => Ok(new_null_array(field.data_type(), source.len())),
            };
            structs(
                fields.clone(),
                fields.iter().map(column).collect::<Result<_>>()?,
                source.nulls().cloned(),
                source.len(),
            )
        }
        (from, DataType::List(to)) if is_list(from) => {
            let Some(element) = element_type(from) else { return cast(array, array.data_type()) };
            let lists = cast(array, &DataType::List(item(element)))?;
            let lists = lists.as_list::<i32>();
            let values = widened(lists.values(), to.data_type())?;
            let lists = ListArray::try_new(to.clone(), lists.offsets().clone(), values, lists.nulls().cloned());
            Ok(Arc::new(lists.map_err(fault)?))
        }
        _ => cast(array, to),
    }
}

/// Make a struct array of columns with the same length; there may be no columns.
///
/// # Errors
///
/// `RenderError` if Arrow refuses the columns.
pub fn structs(fields: Fields, columns: Vec<ArrayRef>, nulls: Option<NullBuffer>, len: usize) -> Result<ArrayRef> {
    let array = if columns.is_empty() {
        StructArray::new_empty_fields(len, nulls)
    } else {
        StructArray::try_new(fields, columns, nulls).map_err(|e| Error::render(Code::InternalError, e.to_string()))?
    };
    Ok(Arc::new(array) as ArrayRef)
}

fn nulls(values: &[&Value]) -> Option<NullBuffer> {
    let valid: Vec<bool> = values.iter().map(|v| !matches!(v, Value::None)).collect();
    valid.contains(&false).then(|| NullBuffer::from(valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_and_floats_share_a_type_and_strings_and_lists_don_t() {
        let number = [Value::Int(1), Value::Float(0.5), Value::None];
        assert_eq!(type_of(&number, Layout::String), Some(DataType::Float64));
        assert_eq!(type_of(&[Value::from("a"), Value::List(vec![])], Layout::String), None);
        assert_eq!(build(&number.iter().collect::<Vec<_>>(), &DataType::Float64).unwrap().null_count(), 1);
    }
}
