//! Tables as they come in: whose they are, how far they are believed, and the texts of their columns.
//!
//! `host` is what is asked of whoever runs it; `import` makes arrays of imported data, `arrays` checks, `cast`, `copies` and `joined` make other arrays of what
//! came in, `lists` and `column_names` say what a schema holds, and `batch` is what the row loop reads.

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
pub use copies::{interleaved, repeated, taken};
pub use host::{Host, NoHost, is_row_numbers};
pub use import::array_of;
pub use joined::joined;
pub use lists::{element_type, is_list, is_text, large_lists, with_own_items};
