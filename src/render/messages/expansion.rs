//! List columns whose elements become messages.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::messages_of;
use crate::python_text::TextColumn;
use crate::render::input::{cast, element_type};
use crate::render::values::{text_length, value_at};
use crate::template::{RawItem, keys};

/// A list column that messages are expanded from.
pub struct Expansion {
    /// The name of the column.
    pub column: Arc<str>,
    /// The lists of the column, one for each row.
    pub lists: LargeListArray,
    /// True if the elements have the keys that a message needs.
    pub complete: bool,
    /// The texts of its elements' contents, if the contents are texts. They haven't been checked for valid UTF-8 yet.
    texts: Option<TextColumn>,
}

impl Expansion {
    /// Read the lists of a column that was checked; None if Python sees no lists in it.
    ///
    /// # Errors
    ///
    /// `RenderError` for a map, or a column that can't be cast.
    pub fn new(column: &Arc<str>, array: &ArrayRef) -> Result<Option<Self>> {
        let fault = |e: Error| e.in_column(&**column);
        let plain = match array.data_type() {
            DataType::Dictionary(_, values) => &cast(array, values).map_err(fault)?,
            DataType::RunEndEncoded(_, values) => &cast(array, values.data_type()).map_err(fault)?,
            _ => array,
        };
        let Some(element) = element_type(plain.data_type()) else {
            return match plain.data_type() {
                DataType::Map(..) => {
                    Err(Error::render(Code::WrongColumnType, "expected lists of messages, found a map")
                        .in_column(&**column))
                }
                _ => Ok(None),
            };
        };
        let target = DataType::LargeList(Arc::new(Field::new_list_field(element.clone(), true)));
        let lists = cast(plain, &target).map_err(fault)?.as_list::<i64>().clone();
        let complete = match &element {
            DataType::Struct(fields) => fields.find(keys::ROLE).is_some() && fields.find(keys::CONTENT).is_some(),
            DataType::Null => true,
            _ => false,
        };
        let content = lists.values().as_struct_opt().and_then(|messages| messages.column_by_name(keys::CONTENT));
        let texts = content.and_then(|content| TextColumn::unread(content));
        Ok(Some(Self { column: column.clone(), lists, complete, texts }))
    }

    /// Return the number of bytes of an element's content; `element` counts among all elements.
    pub fn message_bytes(&self, element: usize) -> usize {
        match &self.texts {
            Some(texts) if texts.is_null(element) => 0,
            Some(texts) => texts.length(element),
            None => {
                value_at(self.lists.values(), element).get(keys::CONTENT).map_or(0, |content| text_length(content).0)
            }
        }
    }

    /// Return the messages of a row, as a range among all messages; the range is empty if the list is null.
    ///
    /// # Errors
    ///
    /// `RenderError` for a null among them, for messages as text, and for elements that lack role or content.
    pub fn messages(&self, row: usize, parser: Parser) -> Result<Range<usize>> {
        let offsets = self.lists.value_offsets();
        let all = offsets[row] as usize..offsets[row + 1] as usize;
        if self.lists.is_null(row) || all.is_empty() {
            return Ok(0..0);
        }
        let fault = |code: Code, message: &str| Err(Error::render(code, message).at_row(row).in_column(&*self.column));
        let values = self.lists.values();
        let null = all.clone().find(|n| values.is_null(*n) || *values.data_type() == DataType::Null);
        // The messages are read in order. An error that all of them have is raised for the first.
        match null {
            Some(null) if null == all.start => fault(Code::NullValue, "a null stands among the messages"),
            _ if parser == Parser::Text => {
                fault(Code::NoTextForm, "raw messages have no text form; use output=\"messages\"")
            }
            _ if !self.complete => fault(Code::IncompleteMessage, "its messages need role and content"),
            Some(_) => fault(Code::NullValue, "a null stands among the messages"),
            None => Ok(all),
        }
    }
}

/// Return the messages of a column's cell.
///
/// # Errors
///
/// The errors of [`Expansion::new`] and [`Expansion::messages`] for row 0.
pub fn expanded(column: &Arc<str>, array: &ArrayRef, row: usize, parser: Parser) -> Result<Vec<RawItem>> {
    let cell = array.slice(row, 1);
    let Some(lists) = Expansion::new(column, &cell)? else { return Ok(Vec::new()) };
    lists.messages(0, parser)?;
    Ok(messages_of(&value_at(&cell, 0), column))
}
