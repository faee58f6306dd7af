//! `output="messages_json"`: messages as one JSON string a request, for what Arrow's types can't hold.

use super::form::{OutputForm, Parser};
use super::messages;

pub(super) static FORM: OutputForm = OutputForm {
    name: "messages_json",
    parser: Parser::Messages,
    json: true,
    changes_messages: false,
    chat_api: false,
    request: messages::request,
    finish: None,
};
