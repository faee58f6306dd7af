//! What a form of output is.

use super::role_names::RoleNames;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::role::{ChatMessage, Message, MetaTemplate, Piece, Request, Rounds};
use crate::template::Item;

/// What renders a sample gave, before a model's side comes in.
pub enum Prompt<'a> {
    /// A text.
    Text(Vec<Piece>),
    /// The items of a dialogue, between section markers; whether the model writes on.
    Dialogue(Vec<Item>, bool),
    /// Raw messages.
    Messages {
        /// The messages.
        messages: Vec<Message>,
        /// Whether examples of a dialogue stand among them, between their section markers.
        has_sections: bool,
    },
    /// The messages of a chat.
    Chat(Vec<ChatMessage<'a>>),
}

/// What a prompt meets on its way out.
#[derive(Clone, Copy)]
pub struct ModelSide<'a> {
    /// The meta template.
    pub meta: Option<&'a MetaTemplate>,
    /// Whose rules.
    pub dialect: Dialect,
    /// What chat APIs call the configuration's roles.
    pub roles: &'a RoleNames,
}

impl<'a> ModelSide<'a> {
    /// The meta template's rounds, where a chat meets it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a meta template in the list form.
    pub fn rounds_for_chat(&self) -> Result<Option<&'a Rounds>> {
        match self.meta {
            None => Ok(None),
            Some(MetaTemplate::Rounds(rounds)) => Ok(Some(rounds)),
            Some(MetaTemplate::Messages(_)) => Err(Error::template(
                Code::WrongMetaTemplateForm,
                "meta_template",
                "the list form is for raw messages; a chat needs a dict with a round",
            )),
        }
    }
}

/// Which of a harness's parsers a form goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// None: the meta template isn't looked at.
    None,
    /// The language models'.
    Text,
    /// The APIs'.
    Messages,
}

/// A form of output.
#[derive(Debug)]
pub struct OutputForm {
    /// Its name, as users give it.
    pub name: &'static str,
    /// Which parser's prompts it has.
    pub parser: Parser,
    /// Whether each request is written as a JSON string.
    pub json: bool,
    /// Whether it changes messages by who speaks, or by what they hold: then those of a column are opened before they come
    /// here, one by one.
    pub changes_messages: bool,
    /// Whether messages are as chat APIs take them: who speaks and what come first, and where a content may be a list of
    /// parts, a text is a list of one.
    pub chat_api: bool,
    /// What a prompt becomes.
    pub(super) request: for<'a> fn(ModelSide<'a>, Prompt<'a>) -> Result<Request>,
    /// What that becomes when all that a harness puts into it is there, where the form goes on from messages.
    pub(super) finish: Option<fn(ModelSide, Request) -> Result<Request>>,
}

impl OutputForm {
    /// The request that a prompt becomes.
    ///
    /// # Errors
    ///
    /// `TemplateError` for whatever the harness's parser refuses; `RenderError` for a chat without messages as text.
    pub fn request(&self, side: ModelSide, prompt: Prompt) -> Result<Request> {
        if let Prompt::Dialogue(items, _) = &prompt
            && let Some(error) =
                items.iter().find_map(|item| if let Item::Bad(error) = item { Some(error) } else { None })
        {
            return Err(error.clone());
        }
        match prompt {
            // Not opened yet: they come again, and whole requests can't be changed twice.
            Prompt::Messages { messages, has_sections: false } if self.changes_messages && has_columns(&messages) => {
                Ok(Request::List(messages))
            }
            prompt => (self.request)(side, prompt),
        }
    }

    /// The request as it leaves; messages that a column brings have to be opened before.
    ///
    /// # Errors
    ///
    /// As the form.
    pub fn finished(&self, side: ModelSide, request: Request) -> Result<Request> {
        match self.finish {
            Some(finish) => finish(side, request),
            None => Ok(request),
        }
    }
}

/// Whether some messages are a column's, which a row brings.
pub(super) fn has_columns(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message, Message::Expand { .. }))
}

impl PartialEq for OutputForm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
