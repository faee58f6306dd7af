//! Checks of imported arrays before they are used.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait};
use arrow_schema::{DataType, Field};

use super::host::is_row_numbers;
use crate::error::{Code, Error, Result};
use crate::python_text::{TextColumn, lead_inside};

/// Check a column whose values are read one by one. Columns that came in by Arrow's C interface haven't been checked
/// before.
///
/// # Errors
///
/// `RenderError` for invalid UTF-8 or offsets, and for a type whose values only Python can read.
pub fn readable(field: &Field, array: &ArrayRef) -> Result<()> {
    let fault = |message: String| Error::render(Code::WrongColumnType, message).in_column(field.name());
    if is_row_numbers(field) {
        return Err(fault(
            "values of this type can't be read as labels or messages, only as text; cast the column first".into(),
        ));
    }
    sound(array).map_err(|e| e.in_column(field.name()))
}

/// Check the lists of a column that came in by Arrow's C interface: each begins and ends among the elements. The reader
/// of a plain list column checks its elements; the elements of another layout, which is copied when it comes in, are
/// checked here.
///
/// # Errors
///
/// `RenderError` with the first row whose list doesn't.
pub fn lists_in_bounds(array: &dyn Array) -> Result<()> {
    fn check<O: OffsetSizeTrait>(ends: impl Iterator<Item = (O, O)>, len: usize) -> Result<()> {
        let inside =
            |(start, end): (O, O)| start >= O::zero() && start <= end && end.to_usize().is_some_and(|end| end <= len);
        match ends.into_iter().position(|ends| !inside(ends)) {
            None => Ok(()),
            Some(row) => {
                let message = "the list's offsets lead outside its items: the Arrow array is malformed";
                Err(Error::render(Code::MalformedArray, message).at_row(row))
            }
        }
    }
    fn offsets<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Result<()> {
        if lead_inside(list.value_offsets(), list.values().len()) {
            return Ok(());
        }
        check(list.value_offsets().windows(2).map(|ends| (ends[0], ends[1])), list.values().len())
    }
    match array.data_type() {
        DataType::List(_) => offsets(array.as_list::<i32>()),
        DataType::LargeList(_) => offsets(array.as_list::<i64>()),
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let (rows, size) = (list.len() as i64, i64::from(*size));
            check((0..rows).map(|row| (row * size, (row + 1) * size)), list.values().len())
        }
        _ => sound(array),
    }
}

/// Check a whole array, down to each value, before Arrow's kernels copy it, because they don't check the array's
/// metadata.
///
/// # Errors
///
/// `RenderError` for an array with an error.
pub fn sound(array: &dyn Array) -> Result<()> {
    // Arrow reads the texts of the whole column for a slice. So copying five rows of a train split would check all rows
    // five times.
    if matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8) && array.null_count() == 0 {
        match TextColumn::new(array) {
            Err(error) if error.code() != Code::InvalidUtf8 => {}
            result => return result.map(|_| ()),
        }
    }
    array.to_data().validate_full().map_err(|e| {
        if !holds_bad_text(array) {
            return Error::render(Code::MalformedArray, format!("the Arrow array is malformed: {e}"));
        }
        let is_text = matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        match TextColumn::new(array) {
            Err(error) if is_text => error,
            // The error doesn't name the item, because its number depends on the split of samples into batches.
            _ => Error::render(Code::InvalidUtf8, "a text isn't UTF-8"),
        }
    })
}

/// Return true if some text at any depth isn't UTF-8.
fn holds_bad_text(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            TextColumn::new(array).is_err_and(|e| e.code() == Code::InvalidUtf8)
        }
        DataType::List(_) => holds_bad_text(array.as_list::<i32>().values()),
        DataType::LargeList(_) => holds_bad_text(array.as_list::<i64>().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().any(|column| holds_bad_text(column)),
        _ => false,
    }
}
