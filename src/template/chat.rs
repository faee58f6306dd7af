//! What `ChatInferencer` makes a chat of: the reader's columns, and a template for one round of it.

use super::keys;
use super::prompt::{Body, Dialogue, PromptTemplate};
use super::text::Text;
use super::turn::{Item, Turn};
use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::value::Value;

/// The name of the column that may hold a chat beside other input columns.
pub const DIALOGUE: &str = "dialogue";

/// A message that a template gives.
#[derive(Clone, Debug)]
pub struct Line {
    /// Who speaks, as OpenAI's messages call it.
    pub role: &'static str,
    /// What is said.
    pub text: Text,
    /// Whether it is a bare string of the template, which the harness leaves out by what it holds.
    pub bare: bool,
}

/// A chat's configuration.
#[derive(Clone, Debug)]
pub struct Chat {
    /// The reader's.
    pub input_columns: Vec<String>,
    /// The reader's.
    pub output_column: Option<String>,
    /// What the template says of one entry. None where there is no template: the input column asks, the output column
    /// answers. An error is for whoever needs the template: a column that holds the chat itself doesn't.
    pub lines: Option<Result<Vec<Line>>>,
}

impl Chat {
    /// The chat of these columns and this prompt template, or why there can't be one.
    ///
    /// # Errors
    ///
    /// `TemplateError` where no table could give a chat: several input columns and neither a template nor a column
    /// `dialogue` among them, or a template that gives no messages.
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

    /// Whether a column of the table takes part.
    pub fn holds(&self, name: &str) -> bool {
        self.input_columns.iter().any(|own| own == name) || self.output_column.as_deref() == Some(name)
    }

    /// Every column that takes part, in braces.
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
            // A configuration's own section markers; whatever else they say goes with them.
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

/// Who speaks; None for roles that a chat doesn't know, whose turns are dropped.
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
