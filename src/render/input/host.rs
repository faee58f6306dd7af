//! What rendering asks of whoever runs it: signals, and the values of types that only the interpreter knows.

use arrow_array::ArrayRef;
use arrow_schema::Field;

use crate::error::{Code, Error, Result};
use crate::plan::Limits;
use crate::value::Value;

/// What rendering asks of whoever runs it.
pub trait Host: Sync {
    /// The texts of a column of a type that [`crate::pytext`] doesn't know, as strings: only the interpreter has them.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    fn lower(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef>;

    /// The values of a column of a type that [`crate::pytext`] doesn't know, as Python has them.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value that can't be converted.
    fn values(&self, field: &Field, _: &ArrayRef) -> Result<Vec<Value>> {
        Err(Error::render(Code::UnsupportedColumnType, format!("the type {} has no values here", field.data_type()))
            .in_column(field.name()))
    }

    /// Called between slices of long work.
    ///
    /// # Errors
    ///
    /// Whatever has to stop the work, such as a signal.
    fn check(&self) -> Result<()>;

    /// How much what is rendered may take.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// A host without an interpreter.
pub struct NoHost;

impl Host for NoHost {
    fn lower(&self, field: &Field, _: &ArrayRef) -> Result<ArrayRef> {
        Err(Error::render(Code::UnsupportedColumnType, format!("the type {} has no text here", field.data_type()))
            .in_column(field.name()))
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The extension type of a column that holds row numbers in the place of its values, which Python has.
const ROW_NUMBERS: &str = "promptpress.rows";

/// Whether a column holds row numbers. Any other extension type is of storage alone: those that Python knows better don't
/// come here.
pub fn is_row_numbers(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == ROW_NUMBERS)
}
