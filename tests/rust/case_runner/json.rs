//! Converts JSON to values of a configuration, and Arrow to JSON.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, cast::as_boolean_array, downcast_integer_array};
use arrow_schema::DataType;
use promptpress::value::Value;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// A value of a configuration. Its dicts keep the order of the text, which those of [`Json`] don't. JSON's keys are
/// strings; a dict with other keys is `{"$dict": [[key, value], ...]}`.
struct Ordered(Value);

struct OrderedVisitor;

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedVisitor).map(Self)
    }
}

impl<'de> Visitor<'de> for OrderedVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or_else(|_| Value::Float(number as f64), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Ordered(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Ordered(key), Ordered(value))) = access.next_entry()? {
            entries.push((key, value));
        }
        let dict = Value::Dict(entries);
        Ok(dict.get("$dict").and_then(dict_of_pairs).unwrap_or(dict))
    }
}

fn dict_of_pairs(pairs: &Value) -> Option<Value> {
    let Value::List(pairs) = pairs else { return None };
    let entry = |pair: &Value| match pair {
        Value::List(pair) => Some((pair.first()?.clone(), pair.get(1)?.clone())),
        _ => None,
    };
    pairs.iter().map(entry).collect::<Option<_>>().map(Value::Dict)
}

/// Read JSON as a value of a configuration.
pub fn to_value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Ordered(value)| value)
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
