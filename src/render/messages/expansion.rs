//! List columns whose elements become messages.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::render::input::{cast, element_type};

/// A list column that messages are expanded from.
pub struct Expansion {
    /// Its name.
    pub column: Arc<str>,
    /// Its lists, one a row.
    pub lists: LargeListArray,
    /// Whether its elements have what a message needs.
    pub complete: bool,
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
            DataType::Struct(fields) => fields.find("role").is_some() && fields.find("content").is_some(),
            DataType::Null => true,
            _ => false,
        };
        Ok(Some(Self { column: column.clone(), lists, complete }))
    }
}
