//! `output="prompt_list"`: the template filled with data, before any meta template.

use std::sync::Arc;

use super::form::{ModelSide, OutputForm, Parser, Prompt};
use crate::error::Result;
use crate::role::{ChatMessage, Message, Piece, Request, Slot, prompt_list};
use crate::template::keys;
use crate::value::Value;

pub(super) static FORM: OutputForm = OutputForm {
    name: "prompt_list",
    parser: Parser::None,
    json: false,
    changes_messages: false,
    chat: None,
    request,
    finish: None,
};

#[allow(clippy::unnecessary_wraps, reason = "other forms refuse some prompts")]
fn request(_: ModelSide, prompt: Prompt) -> Result<Request> {
    Ok(match prompt {
        Prompt::Text(pieces) => Request::Text(pieces),
        Prompt::Dialogue(items, _) => Request::List(prompt_list(items)),
        Prompt::Messages { messages, .. } => Request::List(messages),
        Prompt::Chat(history) => Request::List(history.into_iter().map(message).collect()),
    })
}

/// Return a message of a chat in the inferencer's form.
fn message(ChatMessage { role, text }: ChatMessage) -> Message {
    let content = match text {
        Some(text) => Slot::Text(vec![Piece::new(text)]),
        None => Slot::Const(Value::None),
    };
    Message::Dict(vec![(Arc::from(keys::ROLE), Slot::Const(role.clone())), (Arc::from(keys::CONTENT), content)])
}
