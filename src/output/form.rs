//! The definition of an output form.

use super::chat_form::ChatForm;
use super::role_names::RoleNames;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::role::{ChatMessage, Message, MetaTemplate, Piece, Request, Rounds};
use crate::template::Item;

/// The rendered form of a sample, before the model's side is added.
pub enum Prompt<'a> {
    /// A text.
    Text(Vec<Piece>),
    /// The items of a dialogue, between section markers; true if the model generates after it.
    Dialogue(Vec<Item>, bool),
    /// Raw messages.
    Messages {
        /// The messages.
        messages: Vec<Message>,
        /// True if the messages contain examples of a dialogue, between their section markers.
        has_sections: bool,
    },
    /// The messages of a chat.
    Chat(Vec<ChatMessage<'a>>),
}

/// The model's side of a prompt.
#[derive(Clone, Copy)]
pub struct ModelSide<'a> {
    /// The meta template.
    pub meta: Option<&'a MetaTemplate>,
    /// The harness whose rules apply.
    pub dialect: Dialect,
    /// The names that chat APIs have for the configuration's roles.
    pub roles: &'a RoleNames,
}

impl<'a> ModelSide<'a> {
    /// Return the meta template's rounds, for a chat.
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

/// The harness's parser that a form uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// No parser: the meta template isn't used.
    None,
    /// The parser of language models.
    Text,
    /// The parser of APIs.
    Messages,
}

/// A form of output.
#[derive(Debug)]
pub struct OutputForm {
    /// The form's name, as users write it.
    pub name: &'static str,
    /// The parser that makes the form's prompts.
    pub parser: Parser,
    /// True if each request is written as a JSON string.
    pub json: bool,
    /// True if the form changes messages depending on their roles or contents. Messages of a column are then expanded
    /// first, one by one.
    pub changes_messages: bool,
    /// The form of messages for a chat API; None if messages stay as the harness's parser writes them.
    pub chat: Option<&'static ChatForm>,
    /// Turns a prompt into a request.
    pub(super) request: for<'a> fn(ModelSide<'a>, Prompt<'a>) -> Result<Request>,
    /// Changes the request after a harness's last additions to it, for forms that build on messages.
    pub(super) finish: Option<Finish>,
}

/// A change of a request of messages for a chat API.
pub(super) type Finish = fn(&ChatForm, ModelSide, Request) -> Result<Request>;

impl OutputForm {
    /// Return true if `key` is the key of a message's content for a chat API.
    pub fn is_chat_content(&self, key: &str) -> bool {
        self.chat.is_some_and(|chat| chat.content == key)
    }

    /// Turn a prompt into a request.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a prompt that the harness's parser refuses; `RenderError` for a chat without messages as
    /// text.
    pub fn request(&self, side: ModelSide, prompt: Prompt) -> Result<Request> {
        if let Prompt::Dialogue(items, _) = &prompt
            && let Some(error) =
                items.iter().find_map(|item| if let Item::Bad(error) = item { Some(error) } else { None })
        {
            return Err(error.clone());
        }
        match prompt {
            // These messages aren't expanded yet. They come here again, and a whole request can't be changed twice.
            Prompt::Messages { messages, has_sections: false } if self.changes_messages && has_columns(&messages) => {
                Ok(Request::List(messages))
            }
            prompt => (self.request)(side, prompt),
        }
    }

    /// Return the final request. Messages of a column have to be expanded before.
    ///
    /// # Errors
    ///
    /// The same as those of the form.
    pub fn finished(&self, side: ModelSide, request: Request) -> Result<Request> {
        match (self.chat, self.finish) {
            (Some(chat), Some(finish)) => finish(chat, side, request),
            _ => Ok(request),
        }
    }
}

/// Return true if some messages come from a column of the sample.
pub(super) fn has_columns(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message, Message::Expand { .. }))
}

impl PartialEq for OutputForm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
