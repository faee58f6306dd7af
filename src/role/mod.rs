//! The model's side: the roles of a meta template, and how a dialogue is laid over them.
//!
//! A meta template is read once (`meta`). A walk goes through the sections of a dialogue (`sections`), which are cut
//! into rounds (`rounds`), and writes it as `text` or as `messages`. `joined` is for dialogues without a meta template,
//! `chat` for chats, which have roles but no rounds. The result is a `request`.

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
