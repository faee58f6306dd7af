//! The model's side: how each role speaks, and how a dialogue is laid over it.
//!
//! A meta template is read once (`meta`). A dialogue is walked through by its sections (`sections`), which are cut into
//! rounds (`rounds`), and comes out as `text` or as `messages`; `joined` is for dialogues that meet no meta template, `chat`
//! for chats, which know roles and no rounds. What comes out is a `request`.

mod chat;
mod joined;
mod messages;
mod meta;
mod request;
mod rounds;
mod sections;
mod text;

pub use chat::{ChatMessage, chat_messages, chat_text, check_chat, roles_for_type};
pub use joined::{concatenated, joined_by_lines, joined_parts};
pub use messages::to_messages;
pub use meta::{META_KEYS, MetaTemplate, ROLE_KEYS, Rounds, TokenTexts};
pub use request::{Element, Join, Message, Piece, Request, Slot, prompt_list};
pub use text::to_text;
