//! Makes tables from unchecked JSON, and checks resulting arrays.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, ListBuilder, StringBuilder, StringDictionaryBuilder, StructBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use serde_json::Value as Json;

/// So many rows reach all paths through the core except for the parallel one.
const ROWS: usize = 64;

/// Convert `[[name, type, values], ...]`; None if the JSON has another form.
pub fn table(json: &Json) -> Option<RecordBatch> {
    let columns = json.as_array()?;
    let rows = columns.iter().filter_map(|column| Some(column.get(2)?.as_array()?.len())).max()?.min(ROWS);
    let read = |column: &Json| {
        let values = column.get(2)?.as_array()?;
        let each: Vec<&Json> = (0..rows).map(|row| values.get(row).unwrap_or(&Json::Null)).collect();
        let array = array(column.get(1)?.as_str()?, &each);
        Some((Field::new(column.get(0)?.as_str()?, array.data_type().clone(), true), array))
    };
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
        columns.iter().map(read).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).ok()
}

/// Convert values to a type; a value that doesn't fit is null.
fn array(kind: &str, values: &[&Json]) -> ArrayRef {
    let texts = || values.iter().map(|value| value.as_str());
    match kind {
        "large_string" => {
            let mut all = LargeStringBuilder::new();
            texts().for_each(|text| all.append_option(text));
            Arc::new(all.finish())
        }
        "string_view" => Arc::new(texts().collect::<StringViewArray>()),
        "dictionary" => {
            let mut all = StringDictionaryBuilder::<Int32Type>::new();
            texts().for_each(|text| all.append_option(text));
            Arc::new(all.finish())
        }
        "int64" => Arc::new(values.iter().map(|value| value.as_i64()).collect::<Int64Array>()),
        "float64" => Arc::new(values.iter().map(|value| value.as_f64()).collect::<Float64Array>()),
        "bool" => Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>()),
        "null" => Arc::new(NullArray::new(values.len())),
        "list" => {
            let mut all = ListBuilder::new(StringBuilder::new());
            for value in values {
                value.as_array().into_iter().flatten().for_each(|item| all.values().append_option(item.as_str()));
                all.append(value.is_array());
            }
            Arc::new(all.finish())
        }
        "messages" => messages(values),
        _ => Arc::new(texts().collect::<StringArray>()),
    }
}

fn messages(values: &[&Json]) -> ArrayRef {
    let keys = ["role", "content"];
    let fields: Fields = keys.iter().map(|key| Field::new(*key, DataType::Utf8, true)).collect();
    let mut all = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for value in values {
        for item in value.as_array().into_iter().flatten() {
            let message = all.values();
            for (n, key) in keys.iter().enumerate() {
                let texts = message.field_builder::<StringBuilder>(n).expect("it is a column of texts");
                texts.append_option(item.get(key).and_then(Json::as_str));
            }
            message.append(!item.is_null());
        }
        all.append(value.is_array());
    }
    Arc::new(all.finish())
}

/// Check that a resulting array fulfils Arrow's rules, to the last character.
pub fn sound(array: &dyn Array) {
    array.to_data().validate_full().expect("a sound array comes out");
}
