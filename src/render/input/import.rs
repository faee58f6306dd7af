//! Arrays made of data that came in by Arrow's C interface.
//!
//! A slice of a struct, of a list of a fixed size or of a sparse union has whole children, and its offset selects their
//! values. arrow-rs applies such an offset twice to a struct within another of these types (apache/arrow-rs#7595). Here
//! each array gets the children that it shows and no offset before it is built, so that no reader of arrays has to
//! handle offsets of this kind.
//!
//! This is one of the crate's few places with unsafe code. Building the data with checks reads all values, also those
//! under nulls, which may be anything.

use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, UnionMode};

use crate::error::{Code, Error, Result};

/// Make an array of imported data. No value is copied.
///
/// # Errors
///
/// `RenderError` if an array has a child with fewer values than it shows.
pub fn array_of(data: ArrayData) -> Result<ArrayRef> {
    let rows = data.len();
    Ok(make_array(rows_of(data, 0, rows)?))
}

/// Return `rows` rows of `data` from `start` on, with the children that belong to them.
fn rows_of(data: ArrayData, start: usize, rows: usize) -> Result<ArrayData> {
    if start.checked_add(rows).is_none_or(|end| end > data.len()) {
        let message = format!("the array shows {rows} values of a child that has fewer: the Arrow array is malformed");
        return Err(Error::render(Code::MalformedArray, message));
    }
    if data.child_data().is_empty() {
        return Ok(data.slice(start, rows));
    }
    let (data_type, _, nulls, offset, mut buffers, children) = data.into_parts();
    let first = offset + start;
    let values_per_row = match data_type {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => Some(1),
        DataType::FixedSizeList(_, size) => Some(usize::try_from(size).unwrap_or(0)),
        _ => None,
    };
    let sliced = |child: ArrayData| match values_per_row {
        Some(values) => rows_of(child, first.saturating_mul(values), rows.saturating_mul(values)),
        None => {
            let all = child.len();
            rows_of(child, 0, all)
        }
    };
    let children = children.into_iter().map(sliced).collect::<Result<Vec<_>>>()?;
    if matches!(data_type, DataType::Union(_, UnionMode::Sparse)) {
        // The types of the rows take a byte each.
        buffers = buffers.into_iter().map(|types| types.slice_with_length(first, rows)).collect();
    }
    let builder = ArrayData::builder(data_type)
        .len(rows)
        .offset(if values_per_row.is_some() { 0 } else { first })
        .nulls(nulls.map(|nulls| nulls.slice(start, rows)))
        .buffers(buffers)
        .child_data(children);
    // SAFETY: The types, buffers and children are those of `data`, whose producer vouches for them as before. What was
    // changed is which rows are shown, and these lie within `data`, and within each child, as was checked above.
    Ok(unsafe { builder.build_unchecked() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Array, Int32Array, StructArray};
    use arrow_schema::Field;

    use super::*;

    /// Make data as a C producer exports it: a slice has an offset, and its children are whole.
    fn slice(data_type: DataType, offset: usize, len: usize, children: Vec<ArrayData>) -> ArrayData {
        let builder = ArrayData::builder(data_type).offset(offset).len(len).child_data(children);
        // SAFETY: The callers give children that are long enough.
        unsafe { builder.build_unchecked() }
    }

    fn numbers() -> ArrayData {
        Int32Array::from_iter_values(0..20).into_data()
    }

    fn struct_type(of: &DataType) -> DataType {
        DataType::Struct(vec![Field::new("a", of.clone(), true)].into())
    }

    fn within(array: &dyn Array) -> &StructArray {
        array.as_struct().column(0).as_struct()
    }

    #[test]
    fn each_struct_within_a_slice_begins_with_its_first_row() {
        let inner = struct_type(&DataType::Int32);
        let middle = slice(inner.clone(), 2, 12, vec![numbers()]);
        let outer = slice(struct_type(&inner), 3, 5, vec![middle]);
        let array = array_of(outer).unwrap();
        assert_eq!(within(&array).column(0).as_primitive::<Int32Type>().values(), &[5, 6, 7, 8, 9]);
        assert_eq!(array_of(array.to_data()).unwrap().to_data(), array.to_data());
    }

    #[test]
    fn lists_of_a_fixed_size_of_structs_begin_with_their_first_item() {
        let inner = struct_type(&DataType::Int32);
        let items = slice(inner.clone(), 1, 18, vec![numbers()]);
        let lists = DataType::FixedSizeList(Arc::new(Field::new_list_field(inner, true)), 3);
        let array = array_of(slice(lists.clone(), 2, 2, vec![items])).unwrap();
        let items = array.as_fixed_size_list().values().as_struct().column(0);
        assert_eq!(items.as_primitive::<Int32Type>().values(), &[7, 8, 9, 10, 11, 12]);
        let short = slice(struct_type(&DataType::Int32), 0, 4, vec![numbers()]);
        let error = array_of(slice(lists, 0, 2, vec![short])).unwrap_err();
        assert_eq!(error.code(), Code::MalformedArray);
    }
}
