//! Values of a configuration as Arrow (`arrow`) and as JSON (`json`), cells of a column as values (`cells`), and the
//! texts among a request's values (`message_text`, `message_column`).

mod arrow;
mod cells;
pub mod json;
mod message_column;
mod message_text;

pub use arrow::{build, string_type, structs, type_of, unify, widened};
pub use cells::{distinct, keys_of, value_at};
pub use message_column::MessageColumn;
pub use message_text::{TextLocation, part_text, text_length, text_location};
