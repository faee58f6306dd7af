//! List columns of any layout.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, LargeListArray, OffsetSizeTrait, RecordBatch, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::arrays::lists_in_bounds;
use super::cast::cast;
use crate::error::Result;
use crate::python_text::lead_inside;

/// Return true if Python sees a list in the cells of such a column.
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

/// Return the type of a list's elements.
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

/// Convert a list column of any layout to one of 64-bit offsets.
///
/// # Errors
///
/// `RenderError` if the column can't be cast, or if a list leads outside its elements.
pub fn large_lists(column: &ArrayRef) -> Result<LargeListArray> {
    lists_in_bounds(column)?;
    let element = element_type(column.data_type()).unwrap_or(DataType::Null);
    let target = DataType::LargeList(Arc::new(Field::new_list_field(element, true)));
    Ok(cast(column, &target)?.as_list::<i64>().clone())
}

/// Return true if the cells of such a column are strings in Python, or nothing.
pub fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::RunEndEncoded(_, values) => is_text(values.data_type()),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null),
    }
}

/// Remove the list items of other rows, which a slice of a list column still has around those of its rows. Errors in
/// those items don't concern these rows.
pub fn without_other_items(batch: &RecordBatch) -> RecordBatch {
    if !batch.columns().iter().any(|column| holds_lists(column.data_type())) {
        return batch.clone();
    }
    let columns = batch.columns().iter().map(cut_items).collect();
    RecordBatch::try_new(batch.schema(), columns).unwrap_or_else(|_| batch.clone())
}

fn holds_lists(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(_) | DataType::LargeList(_) => true,
        DataType::Struct(fields) => fields.iter().any(|field| holds_lists(field.data_type())),
        _ => false,
    }
}

fn cut_items(array: &ArrayRef) -> ArrayRef {
    let cut: Option<ArrayRef> = match array.data_type() {
        DataType::List(field) => cut_list(array.as_list::<i32>(), field),
        DataType::LargeList(field) => cut_list(array.as_list::<i64>(), field),
        DataType::Struct(fields) if holds_lists(array.data_type()) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(cut_items).collect();
            let rebuilt = StructArray::try_new(fields.clone(), columns, rows.nulls().cloned());
            rebuilt.ok().map(|rebuilt| Arc::new(rebuilt) as ArrayRef)
        }
        _ => None,
    };
    cut.unwrap_or_else(|| array.clone())
}

/// Cut the items of lists to those that the lists hold; None if nothing changes, and for lists that lead outside their
/// items.
fn cut_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, field: &Arc<Field>) -> Option<ArrayRef> {
    let (offsets, items) = (list.value_offsets(), list.values());
    let (start, end) = (*offsets.first()?, *offsets.last()?);
    if !lead_inside(offsets, items.len()) {
        return None;
    }
    let (start_item, count) = (start.as_usize(), (end - start).as_usize());
    if count == items.len() && !holds_lists(items.data_type()) {
        return None;
    }
    let offsets = OffsetBuffer::new(offsets.iter().map(|offset| *offset - start).collect());
    let items = cut_items(&items.slice(start_item, count));
    let cut = GenericListArray::try_new(field.clone(), offsets, items, list.nulls().cloned());
    cut.ok().map(|cut| Arc::new(cut) as ArrayRef)
}
