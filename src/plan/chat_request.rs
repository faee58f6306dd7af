//! Requests of a chat, before the sample is known: histories of messages, each a text of its own.
//!
//! A chat has no template that spans it, so nothing is open in a request but which texts stand in it: message `n` is
//! the text in place `n`. The plan of a history is decided by who speaks in it.

use super::config::Config;
use super::leave::{leave, model_side};
use crate::error::{Code, Result};
use crate::output::{Parser, Prompt};
use crate::role::{ChatMessage, Request, check_chat, roles_for_type};
use crate::template::{FragmentSet, Text};
use crate::value::Value;

/// What is known of a chat's requests before there are any: text or messages, and what these hold.
///
/// # Errors
///
/// `TemplateError` for a meta template that no chat gets along with.
pub fn chat_shape(config: &Config) -> Result<Request> {
    let meta = model_side(config).rounds_for_chat()?;
    if let Some(meta) = meta {
        check_chat(meta, config.output.parser == Parser::Text)?;
    }
    // Whoever doesn't speak in a chat may be described wrongly: which texts there are shows with the chats.
    if config.output.parser == Parser::Text {
        return Ok(Request::Text(Vec::new()));
    }
    if config.output.chat_api {
        // All messages have one type. A chat in which nobody may ask is refused; that of others shows with the chats.
        return match build_chat_request(config, &[(&"user".into(), true)]) {
            Err(error) if error.code() != Code::UnmappedRole => leave(config, Prompt::Text(Vec::new())),
            shape => shape,
        };
    }
    let roles = roles_for_type(meta);
    build_chat_request(config, &roles.iter().map(|role| (role, true)).collect::<Vec<_>>())
}

/// The request of a history: who speaks in each message, and whether the message has a text at all.
///
/// # Errors
///
/// `RenderError` for an empty history as text; `TemplateError` for whatever the parser refuses.
pub fn build_chat_request(config: &Config, history: &[(&Value, bool)]) -> Result<Request> {
    fn message<'v>(((role, speaks), slot): (&(&'v Value, bool), u32)) -> ChatMessage<'v> {
        let text = speaks.then(|| Text::fragment(FragmentSet::Batch, slot, 0).spoken_by(role.as_text()).finalized());
        ChatMessage { role, text }
    }
    leave(config, Prompt::Chat(history.iter().zip(0..).map(message).collect()))
}
