//! Reads columns of conversations: the shape of each, and the texts of its slots.
//!
//! A conversation's **shape** is all of it except certain texts: roles, names, ids, numbers, keys and their order,
//! nulls and missing keys. A chat template is compiled once for a shape, and the texts are filled in row by row.
//! `location` decides which texts are slots. Two readers may decide differently about a text; that affects only speed.
//!
//! | file | what |
//! |---|---|
//! | `shapes` | numbers the shapes, up to a limit |
//! | `location` | the locations in a message whose texts are slots |
//! | `reading` | collects rows: writes the skeletons and keeps the slots' texts |
//! | `plain` | lists of structs with a role and a content, whose texts aren't copied |
//! | `arrow` | lists of any other structs |
//! | `json` | texts that hold a conversation as JSON |
//! | `column` | chooses one of these for a column, and reads its rows on all threads |
//!
//! A **skeleton** is a shape as JSON. Objects, lists, numbers, true, false and null are written as they are. A string
//! that belongs to the shape is written as `"=text"`, and `"?"` is a slot. Keys are written as they are. Slots are
//! numbered from 0 in their order in the skeleton.

mod arrow;
mod column;
mod json;
mod location;
mod plain;
mod reading;
mod shapes;

pub use column::{Conversations, read};
pub use shapes::{NO_SHAPE, Shapes};
