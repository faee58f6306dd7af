//! The way out: what templates gave becomes a request, in the form that was asked for.
//!
//! Whatever renders a sample (a template with its examples, a conversation, a chat) ends in a `Prompt`, and every prompt
//! leaves by its [`OutputForm`]: `text`, `messages`, `messages_json`, `prompt_list` and `openai` are a file each, and a line
//! in [`FORMS`]. A form lays a prompt over the meta template, or hands it on as it is; one that goes on from messages has
//! [`messages::request`] for its first half, and changes what that gives. `dialogue` and `raw_messages` are what some of
//! them share; `meta_messages` merges meta templates in the list form; `role_names` has what chat APIs call who speaks.

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
pub use role_names::RoleNames;
