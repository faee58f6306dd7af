//! The one door: every request leaves through the form of output, and gets what comes behind it.

use super::config::Config;
use super::example::between;
use crate::error::Result;
use crate::output::{ModelSide, Parser, Prompt};
use crate::role::{Message, MetaTemplate, Piece, Request};

/// The request that a prompt becomes, whatever rendered it.
///
/// # Errors
///
/// `TemplateError` for whatever the parser refuses, and for a `prompt_eos_token` that is no string.
pub(super) fn leave(config: &Config, prompt: Prompt) -> Result<Request> {
    let request = unfinished(config, prompt)?;
    let request = config.output.finished(model_side(config), request)?;
    // Pieces share what they say until they are written; a column of a kilobyte can be asked for a million times.
    let bytes = request.literal_bytes();
    config.limits.check_request(bytes)?;
    Ok(request)
}

fn unfinished(config: &Config, prompt: Prompt) -> Result<Request> {
    let mut request = config.output.request(model_side(config), prompt)?;
    let end = &config.retriever.prompt_eos_token;
    if end.truthy()
        && let Request::Text(pieces) = &mut request
    {
        pieces.push(Piece::new(between(end, "prompt_eos_token")?.finalized()));
    }
    Ok(request)
}

/// The request of messages whose roles came with a row: raw messages that a column brought.
///
/// # Errors
///
/// As for messages of the configuration.
pub fn leave_opened(config: &Config, messages: Vec<Message>) -> Result<Request> {
    leave(config, Prompt::Messages { messages, has_sections: false })
}

/// The request of messages of which it isn't known yet who speaks, for its type.
///
/// # Errors
///
/// As for messages of the configuration.
pub fn leave_shape(config: &Config, messages: Vec<Message>) -> Result<Request> {
    let mut request = unfinished(config, Prompt::Messages { messages, has_sections: false })?;
    if let Request::List(messages) = &mut request {
        for message in messages {
            if let Message::Element(element) = message {
                // Whoever it will be, a name is a name.
                element.role = "user".into();
            }
        }
    }
    config.output.finished(model_side(config), request)
}

/// Whether messages that a column brings have to be opened on their way out: what becomes of them goes by who speaks.
pub fn opens_columns(config: &Config) -> bool {
    let merges = matches!(&config.meta, Some(MetaTemplate::Messages(items)) if !items.is_empty());
    config.output.changes_messages || config.output.parser == Parser::Messages && merges
}

/// The model's side of a configuration.
pub(super) fn model_side(config: &Config) -> ModelSide<'_> {
    ModelSide { meta: config.meta.as_ref(), dialect: config.dialect, roles: &config.roles }
}
