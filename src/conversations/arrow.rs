//! Lists of structs of any kind, read as skeletons and slots. The values are those of Python's `to_pylist`.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef};

use super::json;
use super::location::Location;
use super::reading::{Reading, Slot, add_float, add_key, add_string};
use crate::error::Result;
use crate::python_text::TextColumn;
use crate::render::{cast, is_list, is_text, large_lists, lists_in_bounds, sound};

/// Values of one type, opened for reading one by one.
pub enum Values {
    Null,
    Text(TextColumn),
    Bool(BooleanArray),
    Int(Int64Array),
    Unsigned(UInt64Array),
    Float(Float64Array),
    List(Lists),
    Struct(Vec<Member>, Option<NullBuffer>),
    /// Values without a form here; their nulls are kept.
    Other(Option<NullBuffer>),
}

/// A field of structs.
pub struct Member {
    pub name: String,
    /// The name as a key in JSON, and the same after a comma.
    keys: [String; 2],
    pub values: Values,
    /// True if a null is no value, but says that the dict has no such key.
    is_optional: bool,
}

impl Member {
    fn is_absent(&self, row: usize) -> bool {
        self.is_optional && self.values.is_null(row)
    }
}

/// Lists whose items begin with those of the first list.
pub struct Lists {
    ends: Vec<usize>,
    nulls: Option<NullBuffer>,
    /// The items of all lists, without any before or after them.
    pub items: ArrayRef,
    opened: Option<Box<Values>>,
}

impl Lists {
    /// Take the lists of an array of any layout; their items aren't opened yet.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of a list whose offsets lead outside its items.
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

    /// Return the items, if they have been opened.
    pub fn items(&self) -> Option<&Values> {
        self.opened.as_deref()
    }

    /// Open the items as well. `has_optional`: a null field of a struct is no key of the dict.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of a list with an unsound item.
    pub fn opened(mut self, has_optional: bool) -> Result<Self> {
        self.opened = match Values::new(&self.items, has_optional) {
            Ok(values) => Some(Box::new(values)),
            Err(error) => return Err(self.located(error)),
        };
        Ok(self)
    }

    /// Turn an item's error into one of its list.
    pub fn located(&self, error: crate::error::Error) -> crate::error::Error {
        match error.location().row {
            Some(item) => error.at_row(self.ends.partition_point(|end| *end <= item).saturating_sub(1)),
            None => error,
        }
    }

    /// Return the number of lists.
    pub fn len(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }

    /// Return the end of each list. There is one more entry than lists; the first one is 0.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Return the range of a list's items; None if the list is null.
    pub fn row(&self, row: usize) -> Option<Range<usize>> {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (!is_null).then(|| self.ends[row]..self.ends[row + 1])
    }

    /// Write a list whose items have been opened. The result is None if one of them has no form here.
    pub fn write(&self, row: usize, location: Location, reading: &mut Reading) -> Option<()> {
        let Some(items) = self.row(row) else {
            reading.json("null");
            return Some(());
        };
        let opened = self.opened.as_deref()?;
        reading.json("[");
        for (n, item) in items.enumerate() {
            reading.json(if n > 0 { "," } else { "" });
            opened.write(item, location, reading)?;
        }
        reading.json("]");
        Some(())
    }
}

/// Return true if the content of a message is a call, by its `role`, or by its `from` if it has no role.
fn calls(message: &[Member], row: usize, reading: &Reading) -> bool {
    let value = |name: &str| message.iter().find(|member| member.name == name && !member.values.is_null(row));
    match value("role").or_else(|| value("from")) {
        Some(Member { values: Values::Text(texts), .. }) => reading.shapes.opened.is_call(texts.bytes(row)),
        _ => false,
    }
}

impl Values {
    /// Open an array. `has_optional`: a null field of a struct is no key of the dict.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of an unsound value.
    pub fn new(array: &ArrayRef, has_optional: bool) -> Result<Self> {
        use DataType as T;
        let nulls = || array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(match array.data_type() {
            T::Null => Self::Null,
            data_type if is_text(data_type) => Self::Text(TextColumn::new(array)?),
            T::Boolean => Self::Bool(array.as_boolean().clone()),
            T::UInt64 => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            data_type if data_type.is_integer() => {
                Self::Int(cast(array, &T::Int64)?.as_primitive::<Int64Type>().clone())
            }
            data_type if data_type.is_floating() => {
                Self::Float(cast(array, &T::Float64)?.as_primitive::<Float64Type>().clone())
            }
            data_type if is_list(data_type) => Self::List(Lists::new(array)?.opened(has_optional)?),
            T::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let open = |(field, column): (&FieldRef, &ArrayRef)| {
                    let (name, mut keys) = (field.name().clone(), [String::new(), String::from(",")]);
                    for key in &mut keys {
                        add_key(&name, key);
                    }
                    Ok(Member { name, keys, values: Self::new(column, has_optional)?, is_optional: has_optional })
                };
                Self::Struct(columns.map(open).collect::<Result<_>>()?, nulls())
            }
            T::Dictionary(_, values) => {
                sound(array)?;
                match cast(array, values) {
                    Ok(decoded) => Self::new(&decoded, has_optional)?,
                    Err(_) => Self::Other(nulls()),
                }
            }
            _ => Self::Other(nulls()),
        })
    }

    /// Write a value. The result is None if it has no form here.
    pub fn write(&self, row: usize, location: Location, reading: &mut Reading) -> Option<()> {
        if self.is_null(row) {
            reading.json("null");
            return Some(());
        }
        match self {
            Self::Null => {}
            Self::Text(texts) if location == Location::Name => reading.string(str::from_utf8(texts.bytes(row)).ok()?),
            Self::Text(texts) => {
                if !json::opened(str::from_utf8(texts.bytes(row)).ok()?, location, reading)? {
                    reading.slot(texts.bytes(row));
                }
            }
            Self::Bool(values) => reading.json(if values.value(row) { "true" } else { "false" }),
            Self::Int(_) | Self::Unsigned(_) => self.write_slot(row, Slot::Int, reading)?,
            Self::Float(_) => self.write_slot(row, Slot::Float, reading)?,
            Self::List(lists) => {
                let is_empty = lists.row(row).is_none_or(|items| items.is_empty());
                if location.is_closed_list(reading.opening) && !is_empty {
                    self.write_slot(row, Slot::List, reading)?;
                } else {
                    lists.write(row, location.item(), reading)?;
                }
            }
            Self::Struct(fields, _)
                if location.is_closed_object(reading.opening) && !fields.iter().all(|field| field.is_absent(row)) =>
            {
                self.write_slot(row, Slot::Object, reading)?;
            }
            Self::Struct(fields, _) => {
                let is_call = location == Location::Message && calls(fields, row, reading);
                let location = if is_call { Location::CallMessage } else { location };
                reading.json("{");
                let mut is_later = false;
                for field in fields.iter().filter(|field| !field.is_absent(row)) {
                    reading.json(&field.keys[usize::from(is_later)]);
                    field.values.write(row, location.under(field.name.as_bytes()), reading)?;
                    is_later = true;
                }
                reading.json("}");
            }
            Self::Other(_) => return None,
        }
        Some(())
    }

    /// Write a slot with the value's JSON.
    fn write_slot(&self, row: usize, slot: Slot, reading: &mut Reading) -> Option<()> {
        self.add_json(row, &mut reading.texts)?;
        reading.end_slot(slot);
        Some(())
    }

    /// Append a value as Python's `json.dumps` writes it. The result is None if it has no form here.
    fn add_json(&self, row: usize, out: &mut Vec<u8>) -> Option<()> {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return Some(());
        }
        match self {
            Self::Null => {}
            Self::Text(texts) => add_string(str::from_utf8(texts.bytes(row)).ok()?, out),
            Self::Bool(values) => out.extend_from_slice(if values.value(row) { b"true" } else { b"false" }),
            Self::Int(values) => out.extend_from_slice(itoa::Buffer::new().format(values.value(row)).as_bytes()),
            Self::Unsigned(values) => out.extend_from_slice(itoa::Buffer::new().format(values.value(row)).as_bytes()),
            Self::Float(values) => add_float(values.value(row), out),
            Self::List(lists) => {
                let (items, opened) = (lists.row(row)?, lists.opened.as_deref()?);
                out.push(b'[');
                for (n, item) in items.enumerate() {
                    out.extend_from_slice(if n > 0 { b", " } else { b"" });
                    opened.add_json(item, out)?;
                }
                out.push(b']');
            }
            Self::Struct(fields, _) => {
                out.push(b'{');
                for (n, Member { name, values, .. }) in fields.iter().filter(|field| !field.is_absent(row)).enumerate()
                {
                    out.extend_from_slice(if n > 0 { b", " } else { b"" });
                    add_string(name, out);
                    out.extend_from_slice(b": ");
                    values.add_json(row, out)?;
                }
                out.push(b'}');
            }
            Self::Other(_) => return None,
        }
        Some(())
    }

    /// Return true if a value is null.
    pub fn is_null(&self, row: usize) -> bool {
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
