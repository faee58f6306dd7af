//! The printer of each Arrow type.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, IntervalMonthDayNano, NullBuffer};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use super::conversion::Conversion;
use super::fill::{Printed, Slot, append};
use super::native::is_native;
use super::none::{is_none, none};
use super::slices::Slices;
use super::{decimal, json_value, nested, number, quote, time};
use crate::error::{Code, Error, Result};
use crate::json_text;

/// Prints the values of one array.
///
/// Several threads may call it at once.
pub(super) trait Printer: Send + Sync {
    /// Return true if row `row` is null.
    fn is_null(&self, row: usize) -> bool;

    /// Append the value of row `row`; for a null, `None` or `null`.
    ///
    /// # Errors
    ///
    /// An error that explains why Python has no such value. The bytes that were appended are undefined then.
    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()>;

    /// Append some values, with commas between them.
    ///
    /// # Errors
    ///
    /// The same as those of [`print`](Self::print).
    fn print_items(&self, items: Range<usize>, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        let first = items.start;
        for item in items {
            if item > first {
                out.extend_from_slice(b", ");
            }
            self.print(item, conversion, out)?;
        }
        Ok(())
    }

    /// Return true if no text that [`print_all`](Self::print_all) appends is longer than a slot.
    fn is_short(&self) -> bool {
        false
    }

    /// Append the `str` of some rows; rows not in `live` are empty.
    ///
    /// It is a method of the trait, so that the loop is compiled for each printer and its calls are direct.
    ///
    /// # Errors
    ///
    /// The error of the first row that fails.
    fn print_all(&self, rows: Range<usize>, live: Option<&NullBuffer>, out: &mut Printed) -> Result<()> {
        for row in rows {
            if live.is_none_or(|live| live.is_valid(row)) {
                self.print(row, Conversion::Str, &mut out.data).map_err(|error| error.at_row(row))?;
            }
            out.end();
        }
        Ok(())
    }
}

/// Make the printer of `array`.
///
/// # Errors
///
/// An error if the type isn't native, or if the array contradicts its type.
pub(super) fn printer(array: &dyn Array) -> Result<Box<dyn Printer + '_>> {
    use DataType as T;
    macro_rules! integers {
        ($of:ty) => {
            short::<$of, _, _, _, _>(array, Ok, number::put_integer, |v, _, out| number::integer(v, out))
        };
    }
    macro_rules! floats {
        ($of:ty, $read:expr) => {
            short::<$of, f64, _, _, _>(array, $read, number::put_float, number::float)
        };
    }
    macro_rules! dates {
        ($of:ty, $read:expr) => {
            short::<$of, _, _, _, _>(array, $read, time::Date::put, time::Date::write)
        };
    }
    macro_rules! times {
        ($of:ty, $unit:path) => {
            short::<$of, _, _, _, _>(
                array,
                |v| time::timestamp::<{ $unit }>(v.into()),
                time::Timestamp::put_time,
                time::Timestamp::write_time,
            )
        };
    }
    macro_rules! timestamps {
        ($of:ty, $unit:path) => {
            short::<$of, _, _, _, _>(array, time::timestamp::<{ $unit }>, time::Timestamp::put, time::Timestamp::write)
        };
    }
    macro_rules! durations {
        ($of:ty, $unit:path) => {
            values::<$of, _>(array, time::duration::<{ $unit }>)
        };
    }
    if !is_native(array.data_type()) {
        return Err(unprintable(array.data_type()));
    }
    Ok(match array.data_type() {
        T::Null => Box::new(Nothing),
        T::Boolean => Box::new(Truth(array.as_boolean())),
        T::Int8 => integers!(t::Int8Type),
        T::Int16 => integers!(t::Int16Type),
        T::Int32 => integers!(t::Int32Type),
        T::Int64 => integers!(t::Int64Type),
        T::UInt8 => integers!(t::UInt8Type),
        T::UInt16 => integers!(t::UInt16Type),
        T::UInt32 => integers!(t::UInt32Type),
        T::UInt64 => integers!(t::UInt64Type),
        T::Float16 => floats!(t::Float16Type, |v| Ok(v.to_f64())),
        T::Float32 => floats!(t::Float32Type, |v| Ok(v.into())),
        T::Float64 => floats!(t::Float64Type, Ok),
        T::Decimal32(_, scale) => {
            let scale = *scale;
            values::<t::Decimal32Type, _>(array, move |v, conversion, out| {
                decimal::small(v.into(), scale, conversion, out)
            })
        }
        T::Decimal64(_, scale) => {
            let scale = *scale;
            values::<t::Decimal64Type, _>(array, move |v, conversion, out| {
                decimal::small(v.into(), scale, conversion, out)
            })
        }
        T::Decimal128(_, scale) => {
            let scale = *scale;
            values::<t::Decimal128Type, _>(array, move |v, conversion, out| decimal::small(v, scale, conversion, out))
        }
        T::Decimal256(_, scale) => {
            let scale = *scale;
            values::<t::Decimal256Type, _>(array, move |v, conversion, out| decimal::large(v, scale, conversion, out))
        }
        T::Date32 => dates!(t::Date32Type, |v| time::date(v.into())),
        T::Date64 => dates!(t::Date64Type, |v| time::date(v.div_euclid(time::DAY_MILLISECONDS))),
        T::Time32(TimeUnit::Second) => times!(t::Time32SecondType, time::ONE_PER_SECOND),
        T::Time32(TimeUnit::Millisecond) => times!(t::Time32MillisecondType, time::MILLISECONDS_PER_SECOND),
        T::Time64(TimeUnit::Microsecond) => times!(t::Time64MicrosecondType, time::MICROSECONDS_PER_SECOND),
        T::Time64(TimeUnit::Nanosecond) => times!(t::Time64NanosecondType, time::NANOSECONDS_PER_SECOND),
        T::Timestamp(TimeUnit::Second, _) => timestamps!(t::TimestampSecondType, time::ONE_PER_SECOND),
        T::Timestamp(TimeUnit::Millisecond, _) => {
            timestamps!(t::TimestampMillisecondType, time::MILLISECONDS_PER_SECOND)
        }
        T::Timestamp(TimeUnit::Microsecond, _) => {
            timestamps!(t::TimestampMicrosecondType, time::MICROSECONDS_PER_SECOND)
        }
        T::Timestamp(TimeUnit::Nanosecond, _) => timestamps!(t::TimestampNanosecondType, time::NANOSECONDS_PER_SECOND),
        T::Duration(TimeUnit::Second) => durations!(t::DurationSecondType, time::ONE_PER_SECOND),
        T::Duration(TimeUnit::Millisecond) => durations!(t::DurationMillisecondType, time::MILLISECONDS_PER_SECOND),
        T::Duration(TimeUnit::Microsecond) => durations!(t::DurationMicrosecondType, time::MICROSECONDS_PER_SECOND),
        T::Duration(TimeUnit::Nanosecond) => durations!(t::DurationNanosecondType, time::NANOSECONDS_PER_SECOND),
        T::Interval(IntervalUnit::MonthDayNano) => {
            values::<t::IntervalMonthDayNanoType, _>(array, |v: IntervalMonthDayNano, conversion, out| {
                let (months, days, nanoseconds) = (v.months, v.days, v.nanoseconds);
                let text = if conversion.is_json() {
                    format!("[{months}, {days}, {nanoseconds}]") // a named tuple
                } else {
                    format!("MonthDayNano(months={months}, days={days}, nanoseconds={nanoseconds})")
                };
                out.extend_from_slice(text.as_bytes());
                Ok(())
            })
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View => Box::new(Strings { slices: slices(array)?, nulls: array.nulls() }),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            Box::new(Binaries { slices: slices(array)?, nulls: array.nulls() })
        }
        T::List(_) => nested::list(array.as_list::<i32>())?,
        T::LargeList(_) => nested::list(array.as_list::<i64>())?,
        T::ListView(_) => nested::list_view(array.as_list_view::<i32>())?,
        T::LargeListView(_) => nested::list_view(array.as_list_view::<i64>())?,
        T::FixedSizeList(..) => nested::fixed_size_list(array.as_fixed_size_list())?,
        T::Struct(_) => Box::new(nested::Dict::of(array.as_struct())?),
        T::Map(..) => Box::new(nested::MapPairs::of(array.as_map())?),
        T::Dictionary(..) => Box::new(nested::Picked::of_dictionary(array)?),
        T::RunEndEncoded(..) => Box::new(nested::Picked::of_runs(array)?),
        other => return Err(unprintable(other)),
    })
}

/// Make the printer of an array whose field may say that its texts are JSON.
///
/// # Errors
///
/// The same as those of [`printer`].
pub(super) fn printer_of<'a>(field: &Field, array: &'a dyn Array) -> Result<Box<dyn Printer + 'a>> {
    if json_value::is_json(field) { json_printer(array) } else { printer(array) }
}

fn json_printer(array: &dyn Array) -> Result<Box<dyn Printer + '_>> {
    Ok(match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match Slices::of(array) {
            Some(slices) => Box::new(JsonTexts { slices, nulls: array.nulls() }),
            None => printer(array)?,
        },
        DataType::Dictionary(..) => {
            let values = json_printer(array.as_any_dictionary().values())?;
            Box::new(nested::Picked::of_dictionary_values(array, values))
        }
        _ => printer(array)?,
    })
}

/// Prints JSON texts as their values.
struct JsonTexts<'a> {
    slices: Slices,
    nulls: Option<&'a NullBuffer>,
}

impl Printer for JsonTexts<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) {
            Ok(())
        } else {
            json_value::write(self.slices.text(row)?, conversion, out)
        }
    }
}

fn unprintable(data_type: &DataType) -> Error {
    Error::render(Code::UnsupportedColumnType, format!("values of the Arrow type {data_type} have no text"))
}

fn slices(array: &dyn Array) -> Result<Slices> {
    Slices::of(array).ok_or_else(|| unprintable(array.data_type()))
}

/// Make the printer of an array of plain values, each of which `write` prints.
fn values<'a, T, F>(array: &'a dyn Array, write: F) -> Box<dyn Printer + 'a>
where
    T: ArrowPrimitiveType,
    F: Fn(T::Native, Conversion, &mut Vec<u8>) -> Result<()> + Send + Sync + 'a,
{
    let array: &'a PrimitiveArray<T> = array.as_primitive();
    Box::new(Values { items: array.values(), nulls: array.nulls(), write })
}

struct Values<'a, N, F> {
    items: &'a [N],
    nulls: Option<&'a NullBuffer>,
    write: F,
}

impl<N: ArrowNativeType, F: Fn(N, Conversion, &mut Vec<u8>) -> Result<()> + Send + Sync> Printer for Values<'_, N, F> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) { Ok(()) } else { (self.write)(self.items[row], conversion, out) }
    }
}

/// Make the printer of an array of plain values with short texts: `read` converts a value, `put` puts the result into a
/// slot as `str`, and `write` appends it inside a container and as JSON.
fn short<'a, T, V, R, P, W>(array: &'a dyn Array, read: R, put: P, write: W) -> Box<dyn Printer + 'a>
where
    T: ArrowPrimitiveType,
    V: Copy + Default + 'a,
    R: Fn(T::Native) -> Result<V> + Send + Sync + 'a,
    P: Fn(V, &mut Slot) -> usize + Send + Sync + 'a,
    W: Fn(V, Conversion, &mut Vec<u8>) + Send + Sync + 'a,
{
    let array: &'a PrimitiveArray<T> = array.as_primitive();
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    Box::new(ShortValues { items: array.values(), nulls, read, put, write })
}

struct ShortValues<'a, N, R, P, W> {
    items: &'a [N],
    nulls: Option<&'a NullBuffer>,
    read: R,
    put: P,
    write: W,
}

impl<N, V, R, P, W> Printer for ShortValues<'_, N, R, P, W>
where
    N: ArrowNativeType,
    V: Copy + Default,
    R: Fn(N) -> Result<V> + Send + Sync,
    P: Fn(V, &mut Slot) -> usize + Send + Sync,
    W: Fn(V, Conversion, &mut Vec<u8>) + Send + Sync,
{
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if !is_none(self.nulls, row, conversion, out) {
            let value = (self.read)(self.items[row])?;
            if conversion == Conversion::Str {
                append(out, |slot| (self.put)(value, slot));
            } else {
                (self.write)(value, conversion, out);
            }
        }
        Ok(())
    }

    fn is_short(&self) -> bool {
        true
    }

    fn print_all(&self, rows: Range<usize>, live: Option<&NullBuffer>, out: &mut Printed) -> Result<()> {
        let items = &self.items[..rows.end];
        let is_dead = |row| live.is_some_and(|live| live.is_null(row));
        match (self.nulls, live) {
            (None, None) => out.fill(rows, |row| (self.read)(items[row]), |_, value, slot| (self.put)(value, slot)),
            _ => out.fill(
                rows,
                // The bytes of a null may not be a valid value.
                |row| if is_dead(row) || self.is_null(row) { Ok(V::default()) } else { (self.read)(items[row]) },
                |row, value, slot| {
                    if is_dead(row) {
                        0
                    } else if self.is_null(row) {
                        put_word(NONE_WORD, slot)
                    } else {
                        (self.put)(value, slot)
                    }
                },
            ),
        }
    }
}

/// A word of at most eight bytes, and its length.
type Word = ([u8; 8], usize);

const NONE_WORD: Word = (*b"None    ", 4);
const TRUE_WORD: Word = (*b"True    ", 4);
const FALSE_WORD: Word = (*b"False   ", 5);

#[inline]
fn put_word((word, len): Word, slot: &mut Slot) -> usize {
    slot[..word.len()].copy_from_slice(&word);
    len
}

struct Nothing;

impl Printer for Nothing {
    fn is_null(&self, _: usize) -> bool {
        true
    }

    fn print(&self, _: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        none(conversion, out);
        Ok(())
    }
}

struct Truth<'a>(&'a BooleanArray);

impl Printer for Truth<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.0.is_null(row)
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if !is_none(self.0.nulls(), row, conversion, out) {
            out.extend_from_slice(match (self.0.value(row), conversion.is_json()) {
                (true, false) => b"True",
                (false, false) => b"False",
                (true, true) => b"true",
                (false, true) => b"false",
            });
        }
        Ok(())
    }

    fn is_short(&self) -> bool {
        true
    }

    fn print_all(&self, rows: Range<usize>, live: Option<&NullBuffer>, out: &mut Printed) -> Result<()> {
        let (values, nulls) = (self.0.values(), self.0.nulls().filter(|nulls| nulls.null_count() > 0));
        let word = |row: usize| if values.value(row) { TRUE_WORD } else { FALSE_WORD };
        match (nulls, live) {
            (None, None) => out.fill(rows, |_| Ok(()), |row, (), slot| put_word(word(row), slot)),
            (nulls, live) => out.fill(
                rows,
                |_| Ok(()),
                |row, (), slot| {
                    if live.is_some_and(|live| live.is_null(row)) {
                        0
                    } else if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                        put_word(NONE_WORD, slot)
                    } else {
                        put_word(word(row), slot)
                    }
                },
            ),
        }
    }
}

struct Strings<'a> {
    slices: Slices,
    nulls: Option<&'a NullBuffer>,
}

impl Printer for Strings<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if !is_none(self.nulls, row, conversion, out) {
            if conversion == Conversion::Repr && quote::plain(self.slices.binary(row)?, out) {
                return Ok(());
            }
            let text = self.slices.text(row)?;
            match conversion {
                Conversion::Str => out.extend_from_slice(text.as_bytes()),
                Conversion::Repr => quote::string(text, out),
                Conversion::Json | Conversion::JsonWithoutNulls => json_text::string(text, out),
            }
        }
        Ok(())
    }

    fn print_items(&self, items: Range<usize>, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        let (first, mut item) = (items.start, items.start);
        while item < items.end {
            if item > first {
                out.extend_from_slice(b", ");
            }
            let plain = if conversion == Conversion::Repr { self.print_plain(item..items.end, out) } else { 0 };
            item += plain;
            if plain == 0 {
                self.print(item, conversion, out)?;
                item += 1;
            }
        }
        Ok(())
    }
}

impl Strings<'_> {
    /// Append the first of some items, as long as their `repr` is the quoted text itself, and return their number.
    fn print_plain(&self, items: Range<usize>, out: &mut Vec<u8>) -> usize {
        if self.nulls.is_some() {
            return 0;
        }
        match &self.slices {
            Slices::Narrow { offsets, data } => quote::plain_items(data, &offsets[items.start..=items.end], out),
            Slices::Wide { offsets, data } => quote::plain_items(data, &offsets[items.start..=items.end], out),
            Slices::Views { .. } | Slices::Fixed { .. } => 0,
        }
    }
}

struct Binaries<'a> {
    slices: Slices,
    nulls: Option<&'a NullBuffer>,
}

impl Printer for Binaries<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if !is_none(self.nulls, row, conversion, out) {
            let bytes = self.slices.binary(row)?;
            if conversion.is_json() {
                let mut text = Vec::with_capacity(bytes.len() + 3);
                quote::bytes(bytes, &mut text);
                json_text::string(&String::from_utf8_lossy(&text), out);
            } else {
                quote::bytes(bytes, out);
            }
        }
        Ok(())
    }
}
