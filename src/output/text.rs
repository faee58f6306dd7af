//! `output="text"`: the result of a language model's parser.

use super::dialogue::{without_meta, wrong_meta_form};
use super::form::{ModelSide, OutputForm, Parser, Prompt};
use super::raw_messages::raw_messages;
use crate::error::{Code, Error, Result};
use crate::role::{Message, MetaTemplate, Piece, Request, chat_text, to_text};
use crate::template::Item;

pub(super) static FORM: OutputForm = OutputForm {
    name: "text",
    parser: Parser::Text,
    json: false,
    changes_messages: false,
    chat: None,
    request,
    finish: None,
};

fn request(side: ModelSide, prompt: Prompt) -> Result<Request> {
    match prompt {
        Prompt::Text(pieces) => Ok(Request::Text(pieces)),
        Prompt::Dialogue(items, generation) => Ok(Request::Text(dialogue(side, &items, generation)?)),
        // An empty list goes through the language model's parser. Messages of a column may be empty.
        Prompt::Messages { messages, .. } if messages.iter().any(|m| !matches!(m, Message::Expand { .. })) => {
            Err(Error::template(
                Code::NoTextForm,
                "output",
                "raw messages have no text form: a language model's parser refuses them; use output=\"messages\"",
            ))
        }
        Prompt::Messages { messages, has_sections } => raw_messages(side, messages, has_sections),
        // The harness's parser gives an empty list, which a text model can't take and a string column can't hold.
        Prompt::Chat(history) if history.is_empty() => Err(Error::render(
            Code::NoMessages,
            "the chat begins with the assistant, so there is no message to make a text of",
        )),
        Prompt::Chat(history) => Ok(Request::Text(chat_text(history, side.rounds_for_chat()?)?)),
    }
}

fn dialogue(side: ModelSide, items: &[Item], generation: bool) -> Result<Vec<Piece>> {
    match side.meta {
        None => without_meta(side, items),
        Some(MetaTemplate::Rounds(meta)) => to_text(items, meta, generation),
        Some(MetaTemplate::Messages(_)) => Err(wrong_meta_form()),
    }
}
