//! Converts tables of case files to Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeListArray, LargeStringArray, ListArray, MapArray,
    NullArray, RecordBatch, RecordBatchOptions, StringArray, StringViewArray, StructArray, UInt8Array, UInt32Array,
    UInt64Array, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use serde_json::Value as Json;

/// Convert a table: a list of columns, each `[name, type, values]`.
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

/// Convert values of a type, which is a name, or an object with one entry: the kind and its parts.
fn array(kind: &Json, values: &[&Json]) -> ArrayRef {
    let Some((name, inner)) = kind.as_object().and_then(|entries| entries.iter().next()) else {
        return simple(text(kind), values);
    };
    let same_bytes = |of: &str, data_type| {
        let numbers = simple(of, values).to_data().into_builder().data_type(data_type);
        make_array(numbers.build().expect("whole numbers of that unit"))
    };
    match name.as_str() {
        "list" => list(inner, values),
        "large_list" => {
            let array = list(inner, values);
            let (item, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
            let offsets = OffsetBuffer::from_lengths(offsets.lengths());
            Arc::new(LargeListArray::new(item, offsets, items, nulls))
        }
        "struct" => structs(inner, values),
        "map" => map(inner, values),
        "dictionary" => {
            let key = |(n, value): (usize, &&Json)| (!value.is_null()).then_some(n as i32);
            let keys: Int32Array = values.iter().enumerate().map(key).collect();
            Arc::new(DictionaryArray::new(keys, array(inner, values)))
        }
        "timestamp" => same_bytes("int64", DataType::Timestamp(unit(inner), None)),
        "duration" => same_bytes("int64", DataType::Duration(unit(inner))),
        "time64" => same_bytes("int64", DataType::Time64(unit(inner))),
        "time32" => same_bytes("int32", DataType::Time32(unit(inner))),
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
    macro_rules! numbers {
        ($array:ty) => {
            Arc::new(each.map(|v| v.as_i64().map(|n| n.try_into().expect("a number of the type"))).collect::<$array>())
        };
    }
    match name {
        "null" => Arc::new(NullArray::new(values.len())),
        "string" => Arc::new(each.map(|v| v.as_str()).collect::<StringArray>()),
        "binary" => {
            let bytes: Vec<Option<Vec<u8>>> = each.map(|v| v.as_str().map(bytes)).collect();
            Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>())
        }
        "large_string" => Arc::new(each.map(|v| v.as_str()).collect::<LargeStringArray>()),
        "string_view" => Arc::new(each.map(|v| v.as_str()).collect::<StringViewArray>()),
        "bool" => Arc::new(each.map(|v| v.as_bool()).collect::<BooleanArray>()),
        "int8" => numbers!(Int8Array),
        "int16" => numbers!(Int16Array),
        "int32" => numbers!(Int32Array),
        "int64" => numbers!(Int64Array),
        "uint8" => numbers!(UInt8Array),
        "uint32" => numbers!(UInt32Array),
        "uint64" => numbers!(UInt64Array),
        "date32" => numbers!(Date32Array),
        "float32" => Arc::new(each.map(|v| float(v).map(|number| number as f32)).collect::<Float32Array>()),
        "float64" => Arc::new(each.map(|v| float(v)).collect::<Float64Array>()),
        other => panic!("no type {other:?} in case files"),
    }
}

/// Convert a float; those that JSON lacks are `"nan"`, `"inf"` and `"-inf"`.
fn float(json: &Json) -> Option<f64> {
    json.as_f64().or_else(|| json.as_str().map(|word| word.parse().expect("nan or inf")))
}

/// Convert hexadecimal digits to bytes.
fn bytes(digits: &str) -> Vec<u8> {
    let byte = |index| u8::from_str_radix(&digits[index..index + 2], 16).expect("hexadecimal digits");
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

/// Return the items of all lists, and the end of each list.
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

/// Convert structs of the type `[[name, type], ...]` from objects; a missing field is null.
fn structs(inner: &Json, values: &[&Json]) -> ArrayRef {
    let field_and_column = |field: &Json| {
        let each: Vec<&Json> = values.iter().map(|value| value.get(text(&field[0])).unwrap_or(&Json::Null)).collect();
        let array = array(&field[1], &each);
        (Field::new(text(&field[0]), array.data_type().clone(), true), array)
    };
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = items(inner).into_iter().map(field_and_column).unzip();
    Arc::new(StructArray::new(fields.into(), columns, nulls(values)))
}

/// Convert maps of the type `[type of keys, type of values]` from lists of pairs.
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
