//! Converts the parts of a list column to the form in which OpenCompass's OpenAI models send them: texts without
//! further keys, images under `image_url`. `output/chat_messages.rs` converts the parts of the configuration in the same way.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StringArray, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use crate::error::{Code, Error, Result};
use crate::render::input::{cast, element_type, is_list, is_text, take_rows};
use crate::render::values::structs;
use crate::template::keys;

const IMAGE_URL: &str = "image_url";

/// Return the parts of a type of contents: structs with a text that names their kind.
fn parts(data_type: &DataType) -> Option<Fields> {
    match element_type(data_type) {
        Some(DataType::Struct(fields)) if is_list(data_type) => {
            fields.find(keys::TYPE).is_some_and(|(_, kind)| is_text(kind.data_type())).then_some(fields)
        }
        _ => None,
    }
}

/// Return the type of contents as they are sent.
pub fn sent_type(data_type: &DataType) -> DataType {
    let Some(fields) = parts(data_type) else { return data_type.clone() };
    let field = |field: &Arc<Field>| match field.name().as_str() {
        IMAGE_URL if is_text(field.data_type()) => Field::new(IMAGE_URL, url_type(field.data_type()), true),
        name => Field::new(name, field.data_type().clone(), true),
    };
    DataType::List(Arc::new(Field::new_list_field(DataType::Struct(fields.iter().map(field).collect()), true)))
}

fn url_type(data_type: &DataType) -> DataType {
    DataType::Struct(vec![Field::new("url", data_type.clone(), true)].into())
}

/// Convert contents to the form in which they are sent.
///
/// # Errors
///
/// `RenderError` for lists that exceed 32-bit offsets.
pub fn sent(contents: &ArrayRef) -> Result<ArrayRef> {
    if parts(contents.data_type()).is_none() {
        return Ok(contents.clone());
    }
    let fault = |e: ArrowError| Error::render(Code::InternalError, e.to_string());
    let DataType::List(target) = sent_type(contents.data_type()) else { return Ok(contents.clone()) };
    let element = element_type(contents.data_type()).unwrap_or(DataType::Null);
    let lists = cast(contents, &DataType::List(Arc::new(Field::new_list_field(element, true))))?;
    let lists = lists.as_list::<i32>();
    let elements = lists.values().as_struct();
    let DataType::Struct(fields) = target.data_type() else { return Ok(contents.clone()) };
    let parts = part_columns(elements, fields)?;
    let parts = structs(fields.clone(), parts, elements.nulls().cloned(), elements.len())?;
    let lists = ListArray::try_new(target.clone(), lists.offsets().clone(), parts, lists.nulls().cloned());
    Ok(Arc::new(lists.map_err(fault)?))
}

fn part_columns(parts: &StructArray, fields: &Fields) -> Result<Vec<ArrayRef>> {
    let child = |key: &str| parts.column_by_name(key);
    let Some(kinds) = child(keys::TYPE) else { return Err(Error::render(Code::InternalError, "parts have a type")) };
    let kinds = cast(kinds, &DataType::Utf8)?;
    let kinds = kinds.as_string::<i32>();
    let has = |key: &str, n: usize| child(key).is_some_and(|column| column.is_valid(n));
    let kind = |n: usize| if kinds.is_valid(n) { kinds.value(n) } else { "" };
    let text: Vec<bool> = (0..parts.len()).map(|n| kind(n) == keys::TEXT && has(keys::TEXT, n)).collect();
    let image: Vec<bool> =
        (0..parts.len()).map(|n| matches!(kind(n), "image" | IMAGE_URL) && has(IMAGE_URL, n)).collect();
    let without = |column: &ArrayRef, texts: bool, images: bool| {
        let gone = text.iter().zip(&image).map(|(text, image)| *text && texts || *image && images);
        let left = gone.enumerate().map(|(n, gone)| (!gone).then_some(n));
        take_rows(column, left).ok_or_else(|| Error::render(Code::InternalError, "what is left of parts is too large"))
    };
    let column = |field: &Arc<Field>| {
        let Some(column) = child(field.name()) else {
            return Ok(Arc::new(StringArray::new_null(parts.len())) as ArrayRef);
        };
        match field.name().as_str() {
            keys::TYPE => {
                let names = (0..parts.len())
                    .map(|n| if image[n] { Some(IMAGE_URL) } else { kinds.is_valid(n).then(|| kinds.value(n)) });
                cast(&names.collect::<StringArray>(), field.data_type())
            }
            keys::TEXT => without(column, false, true),
            IMAGE_URL if is_text(column.data_type()) => {
                let DataType::Struct(url) = field.data_type() else { return Ok(column.clone()) };
                let column = without(column, true, false)?;
                structs(url.clone(), vec![column.clone()], column.logical_nulls(), parts.len())
            }
            IMAGE_URL => without(column, true, false),
            _ => without(column, true, true),
        }
    };
    fields.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_parts_stays() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        assert_eq!(&sent(&texts).unwrap(), &texts);
        assert_eq!(sent_type(&DataType::Utf8), DataType::Utf8);
    }
}
