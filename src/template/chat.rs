//! The configuration of `ChatInferencer`'s chats: the reader's columns, and a template for one round.

use super::keys;
use super::prompt::{Body, Dialogue, PromptTemplate};
use super::text::Text;
use super::turn::{Item, Turn};
use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;
use crate::value::Value;

/// The name of the column that may hold a chat next to other input columns.
pub const DIALOGUE: &str = "dialogue";

/// A message of a template.
#[derive(Clone, Debug)]
pub struct Line {
    /// The role, in OpenAI's words.
    pub role: &'static str,
    /// The text.
    pub text: Text,
    /// True if the message is a bare string of the template. The harness drops it depending on its content.
    pub bare: bool,
}

/// A chat's configuration.
#[derive(Clone, Debug)]
pub struct Chat {
    /// The reader's `input_columns`.
    pub input_columns: Vec<String>,
    /// The reader's `output_column`.
    pub output_column: Option<String>,
    /// The template's messages for one entry. None if there is no template; then the input column has the questions,
    /// and the output column the answers. An error matters only if the template is needed, which it isn't for a column
    /// that holds the chat itself.
    pub lines: Option<Result<Vec<Line>>>,
}

impl Chat {
    /// Make the chat of these columns and this prompt template.
    ///
    /// # Errors
    ///
    /// `TemplateError` if no table could give a chat: if there are several input columns and neither a template nor a
    /// column `dialogue`, or if a template gives no messages.
    pub fn new(
        prompt: Option<Result<PromptTemplate>>,
        input_columns: Vec<String>,
        output_column: Option<String>,
    ) -> Result<Self> {
        let chat = Self { input_columns, output_column, lines: prompt.map(|prompt| lines(&prompt?)) };
        let may_hold_the_chat = chat.input_columns.len() == 1 || chat.input_columns.iter().any(|name| name == DIALOGUE);
        match &chat.lines {
            Some(Err(error)) if !may_hold_the_chat => Err(error.clone()),
            None if !may_hold_the_chat => Err(Error::template(
                Code::WrongInputColumns,
                "prompt_template",
                format!(
                    "without a template a chat needs one input column (or one named {DIALOGUE:?}); there are {}",
                    chat.input_columns.len()
                ),
            )),
            _ => Ok(chat),
        }
    }

    /// Return true if a column of the table is used.
    pub fn holds(&self, name: &str) -> bool {
        self.input_columns.iter().any(|column| column == name) || self.output_column.as_deref() == Some(name)
    }

    /// Add every column that is used, in braces.
    pub(super) fn literals(&self, out: &mut Vec<String>) {
        out.extend(self.input_columns.iter().chain(&self.output_column).map(|name| format!("{{{name}}}")));
    }
}

fn lines(prompt: &PromptTemplate) -> Result<Vec<Line>> {
    let lines = match prompt.first()? {
        Body::Bad(error) => return Err(error.clone()),
        Body::Str(text) => vec![Line { role: "user", text: without_tokens(text, prompt), bare: false }],
        Body::Dialogue(dialogue) => spoken(dialogue, prompt)?,
    };
    if lines.is_empty() {
        let spoken = prompt.first()?.turns().filter_map(|turn| turn.constant(keys::ROLE)?.as_str());
        let hint = spoken.map(|role| did_you_mean(role, ["SYSTEM", "HUMAN", "BOT"])).find(|hint| !hint.is_empty());
        let message = format!(
            "it gives no message: only the roles 'SYSTEM', 'HUMAN' and 'BOT' speak in a chat{}",
            hint.unwrap_or_default()
        );
        return Err(Error::template(Code::NoMessages, &prompt.path, message));
    }
    Ok(lines)
}

fn spoken(dialogue: &Dialogue, prompt: &PromptTemplate) -> Result<Vec<Line>> {
    let items = dialogue.begin.iter().flatten().chain(&dialogue.round).chain(dialogue.end.iter().flatten());
    let mut lines = Vec::new();
    for item in items {
        match item {
            Item::Bad(error) => return Err(error.clone()),
            Item::Str(text) => lines.push(Line { role: "user", text: without_tokens(text, prompt), bare: true }),
            // A configuration may have its own section markers; their other keys are dropped with them.
            Item::Turn(turn) if turn.get(keys::SECTION).is_some() => {}
            Item::Turn(turn) => {
                if let Some(role) = role(turn)? {
                    let text = turn.prompt().ok_or_else(|| turn.lacks(keys::PROMPT))?;
                    lines.push(Line { role, text: without_tokens(text, prompt), bare: false });
                }
            }
            Item::Marker { .. } => {}
        }
    }
    Ok(lines)
}

/// Return the role of a turn; None for a role that a chat doesn't have, whose turns are dropped.
fn role(turn: &Turn) -> Result<Option<&'static str>> {
    match turn.constant(keys::ROLE).map(Value::as_str) {
        None => Err(turn.lacks(keys::ROLE)),
        Some(Some("SYSTEM")) => Ok(Some("system")),
        Some(Some("HUMAN")) => Ok(Some("user")),
        Some(Some("BOT")) => Ok(Some("assistant")),
        Some(_) => Ok(None),
    }
}

fn without_tokens(text: &Text, prompt: &PromptTemplate) -> Text {
    let nothing = Text::default();
    let tokens = [prompt.ice_token.as_deref(), prompt.sep_token.as_deref()];
    tokens.into_iter().flatten().fold(text.clone(), |text, token| text.replace(token, &nothing))
}
