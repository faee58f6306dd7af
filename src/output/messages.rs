//! `output="messages"`: the result of an API's parser.

use super::dialogue::{without_meta, wrong_meta_form};
use super::form::{ModelSide, OutputForm, Parser, Prompt};
use super::raw_messages::raw_messages;
use crate::error::Result;
use crate::role::{MetaTemplate, Request, chat_messages, joined_parts, to_messages};
use crate::template::Item;

pub(super) static FORM: OutputForm = OutputForm {
    name: "messages",
    parser: Parser::Messages,
    json: false,
    changes_messages: false,
    chat: None,
    request,
    finish: None,
};

/// Return the messages of a prompt. A text stays a text, and so does a dialogue without a meta template.
///
/// # Errors
///
/// `TemplateError` for a prompt that the API's parser refuses.
pub(super) fn request(side: ModelSide, prompt: Prompt) -> Result<Request> {
    match prompt {
        Prompt::Text(pieces) => Ok(Request::Text(pieces)),
        Prompt::Dialogue(items, generation) => dialogue(side, &items, generation),
        Prompt::Messages { messages, has_sections } => raw_messages(side, messages, has_sections),
        Prompt::Chat(history) => Ok(Request::List(chat_messages(history, side.rounds_for_chat()?)?)),
    }
}

fn dialogue(side: ModelSide, items: &[Item], generation: bool) -> Result<Request> {
    match side.meta {
        None => {
            let speaks_parts = side.dialect.speaks_parts() && !side.dialect.turns_stand_alone();
            let parts = if speaks_parts { joined_parts(items)? } else { None };
            parts.map_or_else(|| Ok(Request::Text(without_meta(side, items)?)), Ok)
        }
        Some(MetaTemplate::Rounds(meta)) => Ok(Request::List(to_messages(items, meta, generation, side.dialect)?)),
        Some(MetaTemplate::Messages(_)) => Err(wrong_meta_form()),
    }
}
