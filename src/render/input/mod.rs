//! Input tables: their owners, the checks of their data, and the texts of their columns.
//!
//! `host` declares the services that the caller offers; `import` makes arrays of imported data; `arrays` checks arrays;
//! `cast`, `copies` and `joined` make other arrays from them; `lists` and `column_names` describe a schema; the row
//! loop reads `batch`.

mod arrays;
mod batch;
mod cast;
mod column_names;
mod copies;
mod host;
mod import;
mod joined;
mod lists;

pub use arrays::{lists_in_bounds, readable, sound};
pub use batch::{Batch, BroughtIn};
pub use cast::cast;
pub use column_names::{names, present};
pub(super) use copies::end_to_end;
pub use copies::{interleaved, repeated, take_rows};
pub use host::{NoPython, PythonCallbacks, is_row_numbers};
pub use import::{array_of, imported};
pub use joined::joined;
pub use lists::{element_type, is_list, is_text, large_lists, without_other_items};
