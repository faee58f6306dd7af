//! Values of a configuration as Arrow (`arrow`) and as JSON (`json`), cells of a column as values (`cells`), and which
//! of a request's values are said (`said`).

mod arrow;
mod cells;
pub mod json;
mod said;

pub use arrow::{build, string_type, structs, type_of, unify};
pub use cells::{distinct, keys_of, value_at};
pub use said::{Said, said_length, said_under};
