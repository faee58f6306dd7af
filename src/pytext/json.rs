//! The values of a column as JSON.

use arrow_array::Array;

use super::conversion::Conversion;
use super::printer::{Printer, printer};
use crate::error::Result;

/// A column whose values are written as JSON, as `json.dumps(value, ensure_ascii=False, default=str)` writes what
/// pyarrow's `to_pylist()` gives. What JSON has no number for is null.
///
/// ```
/// # use arrow_array::Float64Array;
/// let array = Float64Array::from(vec![0.5, f64::NAN]);
/// let (column, mut out) = (promptpress::pytext::JsonColumn::new(&array).unwrap(), Vec::new());
/// column.write(0, &mut out).unwrap();
/// column.write(1, &mut out).unwrap();
/// assert_eq!(out, b"0.5null");
/// ```
pub struct JsonColumn<'a>(Box<dyn Printer + 'a>);

impl<'a> JsonColumn<'a> {
    /// The column of `array`.
    ///
    /// # Errors
    ///
    /// If the type isn't [`is_native`](super::is_native), or the array contradicts its type.
    pub fn new(array: &'a dyn Array) -> Result<Self> {
        printer(array).map(Self)
    }

    /// Whether row `row` is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.0.is_null(row)
    }

    /// Appends the value of row `row`.
    ///
    /// # Errors
    ///
    /// Why Python has no such value. What was appended until then is undefined.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Json, out)
    }

    /// [`Self::write`], where dicts lack the keys whose values are null.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn write_without_nulls(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::JsonWithoutNulls, out)
    }

    /// Appends the value's `str`.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn write_text(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Str, out)
    }

    /// Appends the value's `repr`.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn write_repr(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.print(row, Conversion::Repr, out)
    }
}
