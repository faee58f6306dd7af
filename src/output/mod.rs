//! Output forms: turn the result of templates into a request, in the form that the user chose.
//!
//! Every rendering of a sample (a template with its examples, a conversation, a chat) ends in a `Prompt`, and an
//! [`OutputForm`] turns it into a request. `text`, `messages`, `messages_json`, `prompt_list` and `openai` have a file
//! each, and a line in [`FORMS`]. A form lays a prompt over the meta template, or passes it on unchanged. A form that
//! builds on messages calls [`messages::request`] first and changes its result; `chat_messages` does so for all chat
//! APIs. `dialogue` and `raw_messages` are shared by several forms; `meta_messages` merges meta templates in the list form;
//! `role_names` has the names of roles in chat APIs.

mod chat_form;
mod chat_messages;
mod dialogue;
mod form;
mod forms;
mod messages;
mod messages_json;
mod meta_messages;
#[cfg(test)]
pub mod one_text;
mod openai;
mod prompt_list;
mod raw_messages;
mod role_names;
mod text;

pub use form::{ModelSide, OutputForm, Parser, Prompt};
pub use forms::{FORMS, default_form, form};
pub use openai::is_assistant;
pub use role_names::RoleNames;
