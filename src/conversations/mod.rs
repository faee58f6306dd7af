//! Columns of conversations, read: what shape each has, and the texts that are its holes.
//!
//! A conversation's **shape** is everything of it but certain texts: roles, names, ids, numbers, keys and their order,
//! null or missing. A chat template is compiled once for a shape, and the texts are filled in row by row. Which texts are
//! holes is told in `places`; whoever reads a shape may find a hole where another would find a text, and nothing but
//! speed depends on it.
//!
//! | file | what |
//! |---|---|
//! | `shapes` | the shapes that were met, numbered; as many as may be |
//! | `places` | where in a message a text is a hole |
//! | `reading` | rows as they are read: a skeleton is written, the holes are kept |
//! | `plain` | lists of structs with a role and a content, whose texts stay where they are |
//! | `arrow` | lists of any other structs |
//! | `json` | texts that hold a conversation as JSON |
//! | `column` | which of these a column is, and its rows on all threads |
//!
//! A **skeleton** is a shape as JSON. Objects and lists are themselves, and so are numbers, true, false and null, but
//! for a string: one that belongs to the shape is `"=text"`, and `"?"` is a hole. Keys are as they are. Holes are
//! numbered from 0 in the order in which they stand there.

mod arrow;
mod column;
mod json;
mod places;
mod plain;
mod reading;
mod shapes;

pub use column::{Conversations, read};
pub use shapes::{NO_SHAPE, Shapes};
