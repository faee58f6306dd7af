//! The text of a field: what Python's `str()` prints for the value that pyarrow's `to_pylist()` gives; and its JSON.
//!
//! A column is turned into text as a whole, before the rows are rendered, so that the row loop does nothing but take
//! slices. A string column is not copied at all: [`TextColumn`] shares its buffers once they are checked. Everything
//! else is printed into one buffer. A column passes the files in this order:
//!
//! | file | what it knows |
//! |---|---|
//! | `native` | whether an Arrow type's texts are printed here, or Python has to be asked |
//! | `column`, `lookup` | a column's texts, one slice a row; how rows lead to them |
//! | `array_texts` | how an array's texts are made: shared with it, printed, or picked from few |
//! | `slices` | where Arrow keeps a row's bytes, and whether a foreign producer's buffers can be trusted |
//! | `offsets` | whether offsets lead where they may |
//! | `picks` | which value a row shows, where values stand behind keys or runs |
//! | `printer` | what prints the values of an Arrow type |
//! | `nested` | printers of lists, structs, maps, and of values behind keys or runs |
//! | `fill`, `kept` | short texts one behind the other, in memory that is large enough, and used again |
//! | `number`, `decimal`, `time`, `quote`, `none` | what Python prints for one value |
//! | `conversion` | `str` or `repr`: inside a container Python prints `repr`, outside it `str`; or JSON |
//! | `json` | a column's values as JSON, row by row, by the same printers |
//!
//! `literal` goes the other way: it reads a list of strings from its text.
//!
//! Honest recursion: `nested.rs` and `printer.rs`: a list's printer is made of its items' printer, and an item may be a
//! list.

mod array_texts;
mod column;
mod conversion;
mod decimal;
mod fill;
mod json;
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
pub use json::JsonColumn;
pub use literal::list_of_strings;
pub use lookup::{Offsets, TextLookup};
pub use native::is_native;
pub use none::NONE;
pub use number::{float_text, write_float};
pub use offsets::lead_inside;
pub(crate) use picks::{dictionary_picks, no_such_value, run_picks};
pub use quote::{PRINTABLE_WORDS, set_printable, string as write_repr};
