//! Rows as lines of JSON: exports, and what the command writes.
//!
//! | file | what |
//! |---|---|
//! | `line_layout` | what a line is made of: bytes that are the same in all, and columns |
//! | `requests` | requests as the harness passes them on: messages with the keys that they have |
//! | `chat_messages` | whether they are what every chat API takes |
//! | `lines` | a batch's lines, on all threads |
//! | `line_bytes` | the memory that they lie in, used again |
//! | `seen_ids` | which ids have been there before |

mod chat_messages;
mod line_bytes;
mod line_layout;
mod lines;
mod requests;
mod seen_ids;

pub use chat_messages::are_plain_chats;
pub use line_layout::{LineLayout, Segment};
pub use lines::write;
pub use seen_ids::{FoundIds, Ids, Keys, SeenIds};
