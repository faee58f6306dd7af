//! What an audit looks for in whole columns: texts, odd characters, rows of one content.
//!
//! A column is opened once (`texts`), and gone through on all threads. `find_texts` looks for the same texts in every
//! row, `begin_with` for how they begin, `find_own` for a text of each row's own, `odd_characters` for what can't be seen. `row_hashes` says which rows
//! have one content, as it is or normalised (`normalised`).

mod beginnings;
mod find_own;
mod find_texts;
mod normalised;
mod odd_characters;
mod row_hashes;
mod texts;

pub use beginnings::begin_with;
pub use find_own::find_own;
pub use find_texts::{FoundText, Needles, find_texts};
pub use odd_characters::{OddCharacter, OddKind, odd_characters};
pub use row_hashes::row_hashes;
pub use texts::Texts;
