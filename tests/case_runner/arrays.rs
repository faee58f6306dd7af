//! Tables of case files as Arrow.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray,
    MapArray, NullArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use serde_json::Value as Json;

/// A table: a list of columns, each `[name, type, values]`.
pub fn table(json: &Json) -> RecordBatch {
    let columns = json.as_array().expect("a table is a list of columns");
    let arrays: Vec<ArrayRef> = columns.iter().map(|column| array(&column[1], &items(&column[2]))).collect();
    let field = |(column, array): (&Json, &ArrayRef)| Field::new(text(&column[0]), array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().zip(&arrays).map(field).collect::<Fields>());
    let rows = RecordBatchOptions::new().with_row_count(Some(arrays.first().map_or(0, |array| array.len())));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &rows).expect("columns of one length")
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text"))
}

fn items(json: &Json) -> Vec<&Json> {
    json.as_array().unwrap_or_else(|| panic!("{json} is no list")).iter().collect()
}

/// Values of a type: one of `SIMPLE`, or an object with one entry, the kind and what it is made of.
fn array(kind: &Json, values: &[&Json]) -> ArrayRef {
    let Some((name, inner)) = kind.as_object().and_then(|entries| entries.iter().next()) else {
        return simple(text(kind), values);
    };
    let as_type = |data_type| cast(&simple("int64", values), &data_type).expect("whole numbers of that unit");
    let to = |array: ArrayRef, data_type: DataType| cast(&array, &data_type).expect("a type that can be cast to");
    match name.as_str() {
        "list" => list(inner, values),
        "large_list" => {
            let array = list(inner, values);
            let DataType::List(item) = array.data_type().clone() else { unreachable!("it is a list") };
            to(array, DataType::LargeList(item))
        }
        "struct" => structs(inner, values),
        "map" => map(inner, values),
        "dictionary" => {
            let array = array(inner, values);
            let values = array.data_type().clone();
            to(array, DataType::Dictionary(Box::new(DataType::Int32), Box::new(values)))
        }
        "timestamp" => as_type(DataType::Timestamp(unit(inner), None)),
        "duration" => as_type(DataType::Duration(unit(inner))),
        "time64" => as_type(DataType::Time64(unit(inner))),
        "time32" => to(as_type(DataType::Int32), DataType::Time32(unit(inner))),
        "decimal128" => {
            let part = |n: usize| inner[n].as_i64().expect("precision and scale");
            let array: Decimal128Array = values.iter().map(|value| value.as_i64().map(i128::from)).collect();
            Arc::new(array.with_precision_and_scale(part(0) as u8, part(1) as i8).expect("a decimal"))
        }
        other => panic!("no type {other:?} in case files"),
    }
}

fn simple(name: &str, values: &[&Json]) -> ArrayRef {
    let each = values.iter();
    let target = match name {
        "null" => return Arc::new(NullArray::new(values.len())),
        "string" => return Arc::new(each.map(|v| v.as_str()).collect::<StringArray>()),
        "binary" => {
            let bytes: Vec<Option<Vec<u8>>> = each.map(|v| v.as_str().map(bytes)).collect();
            return Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>());
        }
        "bool" => return Arc::new(each.map(|v| v.as_bool()).collect::<BooleanArray>()),
        "int64" => return Arc::new(each.map(|v| v.as_i64()).collect::<Int64Array>()),
        "float64" => return Arc::new(each.map(|v| float(v)).collect::<Float64Array>()),
        "large_string" => DataType::LargeUtf8,
        "string_view" => DataType::Utf8View,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "uint8" => DataType::UInt8,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float32,
        "date32" => {
            let days: Int32Array = each.map(|v| v.as_i64().map(|days| days as i32)).collect();
            return cast(&days, &DataType::Date32).expect("days");
        }
        other => panic!("no type {other:?} in case files"),
    };
    let source = match &target {
        DataType::LargeUtf8 | DataType::Utf8View => "string",
        DataType::Float32 => "float64",
        _ => "int64",
    };
    cast(&simple(source, values), &target).expect("values of the type")
}

/// A float; those that JSON lacks are `"nan"`, `"inf"` and `"-inf"`.
fn float(json: &Json) -> Option<f64> {
    json.as_f64().or_else(|| json.as_str().map(|word| word.parse().expect("nan or inf")))
}

/// Bytes by their hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn unit(json: &Json) -> TimeUnit {
    match text(json) {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        other => panic!("no unit {other:?}"),
    }
}

fn nulls(values: &[&Json]) -> Option<NullBuffer> {
    let valid: NullBuffer = values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>().into();
    (valid.null_count() > 0).then_some(valid)
}

/// The items of all lists, and where each list ends.
fn flat<'a>(values: &[&'a Json]) -> (Vec<&'a Json>, OffsetBuffer<i32>) {
    let lists: Vec<Vec<&Json>> = values.iter().map(|v| if v.is_null() { Vec::new() } else { items(v) }).collect();
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    (lists.concat(), offsets)
}

fn list(inner: &Json, values: &[&Json]) -> ArrayRef {
    let (flat, offsets) = flat(values);
    let child = array(inner, &flat);
    let item: FieldRef = Arc::new(Field::new_list_field(child.data_type().clone(), true));
    Arc::new(ListArray::new(item, offsets, child, nulls(values)))
}

/// `[[name, type], ...]`, and objects as values; a field that one lacks is null.
fn structs(inner: &Json, values: &[&Json]) -> ArrayRef {
    let own = |field: &Json| {
        let each: Vec<&Json> = values.iter().map(|value| value.get(text(&field[0])).unwrap_or(&Json::Null)).collect();
        let array = array(&field[1], &each);
        (Field::new(text(&field[0]), array.data_type().clone(), true), array)
    };
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = items(inner).into_iter().map(own).unzip();
    Arc::new(StructArray::new(fields.into(), columns, nulls(values)))
}

/// `[type of keys, type of values]`, and lists of pairs as values.
fn map(inner: &Json, values: &[&Json]) -> ArrayRef {
    let (pairs, offsets) = flat(values);
    let part = |n: usize| array(&inner[n], &pairs.iter().map(|pair| &pair[n]).collect::<Vec<_>>());
    let (keys, items) = (part(0), part(1));
    let fields: Fields =
        vec![Field::new("key", keys.data_type().clone(), false), Field::new("value", items.data_type().clone(), true)]
            .into();
    let entries = StructArray::new(fields.clone(), vec![keys, items], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    Arc::new(MapArray::new(field, offsets, entries, nulls(values), false))
}
