//! The services that rendering needs from its caller: signals, and the values of types that only the interpreter can
//! read.

use arrow_array::ArrayRef;
use arrow_schema::Field;

use crate::error::{Code, Error, Kind, Result};
use crate::plan::Limits;
use crate::value::Value;

/// The services that rendering needs from its caller.
pub trait PythonCallbacks: Sync {
    /// Return the texts of a column whose type only the interpreter can read, as strings.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    fn python_text(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef>;

    /// Return the Python values of a column whose type only the interpreter can read.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value that can't be converted.
    fn values(&self, field: &Field, _: &ArrayRef) -> Result<Vec<Value>> {
        Err(Error::render(Code::UnsupportedColumnType, format!("the type {} has no values here", field.data_type()))
            .in_column(field.name()))
    }

    /// Check for signals between slices of long work.
    ///
    /// # Errors
    ///
    /// Any error that stops the work, such as a signal.
    fn check(&self) -> Result<()>;

    /// Return the error of a row, if an exception of the interpreter for a value of this row stopped the work.
    ///
    /// # Errors
    ///
    /// The same error, if it doesn't belong to a row.
    fn row_error(&self, error: Error) -> Result<Error> {
        if error.kind() == Kind::Stopped { Err(error) } else { Ok(error) }
    }

    /// Record that a text was filled in column by column, because copying its values could have missed a placeholder.
    fn has_substituted(&self) {}

    /// Record a shape for which a plan was made: the body of the label map, if a column decides it, and the kinds of the
    /// examples.
    fn has_shape(&self, _: &[u32]) {}

    /// Return the limits on the size of rendered texts.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// A host without an interpreter.
pub struct NoPython;

impl PythonCallbacks for NoPython {
    fn python_text(&self, field: &Field, _: &ArrayRef) -> Result<ArrayRef> {
        Err(Error::render(Code::UnsupportedColumnType, format!("the type {} has no text here", field.data_type()))
            .in_column(field.name()))
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The extension type of a column that holds row numbers in place of its values, which Python holds.
const ROW_NUMBERS: &str = "promptpress.rows";

/// Return true if a column holds row numbers. Any other extension type that comes here is read as its storage type,
/// because Python converts the types that it can read before.
pub fn is_row_numbers(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == ROW_NUMBERS)
}
