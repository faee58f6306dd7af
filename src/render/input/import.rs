//! Arrays made of data that came in by Arrow's C interface.
//!
//! A slice of a struct, of a list of a fixed size or of a sparse union has whole children, and its offset selects their
//! values. A child may have fewer values than that, which arrow-rs finds by a panic. So the children's lengths are
//! compared before arrays are made.
//!
//! This is one of the crate's few places with unsafe code. Importing the data with checks reads all values, also those
//! that no row shows and those under nulls, which may be anything.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, UnionMode};

use crate::error::{Code, Error, Result};

/// Return the data that pyarrow has exported, to be given to [`array_of`]. No value is read or copied.
///
/// # Errors
///
/// `ArrowError` if arrow-rs doesn't have the type, or a buffer is missing.
pub fn imported(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> std::result::Result<ArrayData, ArrowError> {
    // SAFETY: pyarrow has filled both, and `promptpress._arrow.validation` has validated what it was given: each buffer
    // is as long as the interface asks for. Whether offsets within an array ascend, and whether texts are UTF-8, isn't
    // known yet. What reads a row takes the slice of bytes between its offsets, which panics outside of them, and no
    // `str` is made of a slice, and no kernel of arrow-rs given an array, before its bytes were found to be UTF-8
    // (`TextColumn`, `super::arrays::sound`).
    unsafe { from_ffi(array, schema) }
}

/// Make an array of imported data. No value is copied.
///
/// # Errors
///
/// `RenderError` if an array has a child with fewer values than it shows.
pub fn array_of(data: ArrayData) -> Result<ArrayRef> {
    check_children(&data, 0, data.len())?;
    Ok(make_array(data))
}

/// Check that `data`, and each of its children, has as many rows as are shown: `rows` of `data`, from `start` on.
fn check_children(data: &ArrayData, start: usize, rows: usize) -> Result<()> {
    if start.checked_add(rows).is_none_or(|end| end > data.len()) {
        let message = format!("the array shows {rows} values of a child that has fewer: the Arrow array is malformed");
        return Err(Error::render(Code::MalformedArray, message));
    }
    let values_per_row = match data.data_type() {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => Some(1),
        DataType::FixedSizeList(_, size) => Some(usize::try_from(*size).unwrap_or(0)),
        _ => None,
    };
    let first = data.offset() + start;
    data.child_data().iter().try_for_each(|child| match values_per_row {
        Some(values) => check_children(child, first.saturating_mul(values), rows.saturating_mul(values)),
        None => check_children(child, 0, child.len()),
    })
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
