//! The Arrow types whose texts are printed here, without Python.

use std::collections::HashSet;

use arrow_schema::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType,
    IntervalUnit,
};

/// Return true if [`TextColumn::new`](super::TextColumn::new) handles `data_type`, children included.
///
/// Other types need Python (the zone rules of a timestamp, an extension type's own scalars), which converts them to
/// strings first. A struct that repeats a field name has no text in Python either.
pub fn is_native(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Timestamp(_, zone) => zone.as_ref().is_none_or(|zone| zone.is_empty()),
        T::List(field) | T::LargeList(field) | T::ListView(field) | T::LargeListView(field) => {
            is_native(field.data_type())
        }
        // If a value takes no room, arrow-rs can't count the rows by the room that they take.
        T::FixedSizeList(field, size) => *size > 0 && is_native(field.data_type()),
        T::FixedSizeBinary(width) => *width > 0,
        T::Struct(fields) => {
            let mut names = HashSet::with_capacity(fields.len());
            fields.iter().all(|field| names.insert(field.name()) && is_native(field.data_type()))
        }
        // The entries' own names are never printed: only the types of key and value count.
        T::Map(entries, _) => match entries.data_type() {
            T::Struct(fields) => fields.len() == 2 && fields.iter().all(|field| is_native(field.data_type())),
            _ => false,
        },
        T::Dictionary(_, values) => is_native(values),
        T::RunEndEncoded(_, values) => is_native(values.data_type()),
        T::Interval(unit) => matches!(unit, IntervalUnit::MonthDayNano),
        T::Union(..) => false,
        T::Null
        | T::Boolean
        | T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64
        | T::Float16
        | T::Float32
        | T::Float64
        | T::Date32
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
        | T::Duration(_)
        | T::Binary
        | T::LargeBinary
        | T::BinaryView
        | T::Utf8
        | T::LargeUtf8
        | T::Utf8View => true,
        // pyarrow refuses to print a scale with more places than the width has digits.
        T::Decimal32(_, scale) => scale.unsigned_abs() <= DECIMAL32_MAX_PRECISION,
        T::Decimal64(_, scale) => scale.unsigned_abs() <= DECIMAL64_MAX_PRECISION,
        T::Decimal128(_, scale) => scale.unsigned_abs() <= DECIMAL128_MAX_PRECISION,
        T::Decimal256(_, scale) => scale.unsigned_abs() <= DECIMAL256_MAX_PRECISION,
    }
}
