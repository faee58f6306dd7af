//! `output="openai"`: messages in the form of OpenAI's chat API.

use super::chat_form::ChatForm;
use super::chat_messages;
use super::form::{OutputForm, Parser};
use super::messages;
use super::role_names::usual_name;
use crate::template::keys;

pub(super) static FORM: OutputForm = OutputForm {
    name: "openai",
    parser: Parser::Messages,
    json: false,
    changes_messages: true,
    chat: Some(&ChatForm {
        api: "OpenAI",
        roles: &["system", "user", "assistant", "tool", "developer"],
        aliases: &[("human", "user"), ("bot", "assistant"), ("gpt", "assistant"), ("model", "assistant")],
        user: "user",
        content: keys::CONTENT,
    }),
    request: messages::request,
    finish: Some(chat_messages::finish),
};

/// Return true if the name of a usual role is `assistant` in this form, as that of `BOT` is.
pub fn is_assistant(role: &str) -> bool {
    let name = FORM.chat.and_then(|chat| usual_name(chat, role));
    name.is_some_and(|name| &*name == "assistant")
}
