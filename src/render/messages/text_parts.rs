//! Contents that are lists of parts, among them texts as lists of one.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray, UInt32Array, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::message_arrays::{MessageArrays, typed, woven};
use super::message_refs::{MessageRef, MessageSource, TextSource};
use super::message_type::MessageType;
use crate::error::{Code, Error, Result};
use crate::render::values::structs;
use crate::template::keys;

impl MessageArrays<'_> {
    /// What messages say under `name`, where some of them say parts; None where it passes what one array can hold.
    pub(super) fn contents(
        &self,
        name: &str,
        data_type: &DataType,
        of: &MessageType,
        lengths: &[usize],
        refs: &[MessageRef],
    ) -> Result<Option<ArrayRef>> {
        let mut arrays =
            vec![self.known(name, data_type)?, text_parts(&self.block.array(self.config.layout, None), data_type)?];
        let first_data = arrays.len();
        arrays.extend(self.brought(name, data_type)?);
        let media = arrays.len();
        if of.parts.as_deref() == Some(name) {
            let Some(parts) = self.parts(data_type, lengths, refs)? else { return Ok(None) };
            arrays.push(parts);
        }
        let place = |(n, one): (usize, &MessageRef)| match (one.fields, one.text) {
            (MessageSource::Const(id), TextSource::Rendered(text)) => {
                let id = id as usize;
                match &self.part_keys[id] {
                    Some(_) => (media, n),
                    None if self.text_keys[id].as_deref() == Some(name) => (1, text),
                    None => (0, id),
                }
            }
            (MessageSource::Const(id), TextSource::Data) => (0, id as usize),
            (MessageSource::Data(..), TextSource::Rendered(text)) => (1, text),
            (MessageSource::Data(column, row), TextSource::Data) => (first_data + column as usize, row as usize),
        };
        woven(&arrays, &refs.iter().enumerate().map(place).collect::<Vec<_>>())
    }
}

/// Each text as a list of one part.
pub(super) fn text_parts(text: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::List(item) = data_type else { return Err(internal("contents are lists of parts")) };
    let DataType::Struct(fields) = item.data_type() else { return Err(internal("parts are structs")) };
    let count = text.len();
    let kind: ArrayRef = Arc::new(StringArray::from(vec![keys::TEXT]));
    let column = |field: &arrow_schema::FieldRef| match field.name().as_str() {
        keys::TYPE => {
            let kind = typed(keys::TYPE, &kind, field.data_type())?;
            arrow_select::take::take(&kind, &UInt32Array::from(vec![0; count]), None)
                .map_err(|e| internal(&e.to_string()))
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
