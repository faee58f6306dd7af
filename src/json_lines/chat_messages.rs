//! Checks that messages have the form that every chat API takes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericListArray, OffsetSizeTrait};
use arrow_schema::DataType;

use crate::error::Result;
use crate::python_text::JsonColumn;

/// Return true if each row has messages, and each message has a `role` among `roles` and a `content`. The result is
/// false as well if a cheap check can't decide.
///
/// # Errors
///
/// For roles that contradict their type.
pub fn are_plain_chats(array: &dyn Array, roles: &[String], content: &str) -> Result<bool> {
    match array.data_type() {
        DataType::List(_) => plain(array.as_list::<i32>(), roles, content),
        DataType::LargeList(_) => plain(array.as_list::<i64>(), roles, content),
        _ => Ok(false),
    }
}

fn plain<O: OffsetSizeTrait>(lists: &GenericListArray<O>, roles: &[String], content: &str) -> Result<bool> {
    let Some(messages) = lists.values().as_struct_opt() else { return Ok(false) };
    let (Some(role), Some(content)) = (messages.column_by_name("role"), messages.column_by_name(content)) else {
        return Ok(false);
    };
    if [lists.null_count(), messages.null_count(), content.null_count()] != [0; 3] {
        return Ok(false);
    }
    let offsets = lists.value_offsets();
    let items = offsets[0].as_usize()..offsets[lists.len()].as_usize();
    if offsets.windows(2).any(|ends| ends[0] >= ends[1]) || items.start > items.end || items.end > role.len() {
        return Ok(false);
    }
    let column = JsonColumn::new(role)?;
    let mut text = Vec::new();
    Ok(items.into_iter().all(|item| {
        text.clear();
        let written = !column.is_null(item) && column.write_text(item, &mut text).is_ok();
        written && roles.iter().any(|role| role.as_bytes() == text)
    }))
}
