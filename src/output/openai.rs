//! `output="openai"`: messages in the form of OpenAI's chat API.

use super::chat_form::ChatForm;
use super::chat_messages;
use super::form::{OutputForm, Parser};
use super::messages;
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
