//! Files of JSON objects, one a line: the columns with their kinds, and the values as arrays.
//!
//! A file is read twice, block by block. [`Columns`] looks at all keys and finds the kinds of the values, by which each
//! column gets one type for the whole file. Then [`batches`] makes arrays. Values are skipped where they aren't wanted;
//! a value that JSON doesn't allow is kept as it stands in the file, for those who decode it to refuse.
//! [`Items`] turns an array of objects into such lines.

mod batches;
mod columns;
mod fields;
mod items;
mod kinds;
mod lines;
mod strings;
mod values;

pub use batches::{ColumnType, batches, schema};
pub use columns::Columns;
pub use items::{Items, ItemsFault};
pub use kinds::Kinds;
pub use lines::Fault;
