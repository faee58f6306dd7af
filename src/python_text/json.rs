//! The values of a column as JSON.

use arrow_array::{Array, LargeStringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::Field;

use super::conversion::Conversion;
use super::printer::{Printer, printer, printer_of};
use crate::error::{Code, Error, Result};

/// A column whose values are written as JSON, as `json.dumps(value, ensure_ascii=False, default=str)` writes the values
/// of pyarrow's `to_pylist()`. A number that JSON doesn't have is null.
pub struct JsonColumn<'a>(Box<dyn Printer + 'a>);

impl<'a> JsonColumn<'a> {
    /// Open the column of `array`.
    ///
    /// # Errors
    ///
    /// An error if the type isn't [`is_native`](super::is_native), or if the array contradicts its type.
    pub fn new(array: &'a dyn Array) -> Result<Self> {
        printer(array).map(Self)
    }

    /// Open the column of `array`, whose texts are JSON if its field says so.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::new`].
    pub fn of_field(field: &Field, array: &'a dyn Array) -> Result<Self> {
        printer_of(field, array).map(Self)
    }

    /// Return true if row `row` is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.0.is_null(row)
    }

    /// Append the value of row `row`.
    ///
    /// # Errors
    ///
    /// An error that explains why Python has no such value. The bytes that were appended are undefined then.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Json, out)
    }

    /// Do the same as [`Self::write`], with dicts that lack the keys whose values are null.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::write`].
    pub fn write_without_nulls(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::JsonWithoutNulls, out)
    }

    /// Append the value's `str`.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::write`].
    pub fn write_text(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Str, out)
    }

    /// Append the value's `repr`.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::write`].
    pub fn write_repr(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Repr, out)
    }
}

/// Return the text of each row of a column whose field says which of its texts are JSON, `None` for a null; or each
/// row as JSON on one line.
///
/// # Errors
///
/// An error at the first row, from 0, whose value has no text.
pub fn field_texts(field: &Field, array: &dyn Array, as_json: bool) -> Result<LargeStringArray> {
    let (printer, conversion) = (printer_of(field, array)?, if as_json { Conversion::Json } else { Conversion::Str });
    let (mut texts, mut ends) = (Vec::new(), Vec::with_capacity(array.len() + 1));
    ends.push(0);
    for row in 0..array.len() {
        printer.print(row, conversion, &mut texts).map_err(|error| error.at_row(row))?;
        ends.push(texts.len() as i64);
    }
    LargeStringArray::try_new(OffsetBuffer::new(ends.into()), Buffer::from_vec(texts), None)
        .map_err(|error| Error::render(Code::InternalError, error.to_string()))
}
