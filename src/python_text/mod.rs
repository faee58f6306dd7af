//! The text of a field: the `str()` that Python prints for the value from pyarrow's `to_pylist()`; and its JSON.
//!
//! A column is converted to texts as a whole, before the rows are rendered, so that the row loop only takes slices. A
//! string column isn't copied: [`TextColumn`] shares its buffers after a check. Other values are printed into one
//! buffer. A column passes the files in this order:
//!
//! | file | content |
//! |---|---|
//! | `native` | decides whether an Arrow type is printed here, or by Python |
//! | `column`, `lookup` | a column's texts, one slice for each row; the lookup from rows to texts |
//! | `array_texts` | makes an array's texts: shared with it, printed, or picked from few |
//! | `slices` | the bytes of each row in Arrow's layouts; checks the buffers of a foreign producer |
//! | `offsets` | checks offsets |
//! | `picks` | the index of each row's value, for keys and runs |
//! | `printer` | the printer of each Arrow type |
//! | `nested` | printers of lists, structs, maps, and of values with keys or runs |
//! | `fill`, `kept` | short texts one after the other, in memory that is large enough and reused |
//! | `number`, `decimal`, `time`, `quote`, `none` | Python's text of one value |
//! | `conversion` | `str` or `repr` (Python prints `repr` inside a container), or JSON |
//! | `json` | a column's values as JSON, row by row, with the same printers |
//! | `json_value` | values of JSON texts, `arrow.json` |
//!
//! `literal` does the opposite: it reads a list of strings from its text.
//!
//! Honest recursion: `nested.rs` and `printer.rs`: a list's printer contains its items' printer, and an item may be a
//! list.

mod array_texts;
mod column;
mod conversion;
mod decimal;
mod fill;
mod json;
mod json_value;
mod kept;
mod literal;
mod lookup;
mod native;
mod nested;
mod none;
mod number;
mod offsets;
mod picks;
mod printer;
mod quote;
mod slices;
mod time;

pub use column::{SHORT_TEXT_BYTES, TextColumn, TextSpan};
pub use json::{JsonColumn, field_texts};
pub use json_value::{is_json, write_text_of_json};
pub use literal::list_of_strings;
pub use lookup::{Offsets, TextLookup};
pub use native::is_native;
pub use none::NONE;
pub use number::{float_text, write_float};
pub use offsets::lead_inside;
pub(crate) use picks::{dictionary_picks, no_such_value, run_picks};
pub use quote::{PRINTABLE_WORDS, set_printable, string as write_repr};
