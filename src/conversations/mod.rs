//! Reads columns of conversations: the shape of each, and the texts of its slots.
//!
//! A conversation's **shape** is its structure: the number of messages, roles, keys and their order, nulls and truths.
//! A chat template is compiled once for a shape, and all other values (texts, names, ids, numbers, arguments) are slots,
//! which are filled in row by row. A list or dict that isn't part of a content or a call is a single slot, unless the
//! template looks into it; so is a tool. `location` decides. Texts that hold calls of tools as JSON are opened
//! ([`OpenedTexts`]): they are read as the JSON that they hold. Two readers may decide differently; that affects only
//! speed.
//!
//! | file | what |
//! |---|---|
//! | `shapes` | numbers the shapes, up to a limit |
//! | `location` | the locations in a message, and which values there are slots |
//! | `reading` | collects rows: writes the skeletons and keeps the slots' texts |
//! | `plain` | lists of structs with a role and a content, whose texts aren't copied |
//! | `arrow` | lists of any other structs |
//! | `json` | texts that hold a conversation as JSON |
//! | `arguments` | columns of arguments of the template, such as the tools of each row |
//! | `column` | chooses one of these for a column, and reads its rows on all threads |
//!
//! A **skeleton** is a shape as JSON. Objects, lists, true, false and null are written as they are. A string that
//! belongs to the shape is written as `"=text"`, and a slot as its kind: `"?"` a text, `"i"` an int, `"f"` a float,
//! `"{"` an object, `"["` a list. The text of a slot that is no text is its JSON. Slots are numbered from 0 in their
//! order in the skeleton. With columns of arguments a skeleton is an object: the `messages`, and the `arguments` by name.

mod arguments;
mod arrow;
mod column;
mod json;
mod location;
mod plain;
mod reading;
mod shapes;

pub use arguments::Argument;
pub use column::{Conversations, read};
pub use location::Opening;
pub use shapes::{NO_SHAPE, OpenedTexts, Shapes};
