//! Lists of structs of any kind: what Python's `to_pylist` makes of them, as skeletons and holes.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::places::Place;
use super::reading::Reading;
use crate::error::Result;
use crate::pytext::{TextColumn, float_text};
use crate::render::{cast, is_list, is_text, large_lists, lists_in_bounds, sound};

/// Values of one type, opened to be read one by one.
pub enum Values {
    Null,
    Text(TextColumn),
    Bool(BooleanArray),
    Int(Int64Array),
    Unsigned(UInt64Array),
    Float(Float64Array),
    List(Lists),
    Struct(Vec<(String, Values)>, Option<NullBuffer>),
    /// What has no form here, but for its nulls.
    Other(Option<NullBuffer>),
}

/// Lists over values that begin with the first one's.
pub struct Lists {
    ends: Vec<usize>,
    nulls: Option<NullBuffer>,
    /// The items of all lists, and nothing before or behind them.
    pub items: ArrayRef,
    opened: Option<Box<Values>>,
}

impl Lists {
    /// The lists of an array of any layout; their items aren't opened yet.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of a list that leads outside its items.
    pub fn new(array: &ArrayRef) -> Result<Self> {
        let of = |ends: Vec<usize>, values: &ArrayRef, nulls: Option<&NullBuffer>| {
            let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
            Self {
                ends: ends.into_iter().map(|end| end - first).collect(),
                nulls: nulls.filter(|nulls| nulls.null_count() > 0).cloned(),
                items: values.slice(first, last - first),
                opened: None,
            }
        };
        Ok(match array.data_type() {
            DataType::List(_) => {
                lists_in_bounds(array)?;
                let lists = array.as_list::<i32>();
                of(lists.value_offsets().iter().map(|end| *end as usize).collect(), lists.values(), lists.nulls())
            }
            DataType::LargeList(_) => {
                lists_in_bounds(array)?;
                let lists = array.as_list::<i64>();
                of(lists.value_offsets().iter().map(|end| *end as usize).collect(), lists.values(), lists.nulls())
            }
            _ => {
                let lists = large_lists(array)?;
                of(lists.value_offsets().iter().map(|end| *end as usize).collect(), lists.values(), lists.nulls())
            }
        })
    }

    /// Open the items too.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of a list of which an item isn't sound.
    pub fn opened(mut self) -> Result<Self> {
        self.opened = match Values::new(&self.items) {
            Ok(values) => Some(Box::new(values)),
            Err(error) => return Err(self.located(error)),
        };
        Ok(self)
    }

    /// The error for an item as one for its list.
    pub fn located(&self, error: crate::error::Error) -> crate::error::Error {
        match error.place().row {
            Some(item) => error.at_row(self.ends.partition_point(|end| *end <= item).saturating_sub(1)),
            None => error,
        }
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }

    /// Where each list ends; one more than there are lists, the first of them 0.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Which items a list has; None where it is null.
    pub fn row(&self, row: usize) -> Option<Range<usize>> {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (!is_null).then(|| self.ends[row]..self.ends[row + 1])
    }

    /// Write a list whose items have been opened; None if one has no form here.
    pub fn write(&self, row: usize, place: Place, reading: &mut Reading) -> Option<()> {
        let Some(items) = self.row(row) else {
            reading.json("null");
            return Some(());
        };
        let opened = self.opened.as_deref()?;
        reading.json("[");
        for (n, item) in items.enumerate() {
            reading.json(if n > 0 { "," } else { "" });
            opened.write(item, place, reading)?;
        }
        reading.json("]");
        Some(())
    }
}

impl Values {
    fn new(array: &ArrayRef) -> Result<Self> {
        use DataType as T;
        let nulls = || array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(match array.data_type() {
            T::Null => Self::Null,
            own if is_text(own) => Self::Text(TextColumn::new(array)?),
            T::Boolean => Self::Bool(array.as_boolean().clone()),
            T::UInt64 => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            own if own.is_integer() => Self::Int(cast(array, &T::Int64)?.as_primitive::<Int64Type>().clone()),
            own if own.is_floating() => Self::Float(cast(array, &T::Float64)?.as_primitive::<Float64Type>().clone()),
            own if is_list(own) => Self::List(Lists::new(array)?.opened()?),
            T::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let open = |(field, column): (_, &ArrayRef)| {
                    let field: &std::sync::Arc<arrow_schema::Field> = field;
                    Ok((field.name().clone(), Self::new(column)?))
                };
                Self::Struct(columns.map(open).collect::<Result<_>>()?, nulls())
            }
            T::Dictionary(_, values) => {
                sound(array)?;
                match cast(array, values) {
                    Ok(own) => Self::new(&own)?,
                    Err(_) => Self::Other(nulls()),
                }
            }
            _ => Self::Other(nulls()),
        })
    }

    /// Write a value; None if it has no form here.
    fn write(&self, row: usize, place: Place, reading: &mut Reading) -> Option<()> {
        if self.is_null(row) {
            reading.json("null");
            return Some(());
        }
        match self {
            Self::Null => {}
            Self::Text(texts) if place.is_hole() => reading.hole(texts.bytes(row)),
            Self::Text(texts) => reading.string(str::from_utf8(texts.bytes(row)).ok()?),
            Self::Bool(values) => reading.json(if values.value(row) { "true" } else { "false" }),
            Self::Int(values) => reading.json(itoa::Buffer::new().format(values.value(row))),
            Self::Unsigned(values) => reading.json(itoa::Buffer::new().format(values.value(row))),
            Self::Float(values) => match values.value(row) {
                value if value.is_nan() => reading.json("NaN"),
                value if value.is_infinite() => reading.json(if value > 0.0 { "Infinity" } else { "-Infinity" }),
                value => reading.json(&float_text(value)),
            },
            Self::List(lists) => lists.write(row, place.item(), reading)?,
            Self::Struct(fields, _) => {
                reading.json("{");
                for (n, (name, values)) in fields.iter().enumerate() {
                    reading.key(name, n == 0);
                    values.write(row, place.under(name.as_bytes()), reading)?;
                }
                reading.json("}");
            }
            Self::Other(_) => return None,
        }
        Some(())
    }

    fn is_null(&self, row: usize) -> bool {
        let of = |nulls: Option<&NullBuffer>| nulls.is_some_and(|nulls| nulls.is_null(row));
        match self {
            Self::Null => true,
            Self::Text(texts) => texts.is_null(row),
            Self::Bool(values) => values.is_null(row),
            Self::Int(values) => values.is_null(row),
            Self::Unsigned(values) => values.is_null(row),
            Self::Float(values) => values.is_null(row),
            Self::List(lists) => lists.row(row).is_none(),
            Self::Struct(_, nulls) | Self::Other(nulls) => of(nulls.as_ref()),
        }
    }
}
