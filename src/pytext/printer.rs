//! Which printer an Arrow type takes.

use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, IntervalMonthDayNano, NullBuffer};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::conversion::Conversion;
use super::native::is_native;
use super::none::{is_none, none};
use super::slices::Slices;
use super::{decimal, nested, number, quote, time};
use crate::error::{Code, Error, Result};
use crate::json_text;

/// Prints the values of one array.
///
/// It may be asked from several threads.
pub(super) trait Printer: Send + Sync {
    /// Whether row `row` is null.
    fn is_null(&self, row: usize) -> bool;

    /// Appends the value of row `row`, `None` or `null` for a null.
    ///
    /// # Errors
    ///
    /// Why Python has no such value. What was appended until then is undefined.
    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()>;

    /// Appends the `str` of the rows from 0 to `rows`, and to `offsets` the end of each; rows not in `live` are empty.
    ///
    /// A method of the trait, so that the loop is compiled for each printer and the call within it is direct.
    ///
    /// # Errors
    ///
    /// The first row that fails.
    fn print_all(
        &self,
        rows: usize,
        live: Option<&NullBuffer>,
        data: &mut Vec<u8>,
        offsets: &mut Vec<i64>,
    ) -> Result<()> {
        for row in 0..rows {
            if live.is_none_or(|live| live.is_valid(row)) {
                self.print(row, Conversion::Str, data).map_err(|error| error.at_row(row))?;
            }
            offsets.push(data.len() as i64);
        }
        Ok(())
    }
}

/// The printer of `array`.
///
/// # Errors
///
/// If the type isn't native, or the array contradicts its type.
pub(super) fn printer(array: &dyn Array) -> Result<Box<dyn Printer + '_>> {
    use DataType as T;
    /// The printer of a type with four units: the array type of each unit, and what prints a value.
    macro_rules! by_unit {
        ($unit:expr, [$s:ty, $ms:ty, $us:ty, $ns:ty], $write:path) => {{
            let unit = *$unit;
            match unit {
                TimeUnit::Second => {
                    values::<$s, _>(array, move |v, conversion, out| $write(v.into(), unit, conversion, out))
                }
                TimeUnit::Millisecond => {
                    values::<$ms, _>(array, move |v, conversion, out| $write(v.into(), unit, conversion, out))
                }
                TimeUnit::Microsecond => {
                    values::<$us, _>(array, move |v, conversion, out| $write(v.into(), unit, conversion, out))
                }
                TimeUnit::Nanosecond => {
                    values::<$ns, _>(array, move |v, conversion, out| $write(v.into(), unit, conversion, out))
                }
            }
        }};
    }
    if !is_native(array.data_type()) {
        return Err(unprintable(array.data_type()));
    }
    Ok(match array.data_type() {
        T::Null => Box::new(Nothing),
        T::Boolean => Box::new(Truth(array.as_boolean())),
        T::Int8 => values::<t::Int8Type, _>(array, |v, _, out| number::integer(v, out)),
        T::Int16 => values::<t::Int16Type, _>(array, |v, _, out| number::integer(v, out)),
        T::Int32 => values::<t::Int32Type, _>(array, |v, _, out| number::integer(v, out)),
        T::Int64 => values::<t::Int64Type, _>(array, |v, _, out| number::integer(v, out)),
        T::UInt8 => values::<t::UInt8Type, _>(array, |v, _, out| number::integer(v, out)),
        T::UInt16 => values::<t::UInt16Type, _>(array, |v, _, out| number::integer(v, out)),
        T::UInt32 => values::<t::UInt32Type, _>(array, |v, _, out| number::integer(v, out)),
        T::UInt64 => values::<t::UInt64Type, _>(array, |v, _, out| number::integer(v, out)),
        T::Float16 => {
            values::<t::Float16Type, _>(array, |v, conversion, out| number::float(v.to_f64(), conversion, out))
        }
        T::Float32 => values::<t::Float32Type, _>(array, |v, conversion, out| number::float(v.into(), conversion, out)),
        T::Float64 => values::<t::Float64Type, _>(array, number::float),
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
        T::Date32 => values::<t::Date32Type, _>(array, |v, conversion, out| time::date(v.into(), conversion, out)),
        T::Date64 => values::<t::Date64Type, _>(array, |v, conversion, out| {
            time::date(v.div_euclid(time::DAY_MILLISECONDS), conversion, out)
        }),
        T::Time32(unit) => match unit {
            TimeUnit::Second => values::<t::Time32SecondType, _>(array, |v, conversion, out| {
                time::time(v.into(), TimeUnit::Second, conversion, out)
            }),
            TimeUnit::Millisecond => values::<t::Time32MillisecondType, _>(array, |v, conversion, out| {
                time::time(v.into(), TimeUnit::Millisecond, conversion, out)
            }),
            _ => return Err(unprintable(array.data_type())),
        },
        T::Time64(unit) => match unit {
            TimeUnit::Microsecond => values::<t::Time64MicrosecondType, _>(array, |v, conversion, out| {
                time::time(v, TimeUnit::Microsecond, conversion, out)
            }),
            TimeUnit::Nanosecond => values::<t::Time64NanosecondType, _>(array, |v, conversion, out| {
                time::time(v, TimeUnit::Nanosecond, conversion, out)
            }),
            _ => return Err(unprintable(array.data_type())),
        },
        T::Timestamp(unit, _) => by_unit!(
            unit,
            [
                t::TimestampSecondType,
                t::TimestampMillisecondType,
                t::TimestampMicrosecondType,
                t::TimestampNanosecondType
            ],
            time::timestamp
        ),
        T::Duration(unit) => by_unit!(
            unit,
            [t::DurationSecondType, t::DurationMillisecondType, t::DurationMicrosecondType, t::DurationNanosecondType],
            time::duration
        ),
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

fn unprintable(data_type: &DataType) -> Error {
    Error::render(Code::UnsupportedColumnType, format!("values of the Arrow type {data_type} have no text"))
}

fn slices(array: &dyn Array) -> Result<Slices> {
    Slices::of(array).ok_or_else(|| unprintable(array.data_type()))
}

/// The printer of an array of plain values, each of which `write` prints.
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
            let text = self.slices.text(row)?;
            match conversion {
                Conversion::Str => out.extend_from_slice(text.as_bytes()),
                Conversion::Repr => quote::string(text, out),
                Conversion::Json | Conversion::JsonWithoutNulls => json_text::string(text, out),
            }
        }
        Ok(())
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
