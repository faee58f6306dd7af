//! Turns prompts into requests: every request passes the output form and the checks of this file.

use super::config::Config;
use super::example::between;
use crate::error::Result;
use crate::output::{ModelSide, Parser, Prompt};
use crate::role::{Message, MetaTemplate, Piece, Request};

/// Turn a prompt into a request.
///
/// # Errors
///
/// `TemplateError` for a prompt that the parser refuses, and for a `prompt_eos_token` that isn't a string.
pub(super) fn to_request(config: &Config, prompt: Prompt) -> Result<Request> {
    let request = unfinished(config, prompt)?;
    let request = config.output.finished(model_side(config), request)?;
    // Pieces share their texts until they are written, so a small configuration can ask for a column a million times.
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

/// Return the request of messages whose roles come from a row: raw messages of a column.
///
/// # Errors
///
/// The same as those for messages of the configuration.
pub fn expanded_request(config: &Config, messages: Vec<Message>) -> Result<Request> {
    to_request(config, Prompt::Messages { messages, has_sections: false })
}

/// Return a request with the type of messages whose roles aren't known yet.
///
/// # Errors
///
/// The same as those for messages of the configuration.
pub fn request_shape(config: &Config, messages: Vec<Message>) -> Result<Request> {
    let mut request = unfinished(config, Prompt::Messages { messages, has_sections: false })?;
    if let Request::List(messages) = &mut request {
        for message in messages {
            if let Message::Element(element) = message {
                // Any role will do, because all roles are strings.
                element.role = "user".into();
            }
        }
    }
    config.output.finished(model_side(config), request)
}

/// Return true if messages of a column have to be expanded, because the result depends on their roles.
pub fn expands_columns(config: &Config) -> bool {
    let merges = matches!(&config.meta, Some(MetaTemplate::Messages(items)) if !items.is_empty());
    config.output.changes_messages || config.output.parser == Parser::Messages && merges
}

/// Return the model's side of a configuration.
pub(super) fn model_side(config: &Config) -> ModelSide<'_> {
    ModelSide { meta: config.meta.as_ref(), dialect: config.dialect, roles: &config.roles }
}
