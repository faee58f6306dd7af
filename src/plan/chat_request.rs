//! Builds the requests of a chat before the sample is known: histories of messages, each a fragment.
//!
//! No template spans a chat, so a request consists of fragments: message `n` is the fragment at index `n`. The roles of
//! a history determine its plan.

use super::config::Config;
use super::to_request::{model_side, to_request};
use crate::error::{Code, Result};
use crate::output::{Parser, Prompt};
use crate::role::{ChatMessage, Request, check_chat, roles_for_type};
use crate::template::{FragmentSet, Text};
use crate::value::Value;

/// Return a request with the type of a chat's requests: text or messages, with their keys.
///
/// # Errors
///
/// `TemplateError` for a meta template that can't be used for chats.
pub fn chat_shape(config: &Config) -> Result<Request> {
    let meta = model_side(config).rounds_for_chat()?;
    if let Some(meta) = meta {
        check_chat(meta, config.output.parser == Parser::Text)?;
    }
    // A role that doesn't occur in a chat may be described wrongly. The texts are known only with the chats.
    if config.output.parser == Parser::Text {
        return Ok(Request::Text(Vec::new()));
    }
    if let Some(chat) = config.output.chat {
        // All messages have one type. A chat without a user is refused here; other faults show with the chats.
        return match build_chat_request(config, &[(&chat.user.into(), true)]) {
            Err(error) if error.code() != Code::UnmappedRole => to_request(config, Prompt::Text(Vec::new())),
            shape => shape,
        };
    }
    let roles = roles_for_type(meta);
    build_chat_request(config, &roles.iter().map(|role| (role, true)).collect::<Vec<_>>())
}

/// Build the request of a history, given the role of each message and whether the message has a text.
///
/// # Errors
///
/// `RenderError` for an empty history as text; `TemplateError` for a value that the parser refuses.
pub fn build_chat_request(config: &Config, history: &[(&Value, bool)]) -> Result<Request> {
    fn message<'v>(((role, speaks), slot): (&(&'v Value, bool), u32)) -> ChatMessage<'v> {
        let text = speaks.then(|| Text::fragment(FragmentSet::Batch, slot, 0).spoken_by(role.as_text()).finalized());
        ChatMessage { role, text }
    }
    to_request(config, Prompt::Chat(history.iter().zip(0..).map(message).collect()))
}
