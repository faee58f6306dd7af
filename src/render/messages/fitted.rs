//! Arrays made to fit a field of messages: of its type, in the order of the messages.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::error::{Code, Error, Result};
use crate::render::input::interleaved;
use crate::render::values::widened;

/// An array of what messages have under a key, as the messages' type has it.
pub(super) fn typed(name: &str, array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    widened(array, data_type)
        .map_err(|e| Error::render(Code::NoArrowType, format!("{name:?} of a message: {}", e.message())))
}

/// Values of several arrays in this order: array and place; None where they pass what one array can hold.
pub(super) fn woven(arrays: &[ArrayRef], indices: impl IntoIterator<Item = (usize, usize)>) -> Option<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|a| &**a).collect();
    interleaved(&arrays, indices.into_iter().map(Some))
}
