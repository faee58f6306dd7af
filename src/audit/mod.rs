//! Searches of an audit in whole columns: texts, odd characters, and rows with equal content.
//!
//! A column is opened once (`texts`) and scanned on all threads. `find_texts` looks for the same texts in every row,
//! `begin_with` for first bytes, `find_per_row` for a text that differs from row to row, and `odd_characters` for invisible
//! characters. `row_hashes` identifies rows with equal content, either as it is or normalised (`normalised`).

mod beginnings;
mod find_per_row;
mod find_texts;
mod normalised;
mod odd_characters;
mod row_hashes;
mod texts;

pub use beginnings::begin_with;
pub use find_per_row::find_per_row;
pub use find_texts::{Needles, TextMatch, find_texts};
pub use odd_characters::{OddCharacter, OddKind, odd_characters};
pub use row_hashes::row_hashes;
pub use texts::Texts;
