//! Requests of conversations: from list columns (`turns`), and from the columns of a chat (`chat`).
//!
//! Both zip columns (`zipped`), render their texts as fragments, and list the `requests` with these fragments;
//! `fragment_origins` keeps the pieces that the fragments were rendered from.

mod chat;
mod fragment_origins;
mod requests;
mod turns;
mod zipped;

pub use chat::{chat_programs, chat_requests};
pub use fragment_origins::FragmentOrigins;
pub use requests::{Conversations, Replies, empty_replies};
pub use turns::{turn_programs, turn_requests};
