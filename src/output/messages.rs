//! `output="messages"`: what an API's parser returns.

use super::form::{ModelSide, OutputForm, Parser, Prompt};
use super::meta_messages::merge_meta;
use super::text::{without_meta, wrong_meta_form};
use crate::error::{Code, Error, Result};
use crate::role::{Message, MetaTemplate, Request, chat_messages, joined_parts, to_messages};
use crate::template::{Item, keys};

pub(super) static FORM: OutputForm = OutputForm { name: "messages", parser: Parser::Messages, json: false, request };

/// The messages of a prompt; a text stays one, and so does a dialogue that meets no meta template.
///
/// # Errors
///
/// `TemplateError` for whatever the API's parser refuses.
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

/// Raw messages for a model: complete, and merged with the meta template where all of them are known.
///
/// # Errors
///
/// `TemplateError` for a message without role or content, for examples of a dialogue among messages, and where two contents
/// that are no strings would have to be joined.
pub(super) fn raw_messages(side: ModelSide, messages: Vec<Message>, has_sections: bool) -> Result<Request> {
    if has_sections {
        return Err(Error::template(
            Code::IncompatibleExamples,
            "ice_template",
            "examples of a dialogue can't stand among raw messages; give the ICE template as a RawPromptTemplate",
        ));
    }
    for message in &messages {
        let complete = message.get(keys::ROLE).is_some() && message.get(keys::CONTENT).is_some();
        if !complete && matches!(message, Message::Dict(_) | Message::Bare(_)) {
            let message = "a message lacks role or content";
            return Err(Error::template(Code::IncompleteMessage, "prompt_template", message));
        }
    }
    // Messages of a column are opened first where they have to be known (`crate::render`).
    if messages.iter().any(|m| matches!(m, Message::Expand { .. })) {
        return Ok(Request::List(messages));
    }
    Ok(Request::List(merge_meta(side.meta, messages)?))
}
