//! Raw messages for a model.

use super::form::{ModelSide, has_columns};
use super::meta_messages::merge_meta;
use crate::error::{Code, Error, Result};
use crate::role::{Message, Request};
use crate::template::keys;

/// Check raw messages, and merge them with the meta template if all of them are known.
///
/// # Errors
///
/// `TemplateError` for a message without role or content, for examples of a dialogue among messages, and for two
/// contents that would have to be joined and aren't both strings.
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
    // If messages of a column have to be known, `crate::render` expands them first.
    if has_columns(&messages) {
        return Ok(Request::List(messages));
    }
    Ok(Request::List(merge_meta(side.meta, messages)?))
}
