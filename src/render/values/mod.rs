//! Values of a configuration as Arrow (`arrow`) and as JSON (`json`), and cells of a column as values (`cells`).

mod arrow;
mod cells;
pub mod json;

pub use arrow::{build, string_type, structs, type_of, unify, widened};
pub use cells::{distinct, keys_of, value_at};
