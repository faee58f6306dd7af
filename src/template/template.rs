//! A template of any family, read from its value.

use super::chat::Chat;
use super::column_tokens::ColumnTokens;
use super::media_template::MediaTemplate;
use super::prompt::PromptTemplate;
use super::raw::RawTemplate;
use super::template_keys::{RAW_KEYS, check_keys, family_name, optional_string, prompt_keys};
use super::text::Source;
use super::turns::Turns;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result, excerpt};
use crate::suggest::{did_you_mean, misspelling_hint};
use crate::value::Value;

/// A template of any family.
#[derive(Clone, Debug)]
pub enum Template {
    /// `PromptTemplate`: a string, a dialogue or a label map.
    Prompt(PromptTemplate),
    /// `RawPromptTemplate`: OpenAI-style messages.
    Raw(RawTemplate),
    /// `MultiTurnPromptTemplate`: a conversation.
    Turns(Turns),
    /// `MMPromptTemplate`: a dialogue with images, videos and sounds.
    Media(MediaTemplate),
    /// No template: the examples, and columns joined by spaces.
    Columns(Vec<String>),
    /// The configuration of `ChatInferencer`'s chats, with its prompt template, if there is one.
    Chat(Chat),
}

impl Template {
    /// Read `{"type": ..., "template": ..., ...}` or the bare template.
    ///
    /// # Errors
    ///
    /// `TemplateError` with the path under `path`, for a value that the harness's constructor refuses.
    pub fn parse(value: &Value, path: &str, source: Source, dialect: Dialect) -> Result<Self> {
        let bare = |value: &Value| {
            if dialect.needs_column_tokens() {
                return Err(Error::template(
                    Code::MissingKey,
                    path,
                    "the template needs a column_token_map; give it as a dict",
                ));
            }
            Ok(Self::Prompt(PromptTemplate::parse(value, path, path, None, None, source, dialect)?))
        };
        let Value::Dict(items) = value else {
            return match value {
                Value::Str(_) => bare(value),
                Value::List(_) => {
                    Ok(Self::Raw(RawTemplate::parse(value, path, true, "</E>", source)?.with_optional()?))
                }
                _ => Err(Error::template(
                    Code::WrongType,
                    path,
                    format!("expected a template, found {}", value.type_name()),
                )),
            };
        };
        let keys: Vec<&str> = items.iter().filter_map(|(k, _)| k.as_str()).collect();
        let only = |allowed: &[&str]| keys.len() == items.len() && keys.iter().all(|k| allowed.contains(k));
        let family = match value.get("type") {
            Some(t) => family_name(t, &format!("{path}.type"))?,
            None if keys.contains(&"template") && only(prompt_keys(dialect)) => "PromptTemplate".to_owned(),
            None if keys.contains(&"messages") && only(RAW_KEYS) => "RawPromptTemplate".to_owned(),
            None => return bare(value),
        };
        let required = |key: &str| {
            value.get(key).ok_or_else(|| {
                let hint = misspelling_hint(key, value.names(), &[]);
                Error::template(
                    Code::MissingKey,
                    path,
                    format!("{family} needs the key {key:?}, which is missing{hint}"),
                )
            })
        };
        match family.as_str() {
            "PromptTemplate" | "MultiTurnPromptTemplate" | "MMPromptTemplate" => {
                if dialect.column_tokens() && family != "PromptTemplate" {
                    let message = format!("this dialect has no {family}; it has PromptTemplate");
                    return Err(Error::template(Code::UnsupportedClass, format!("{path}.type"), message));
                }
                check_keys(items, prompt_keys(dialect), path, &family)?;
                let token = |key| optional_string(value, key, path);
                let inner = format!("{path}.template");
                let (ice, sep) = (token("ice_token")?, token("sep_token")?);
                let tokens =
                    if dialect.column_tokens() { ColumnTokens::parse(value, path, ice.as_deref())? } else { None };
                if dialect.needs_column_tokens() {
                    required("column_token_map")?;
                }
                let prompt = PromptTemplate::parse(required("template")?, &inner, path, ice, sep, source, dialect)?;
                let prompt = PromptTemplate { tokens, ..prompt };
                Ok(match family.as_str() {
                    "PromptTemplate" => Self::Prompt(prompt),
                    "MMPromptTemplate" => Self::Media(MediaTemplate::new(prompt, source)?),
                    _ => Self::Turns(Turns::new(prompt)?),
                })
            }
            "RawPromptTemplate" => {
                check_keys(items, RAW_KEYS, path, &family)?;
                let format = value.get("format_variables").is_none_or(Value::truthy);
                let ice = match value.get("ice_token") {
                    None => Some("</E>".to_owned()),
                    Some(_) => optional_string(value, "ice_token", path)?,
                };
                let inner = format!("{path}.messages");
                // A null token equals no string, so an empty token is used, which never stands among the messages.
                let mut raw = RawTemplate::parse(required("messages")?, &inner, format, "", source)?;
                raw.ice_token = ice;
                Ok(Self::Raw(raw))
            }
            _ => Err(Error::template(
                Code::UnsupportedClass,
                format!("{path}.type"),
                format!(
                    "{} is not supported; supported are PromptTemplate, RawPromptTemplate, MultiTurnPromptTemplate and \
                     MMPromptTemplate{}",
                    excerpt(&family),
                    did_you_mean(&family, FAMILIES)
                ),
            )),
        }
    }

    /// Make the configuration of `ChatInferencer`'s chats from the reader's columns and the prompt template, if there
    /// is one.
    ///
    /// # Errors
    ///
    /// The same as those of [`Chat::new`].
    pub fn chat(prompt: Option<Self>, input_columns: Vec<String>, output_column: Option<String>) -> Result<Self> {
        let prompt = prompt.map(|template| match template {
            Self::Prompt(prompt) => Ok(prompt),
            _ => Err(Error::template(
                Code::WrongTemplateForm,
                "prompt_template",
                "a chat's template is a PromptTemplate: the harness drops the messages of any other",
            )),
        });
        Ok(Self::Chat(Chat::new(prompt, input_columns, output_column)?))
    }

    /// Return the ICE token, if the template has one.
    pub fn ice_token(&self) -> Option<&str> {
        match self {
            Self::Prompt(p) => p.ice_token.as_deref(),
            Self::Raw(r) => r.ice_token.as_deref(),
            Self::Turns(t) => t.ice_token.as_deref(),
            Self::Media(m) => m.ice_token.as_deref(),
            Self::Columns(_) | Self::Chat(_) => None,
        }
    }

    /// Return the keys of a template that is a dict.
    pub fn labels(&self) -> &[Value] {
        match self {
            Self::Prompt(p) => p.keys.as_deref().unwrap_or_default(),
            _ => &[],
        }
    }

    /// Add every literal that fields may be filled into, to find the columns that it names.
    pub fn literals(&self, out: &mut Vec<String>) {
        match self {
            Self::Prompt(p) => p.literals(out),
            Self::Raw(r) => r.literals(out),
            Self::Media(m) => m.literals(out),
            Self::Columns(names) => out.extend(names.iter().map(|name| format!("{{{name}}}"))),
            // A conversation is read from two columns, whatever its template names.
            Self::Turns(_) => out.extend(["{question}".to_owned(), "{answer}".to_owned()]),
            // A chat is made of these columns only.
            Self::Chat(chat) => chat.literals(out),
        }
    }
}

/// The classes that are templates.
const FAMILIES: [&str; 4] = ["PromptTemplate", "RawPromptTemplate", "MultiTurnPromptTemplate", "MMPromptTemplate"];
