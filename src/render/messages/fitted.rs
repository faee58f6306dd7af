//! Converts arrays to a field of messages: to its type, in the order of the messages.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::error::{Code, Error, Result};
use crate::render::input::interleaved;
use crate::render::values::widened;

/// Convert the messages' values under a key to the type that the messages' type has for the key.
pub(super) fn typed(name: &str, array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    widened(array, data_type)
        .map_err(|e| Error::render(Code::NoArrowType, format!("{name:?} of a message: {}", e.message())))
}

/// Return values of several arrays in this order: the array and the index in it. None if they exceed the size of an
/// array.
pub(super) fn woven(arrays: &[ArrayRef], indices: impl IntoIterator<Item = (usize, usize)>) -> Option<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|a| &**a).collect();
    interleaved(&arrays, indices.into_iter().map(Some))
}
