//! Writes requests as JSON, with the values of Python's `promptpress.to_pylist`.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::python_text::JsonColumn;
use crate::template::keys;

/// A column of requests.
pub enum Requests<'a> {
    /// Texts, or other values that aren't lists of messages. For lists, keys that are null are left out.
    Values {
        /// The values.
        column: JsonColumn<'a>,
        /// True if they are lists.
        lists: bool,
    },
    /// Lists of messages.
    Messages(Messages<'a>),
}

/// Lists of structs.
pub struct Messages<'a> {
    offsets: Offsets<'a>,
    nulls: Option<&'a NullBuffer>,
    len: usize,
    message: JsonColumn<'a>,
    /// The field of a bare string among messages, and the other fields, which are null then.
    bare: Option<(JsonColumn<'a>, Vec<JsonColumn<'a>>)>,
}

enum Offsets<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_string(values),
        _ => false,
    }
}

impl<'a> Requests<'a> {
    /// Take the requests of `array`, whose texts are JSON if its field says so.
    ///
    /// # Errors
    ///
    /// The same as those of [`JsonColumn::new`].
    pub fn new(field: &Field, array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::List(item) => {
                let lists = array.as_list::<i32>();
                let offsets = Offsets::Narrow(lists.value_offsets());
                Self::Messages(Messages::new(offsets, lists.nulls(), item, lists.values())?)
            }
            DataType::LargeList(item) => {
                let lists = array.as_list::<i64>();
                let offsets = Offsets::Wide(lists.value_offsets());
                Self::Messages(Messages::new(offsets, lists.nulls(), item, lists.values())?)
            }
            other => {
                let lists = other.is_nested() && !matches!(other, DataType::Struct(_));
                Self::Values { column: JsonColumn::of_field(field, array)?, lists }
            }
        })
    }

    /// Append a request.
    ///
    /// # Errors
    ///
    /// The same as those of [`JsonColumn::write`].
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Values { column, lists: true } => column.write_without_nulls(row, out),
            Self::Values { column, lists: false } => column.write(row, out),
            Self::Messages(messages) if messages.is_null(row) => {
                out.extend_from_slice(b"null");
                Ok(())
            }
            Self::Messages(messages) => {
                out.push(b'[');
                messages.write_items(row, out, false)?;
                out.push(b']');
                Ok(())
            }
        }
    }

    /// Append the items of a request that is a list, with a comma after each; a null has none.
    ///
    /// # Errors
    ///
    /// The same as those of [`JsonColumn::write`], and one for requests that aren't lists.
    pub fn write_items(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Messages(messages) if messages.is_null(row) => Ok(()),
            Self::Messages(messages) => messages.write_items(row, out, true),
            Self::Values { column, .. } if column.is_null(row) => Ok(()),
            Self::Values { column, .. } => {
                // A list in a JSON text: its bracket is left out at both ends.
                let start = out.len();
                column.write(row, out)?;
                if out[start..].first() != Some(&b'[') {
                    return Err(Error::render(Code::WrongColumnType, "its values are no lists of messages"));
                }
                out.remove(start);
                out.pop();
                if out.len() > start {
                    out.extend_from_slice(b", ");
                }
                Ok(())
            }
        }
    }
}

impl<'a> Messages<'a> {
    fn new(offsets: Offsets<'a>, nulls: Option<&'a NullBuffer>, item: &Field, items: &'a dyn Array) -> Result<Self> {
        let mut bare = None;
        if let DataType::Struct(fields) = items.data_type()
            && let Some((index, field)) = fields.find(keys::PROMPT)
            && is_string(field.data_type())
        {
            let columns = items.as_struct().columns();
            let mut others = Vec::with_capacity(columns.len());
            for (n, column) in columns.iter().enumerate() {
                if n != index {
                    others.push(JsonColumn::of_field(&fields[n], column)?);
                }
            }
            bare = Some((JsonColumn::of_field(field, &columns[index])?, others));
        }
        Ok(Self { offsets, nulls, len: items.len(), message: JsonColumn::of_field(item, items)?, bare })
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn items(&self, row: usize) -> Result<Range<usize>> {
        fn index<O: OffsetSizeTrait>(offset: O) -> usize {
            offset.to_usize().unwrap_or(usize::MAX)
        }
        let (start, end) = match self.offsets {
            Offsets::Narrow(offsets) => (index(offsets[row]), index(offsets[row + 1])),
            Offsets::Wide(offsets) => (index(offsets[row]), index(offsets[row + 1])),
        };
        if start > end || end > self.len {
            let message = "the list's offsets lead outside its items: the Arrow array is malformed";
            return Err(Error::render(Code::MalformedArray, message));
        }
        Ok(start..end)
    }

    fn write_items(&self, row: usize, out: &mut Vec<u8>, trailing_comma: bool) -> Result<()> {
        let items = self.items(row)?;
        let last = items.end;
        for item in items {
            match &self.bare {
                Some((text, others))
                    if !self.message.is_null(item)
                        && !text.is_null(item)
                        && others.iter().all(|other| other.is_null(item)) =>
                {
                    text.write(item, out)?;
                }
                _ => self.message.write_without_nulls(item, out)?,
            }
            if trailing_comma || item + 1 < last {
                out.extend_from_slice(b", ");
            }
        }
        Ok(())
    }
}
