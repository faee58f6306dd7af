//! Requests of a chat, before the sample is known: histories of messages, each a text of its own.
//!
//! A chat has no template that spans it, so nothing is open in a request but which texts stand in it: message `n` is
//! the text in place `n`. The plan of a history is decided by who speaks in it.

use std::sync::Arc;

use super::config::{Config, Output};
use crate::error::{Code, Error, Result};
use crate::role::{
    Message, MetaTemplate, Piece, Request, Rounds, Said, Slot, api_roles, chat_messages, chat_text, check_chat,
};
use crate::template::Text;
use crate::value::Value;

fn rounds(config: &Config) -> Result<Option<&Rounds>> {
    match &config.meta {
        None => Ok(None),
        Some(MetaTemplate::Rounds(rounds)) => Ok(Some(rounds)),
        Some(MetaTemplate::Messages(_)) => Err(Error::template(
            Code::WrongMetaTemplateForm,
            "meta_template",
            "the list form is for raw messages; a chat needs a dict with a round",
        )),
    }
}

/// What is known of a chat's requests before there are any: text or messages, and what these hold.
///
/// # Errors
///
/// `TemplateError` for a meta template that no chat gets along with.
pub fn chat_shape(config: &Config) -> Result<Request> {
    let meta = rounds(config)?;
    if let Some(meta) = meta {
        check_chat(meta, config.output == Output::Text)?;
    }
    let (key, roles) = match config.output {
        Output::Text => return Ok(Request::Text(Vec::new())),
        Output::PromptList => ("content", vec![Value::from("user")]),
        Output::Messages | Output::MessagesJson => ("prompt", api_roles(meta)),
    };
    let message = |role| Message::Dict(vec![(Arc::from("role"), Slot::Const(role)), (key.into(), Slot::Text(vec![]))]);
    Ok(Request::List(roles.into_iter().map(message).collect()))
}

/// The request of a history: who speaks in each message, and whether the message has a text at all.
///
/// # Errors
///
/// `RenderError` for an empty history as text; `TemplateError` for whatever the parser refuses.
pub fn chat_request(config: &Config, history: &[(&Value, bool)]) -> Result<Request> {
    let said: Vec<Said> = history
        .iter()
        .zip(0..)
        .map(|((role, speaks), slot)| {
            let text = Text::example(slot, 0).finished();
            (*role, speaks.then_some(text))
        })
        .collect();
    match config.output {
        Output::PromptList => {
            let message = |(role, text): Said| {
                let content = match text {
                    Some(text) => Slot::Text(vec![Piece::new(text)]),
                    None => Slot::Const(Value::None),
                };
                Message::Dict(vec![(Arc::from("role"), Slot::Const(role.clone())), (Arc::from("content"), content)])
            };
            Ok(Request::List(said.into_iter().map(message).collect()))
        }
        // The harness's parser gives an empty list, which a text model can't take and a string column can't hold.
        Output::Text if said.is_empty() => Err(Error::render(
            Code::NoMessages,
            "the chat begins with the assistant, so there is no message to make a text of",
        )),
        Output::Text => Ok(Request::Text(chat_text(said, rounds(config)?)?)),
        Output::Messages | Output::MessagesJson => Ok(Request::List(chat_messages(said, rounds(config)?)?)),
    }
}
