//! A form for tests: messages as one text, as a chat template writes them. No form of the product builds on messages in
//! this way yet.

use super::form::{ModelSide, OutputForm, Parser, Prompt};
use super::messages;
use crate::error::Result;
use crate::role::{Message, Piece, Request};
use crate::template::Source;
use crate::value::Value;

pub static FORM: OutputForm = OutputForm {
    name: "one_text",
    parser: Parser::Messages,
    json: false,
    changes_messages: true,
    chat: None,
    request,
    finish: None,
};

fn request(side: ModelSide, prompt: Prompt) -> Result<Request> {
    let messages = match messages::request(side, prompt)? {
        Request::List(messages) => messages,
        other => return Ok(other),
    };
    let mut out = Vec::new();
    for message in &messages {
        let role = message.role().and_then(Value::as_str).unwrap_or_default();
        out.push(Piece::literal(format!("<{role}>"), Source::RoleBegin, None));
        out.extend(message.text().unwrap_or_default().iter().cloned());
    }
    debug_assert!(!messages.iter().any(|message| matches!(message, Message::Expand { .. })), "columns come opened");
    Ok(Request::Text(out))
}
