//! List columns whose elements become messages.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::messages_of;
use crate::pytext::TextColumn;
use crate::render::input::{cast, element_type};
use crate::render::values::{said_length, value_at};
use crate::template::{RawItem, keys};

/// A list column that messages are expanded from.
pub struct Expansion {
    /// Its name.
    pub column: Arc<str>,
    /// Its lists, one a row.
    pub lists: LargeListArray,
    /// Whether its elements have what a message needs.
    pub complete: bool,
    /// The texts of its elements' contents, where these are texts. Nobody has looked yet whether they are UTF-8.
    texts: Option<TextColumn>,
}

impl Expansion {
    /// The lists of a column that was checked; None if Python sees no lists in it.
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

    /// How many bytes an element says, by its place among all.
    pub fn said_bytes(&self, element: usize) -> usize {
        match &self.texts {
            Some(texts) if texts.is_null(element) => 0,
            Some(texts) => texts.length(element),
            None => value_at(self.lists.values(), element).get(keys::CONTENT).map_or(0, |said| said_length(said).0),
        }
    }

    /// The messages of a row, by their places among all; none where the list is null.
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
        // In the order in which they stand: what is wrong with all of them shows with the first.
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

/// The messages that a row of a column holds.
///
/// # Errors
///
/// As [`Expansion::new`] and [`Expansion::messages`]; the row is 0.
pub fn expanded(column: &Arc<str>, array: &ArrayRef, row: usize, parser: Parser) -> Result<Vec<RawItem>> {
    let cell = array.slice(row, 1);
    let Some(lists) = Expansion::new(column, &cell)? else { return Ok(Vec::new()) };
    lists.messages(0, parser)?;
    Ok(messages_of(&value_at(&cell, 0), column))
}
