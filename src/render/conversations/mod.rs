//! Requests of conversations: from list columns (`turns`) and from whatever a chat is made of (`chat`).
//!
//! Both zip columns (`zipped`), render what is said as fragments, and say which `requests` to make of them;
//! `fragment_origins` keeps what they were rendered from.

mod chat;
mod fragment_origins;
mod requests;
mod turns;
mod zipped;

pub use chat::chat_requests;
pub use fragment_origins::FragmentOrigins;
pub use requests::{Conversations, Replies, empty_replies};
pub use turns::turn_requests;
