//! Texts as lists with a single part, if contents are lists of parts.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::fitted::typed;
use crate::error::{Code, Error, Result};
use crate::render::input::repeated;
use crate::render::values::structs;
use crate::template::keys;

/// Convert each text to a list with a single part of this type.
///
/// # Errors
///
/// `RenderError` if the parts of this type can't hold a text.
pub(super) fn text_parts(text: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::List(item) = data_type else { return Err(internal("contents are lists of parts")) };
    let DataType::Struct(fields) = item.data_type() else { return Err(internal("parts are structs")) };
    let count = text.len();
    let kind: ArrayRef = Arc::new(StringArray::from(vec![keys::TEXT]));
    let column = |field: &arrow_schema::FieldRef| match field.name().as_str() {
        keys::TYPE => {
            let kind = typed(keys::TYPE, &kind, field.data_type())?;
            repeated(&kind, count).ok_or_else(|| internal("the kinds of parts don't fit one array"))
        }
        keys::TEXT => typed(keys::TEXT, text, field.data_type()),
        _ => Ok(new_null_array(field.data_type(), count)),
    };
    let columns = fields.iter().map(column).collect::<Result<_>>()?;
    let parts = structs(fields.clone(), columns, None, count)?;
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, count));
    let lists = ListArray::try_new(item.clone(), offsets, parts, text.logical_nulls());
    Ok(Arc::new(lists.map_err(|e| internal(&e.to_string()))?))
}

fn internal(message: &str) -> Error {
    Error::render(Code::InternalError, message)
}
