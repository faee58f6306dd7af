//! Converts JSON to values of a configuration, and Arrow to JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, cast::as_boolean_array, downcast_integer_array};
use arrow_schema::DataType;
use promptpress::value::Value;
use serde_json::{Map, Value as Json};

/// Convert a value of a configuration. JSON's keys are strings; a dict with other keys is `{"$dict": [[key, value],
/// ...]}`.
pub fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().expect("a number that fits 64 bits")),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(to_value).collect()),
        Json::Object(entries) => match entries.get("$dict").and_then(Json::as_array) {
            Some(pairs) => Value::Dict(pairs.iter().map(|pair| (to_value(&pair[0]), to_value(&pair[1]))).collect()),
            None => {
                Value::Dict(entries.iter().map(|(key, value)| (Value::from(key.as_str()), to_value(value))).collect())
            }
        },
    }
}

pub fn lists_of_texts(json: &Json) -> Vec<Vec<String>> {
    let items = |list: &Json| list.as_array().cloned().expect("a list");
    let text = |item: &Json| item.as_str().expect("a text").to_owned();
    items(json).iter().map(|list| items(list).iter().map(text).collect()).collect()
}

/// Convert a request: a text, or messages with their keys. A bare string among messages becomes a string again.
pub fn request(array: &dyn Array, row: usize) -> Json {
    let Json::Array(items) = scalar(array, row) else { return scalar(array, row) };
    let bare = |item| match item {
        Json::Object(message) if message.len() == 1 && message.get("prompt").is_some_and(Json::is_string) => {
            message["prompt"].clone()
        }
        other => other,
    };
    items.into_iter().map(bare).collect()
}

/// Convert one value of an array; a struct loses its null fields.
pub fn scalar(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    let items = |list: &dyn Array| (0..list.len()).map(|n| scalar(list, n)).collect();
    match array.data_type() {
        DataType::Null => Json::Null,
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Boolean => as_boolean_array(array).value(row).into(),
        DataType::List(_) => items(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row)),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let entries = columns.map(|(field, column)| (field.name().clone(), scalar(column, row)));
            Json::Object(entries.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            scalar(dictionary.values(), dictionary.normalized_keys()[row])
        }
        kind if kind.is_integer() => {
            downcast_integer_array!(array => { array.value(row).into() } _ => unreachable!("it is an int"))
        }
        DataType::Float32 => f64::from(array.as_primitive::<Float32Type>().value(row)).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        kind => panic!("requests of type {kind} have no JSON here"),
    }
}
