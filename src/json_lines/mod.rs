//! Writes rows as lines of JSON, for exports and for the command.
//!
//! | file | what |
//! |---|---|
//! | `line_layout` | the layout of a line: constant bytes, and columns |
//! | `requests` | requests as a harness passes them on: messages with their own keys |
//! | `chat_messages` | checks that messages have the form that every chat API takes |
//! | `lines` | writes a batch's lines, on all threads |
//! | `line_bytes` | reuses the memory of the lines |
//! | `seen_ids` | finds repeated ids |

mod chat_messages;
mod line_bytes;
mod line_layout;
mod lines;
mod requests;
mod seen_ids;

pub use chat_messages::are_plain_chats;
pub use line_layout::{LineLayout, Segment};
pub use lines::write;
pub use seen_ids::{IdFacts, Ids, Keys, SeenIds};
