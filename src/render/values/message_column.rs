//! A column of messages, of parts or of texts, opened as far as the lengths of its texts need it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use super::cells::value_at;
use super::message_text::{TextLocation, text_length, text_location};
use crate::error::Result;
use crate::python_text::TextColumn;
use crate::render::input::{is_text, readable};
use crate::value::Value;

/// An array of texts, or of values that hold texts.
pub enum MessageColumn {
    /// Strings of any layout.
    Text(TextColumn, Option<NullBuffer>),
    /// Lists, with the start and end of each among the items.
    List(Vec<usize>, Box<MessageColumn>, Option<NullBuffer>),
    /// Structs: the fields by name, in the order of names.
    Struct(Vec<(String, MessageColumn)>, Option<NullBuffer>),
    /// Any other array.
    Other(ArrayRef),
}

impl MessageColumn {
    /// Open an array.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef) -> Result<Self> {
        // Texts are checked as they are opened, which takes a tenth of the time.
        if !matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            readable(&Field::new("", array.data_type().clone(), true), array)?;
        }
        Self::open(array)
    }

    fn open(array: &ArrayRef) -> Result<Self> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(match array.data_type() {
            data_type if is_text(data_type) => Self::Text(TextColumn::new(array)?, nulls),
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize).collect();
                Self::List(ends, Box::new(Self::open(lists.values())?), nulls)
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize).collect();
                Self::List(ends, Box::new(Self::open(lists.values())?), nulls)
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let field = |(field, column): (&Arc<Field>, &ArrayRef)| Ok((field.name().clone(), Self::open(column)?));
                let mut all = columns.map(field).collect::<Result<Vec<_>>>()?;
                all.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Struct(all, nulls)
            }
            _ => Self::Other(array.clone()),
        })
    }

    /// Return true if a row holds nothing.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(_, nulls) | Self::List(_, _, nulls) | Self::Struct(_, nulls) => {
                nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            }
            Self::Other(array) => value_at(array, row) == Value::None,
        }
    }

    /// Return the number of bytes and characters of a value's texts: [`text_length`] of the value.
    pub fn length(&self, row: usize) -> (usize, usize) {
        if self.is_null(row) {
            return (0, 0);
        }
        let add = |all: (usize, usize), more: (usize, usize)| (all.0 + more.0, all.1 + more.1);
        match self {
            Self::Text(texts, _) => {
                let text = texts.bytes(row);
                // A continuation byte of a character begins with the bits 10.
                (text.len(), text.iter().filter(|byte| **byte & 0xc0 != 0x80).count())
            }
            Self::List(ends, items, _) => (ends[row]..ends[row + 1]).map(|item| items.length(item)).fold((0, 0), add),
            Self::Struct(fields, _) => {
                let field_length = |(name, field): &(String, Self)| match (text_location(name)?, field) {
                    (TextLocation::Within(inner), Self::Struct(inner_fields, _)) if !field.is_null(row) => {
                        inner_fields.iter().find(|(name, _)| name == inner).map(|(_, text)| text.length(row))
                    }
                    _ => Some(field.length(row)),
                };
                fields.iter().filter_map(field_length).fold((0, 0), add)
            }
            Self::Other(array) => text_length(&value_at(array, row)),
        }
    }

    /// Return the number of bytes and characters of the texts of a cell of messages: of all its messages, or only of
    /// the message with a number. A message is a struct in a list; any other value of a cell becomes no message and has
    /// no texts.
    pub fn message_length(&self, row: usize, number: Option<u32>) -> (usize, usize) {
        let add = |all: (usize, usize), more: (usize, usize)| (all.0 + more.0, all.1 + more.1);
        let is_asked = |item: &usize| number.is_none_or(|number| *item == number as usize);
        match self {
            _ if self.is_null(row) => (0, 0),
            Self::List(ends, items, _) => {
                let chosen = (ends[row]..ends[row + 1]).enumerate().filter(|(number, _)| is_asked(number));
                let lengths = chosen.map(|(_, item)| match &**items {
                    Self::Struct(..) => items.length(item),
                    Self::Other(array) => message_length(&value_at(array, item)),
                    Self::Text(..) | Self::List(..) => (0, 0),
                });
                lengths.fold((0, 0), add)
            }
            Self::Other(array) => {
                let Value::List(items) = value_at(array, row) else { return (0, 0) };
                let chosen = items.iter().enumerate().filter(|(number, _)| is_asked(number));
                chosen.map(|(_, item)| message_length(item)).fold((0, 0), add)
            }
            Self::Text(..) | Self::Struct(..) => (0, 0),
        }
    }
}

/// Return the number of bytes and characters of a message's texts; zero if the value is no message.
fn message_length(value: &Value) -> (usize, usize) {
    if matches!(value, Value::Dict(_)) { text_length(value) } else { (0, 0) }
}
