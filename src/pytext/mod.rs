//! The text of a field: what Python's `str()` prints for the value that pyarrow's `to_pylist()` gives.
//!
//! A column is turned into text as a whole, before the rows are rendered, so that the row loop does nothing but take
//! slices. A string column is not copied at all: [`TextColumn`] shares its buffers once they are checked. Everything
//! else is printed into one buffer.
//!
//! | file | what it knows |
//! |---|---|
//! | `column` | a column's texts, one slice a row |
//! | `slices` | where Arrow keeps a row's bytes, and whether a foreign producer's buffers can be trusted |
//! | `cell` | which printer an Arrow type takes |
//! | `number`, `decimal`, `time`, `quote` | what Python prints for one value |
//! | `nested` | lists, structs, maps, and values behind keys or runs |
//!
//! Inside a container Python prints `repr`, outside it `str`: `cell::Form` tells them apart.

mod cell;
mod column;
mod decimal;
mod literal;
mod nested;
mod number;
mod quote;
mod slices;
mod time;

use std::collections::HashSet;

use arrow_schema::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType,
    IntervalUnit,
};

pub use column::{NONE, Offsets, Span, TextColumn};
pub use literal::list_of_strings;
pub use number::float_text;
pub use quote::{PRINTABLE_WORDS, set_printable};

/// Whether [`TextColumn::new`] handles `data_type`, children included.
///
/// What it doesn't handle needs Python itself (the zone rules of a timestamp, an extension type's own scalars) and is
/// turned into strings before it comes here. A struct that repeats a field name has no text in Python either.
pub fn is_native(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Timestamp(_, zone) => zone.as_ref().is_none_or(|zone| zone.is_empty()),
        T::List(field)
        | T::LargeList(field)
        | T::ListView(field)
        | T::LargeListView(field)
        | T::FixedSizeList(field, _) => is_native(field.data_type()),
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
        | T::FixedSizeBinary(_)
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
