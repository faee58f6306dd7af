//! `output="messages_json"`: the messages of a request as one JSON string, for messages that no Arrow type holds.

use super::form::{OutputForm, Parser};
use super::messages;

pub(super) static FORM: OutputForm = OutputForm {
    name: "messages_json",
    parser: Parser::Messages,
    json: true,
    changes_messages: false,
    chat: None,
    request: messages::request,
    finish: None,
};
