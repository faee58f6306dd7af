//! The model's side: how each role speaks, and how a dialogue is laid over it.

mod chat;
mod joined;
mod messages;
mod meta;
mod raw;
mod request;
mod rounds;
mod text;

pub use chat::{Said, api_roles, chat_messages, chat_text, check_chat};
pub use joined::{alone, joined, joined_parts};
pub use messages::to_messages;
pub use meta::{META_KEYS, MetaTemplate, ROLE_KEYS, RoundItem, Rounds, Tokens};
pub use raw::{MergeMeta, merge_raw, meta_content, meta_message};
pub use request::{Join, Message, Piece, Request, Slot};
pub use text::to_text;
