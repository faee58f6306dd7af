//! List columns of any layout.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeListArray};
use arrow_schema::{DataType, Field};

use super::arrays::lists_in_bounds;
use super::cast::cast;
use crate::error::Result;

/// Whether Python sees a list in the cells of such a column.
pub fn is_list(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
    )
}

/// The type of a list's elements.
pub fn element_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Dictionary(_, values) => element_type(values),
        DataType::RunEndEncoded(_, values) => element_type(values.data_type()),
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::ListView(f)
        | DataType::LargeListView(f) => Some(f.data_type().clone()),
        _ => None,
    }
}

/// A list column of any layout as one of 64-bit offsets.
///
/// # Errors
///
/// `RenderError` if it can't be cast, or a list leads outside its elements.
pub fn large_lists(column: &ArrayRef) -> Result<LargeListArray> {
    lists_in_bounds(column)?;
    let element = element_type(column.data_type()).unwrap_or(DataType::Null);
    let target = DataType::LargeList(Arc::new(Field::new_list_field(element, true)));
    Ok(cast(column, &target)?.as_list::<i64>().clone())
}

/// Whether the cells of such a column are strings in Python, or nothing.
pub fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::RunEndEncoded(_, values) => is_text(values.data_type()),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null),
    }
}
