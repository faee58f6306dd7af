//! Values of a configuration as Arrow (`arrow`) and as JSON (`json`), cells of a column as values (`cells`), and which
//! of a request's values are said (`said`, `said_column`).

mod arrow;
mod cells;
pub mod json;
mod said;
mod said_column;

pub use arrow::{build, string_type, structs, type_of, unify, widened};
pub use cells::{distinct, keys_of, value_at};
pub use said::{said_length, said_text, said_under};
pub use said_column::SaidColumn;
