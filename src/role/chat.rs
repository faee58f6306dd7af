//! The parsers of `ChatInferencer`, which know roles but no rounds.

use std::sync::Arc;

use super::meta::{RoundItem, Rounds};
use super::request::{Message, Piece, Slot};
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Source, Text, Turn, keys};
use crate::value::Value;

/// A message of a chat.
pub struct ChatMessage<'a> {
    /// The role, in OpenAI's words.
    pub role: &'a Value,
    /// The text; None for a null in the data.
    pub text: Option<Text>,
}

/// Return the name that a role of the meta template has in chats.
fn chat_name(name: &Value) -> Value {
    match name.as_str() {
        Some("SYSTEM") => "system".into(),
        Some("HUMAN") => "user".into(),
        Some("BOT") => "assistant".into(),
        _ => name.clone(),
    }
}

/// Return the meta template's role that speaks as `role`; if two roles have one name, the later.
fn speaking_role<'a>(meta: &'a Rounds, role: &Value) -> Option<&'a Turn> {
    meta.roles.iter().rev().find(|(name, _)| chat_name(name).equals(role)).map(|(_, turn)| turn)
}

/// Check a meta template for chats.
///
/// # Errors
///
/// `TemplateError` for a string among the rounds; for text also if no role speaks as the assistant, or if its `begin`
/// isn't a text.
pub fn check_chat(meta: &Rounds, for_text: bool) -> Result<()> {
    if meta.round.iter().any(|item| matches!(item, RoundItem::Str(_))) {
        return Err(Error::template(
            Code::StringWithoutRole,
            "meta_template.round",
            "a chat has no place for a str without a role",
        ));
    }
    if for_text && !meta.roles.is_empty() && speaking_role(meta, &"assistant".into()).is_none() {
        return Err(Error::template(
            Code::MissingRole,
            "meta_template",
            format!("a chat ends with the assistant's begin, so it needs the role 'BOT'; it has {}", meta.names()),
        ));
    }
    if for_text && !meta.roles.is_empty() {
        let assistant = Value::from("assistant");
        around(speaking_role(meta, &assistant), keys::BEGIN, Source::RoleBegin, &assistant)?;
    }
    Ok(())
}

/// Return the text of a chat: `begin`, content and `end` of each message, then the assistant's `begin`. If the meta
/// template has no roles, the contents are joined by newlines.
///
/// # Errors
///
/// `TemplateError` for a `begin` or `end` that isn't a string or has a token id without text.
pub fn chat_text(chat: Vec<ChatMessage>, meta: Option<&Rounds>) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let Some(meta) = meta.filter(|meta| !meta.roles.is_empty()) else {
        for (n, ChatMessage { text, .. }) in chat.into_iter().enumerate() {
            if n > 0 {
                // Empty contents count, in contrast to those of a dialogue.
                out.push(Piece::literal("\n", Source::Separator, None));
            }
            out.push(Piece::new(text.unwrap_or_default()));
        }
        return Ok(out);
    };
    for ChatMessage { role, text } in chat {
        let speaker = speaking_role(meta, role);
        out.push(around(speaker, keys::BEGIN, Source::RoleBegin, role)?);
        out.push(Piece::new(text.unwrap_or_default()));
        out.push(around(speaker, keys::END, Source::RoleEnd, role)?);
    }
    let assistant = Value::from("assistant");
    out.push(around(speaking_role(meta, &assistant), keys::BEGIN, Source::RoleBegin, &assistant)?);
    Ok(out)
}

fn around(speaker: Option<&Turn>, key: &str, source: Source, role: &Value) -> Result<Piece> {
    let text = match speaker.and_then(|turn| Some((turn, turn.get(key)?))) {
        Some((_, Entry::Const(Value::Str(s)))) => s.clone(),
        Some((turn, Entry::Const(other))) if other.truthy() => {
            return Err(Error::template(
                Code::WrongType,
                format!("{}.{key}", turn.path),
                format!("expected a str for {key:?}, found {}", other.type_name()),
            ));
        }
        Some((_, Entry::Bad(error))) => return Err(error.clone()),
        _ => Arc::default(),
    };
    Ok(Piece::literal(text, source, role.as_text()))
}

/// Return the messages of a chat for an API.
///
/// # Errors
///
/// `TemplateError` for a role of the meta template without an `api_role`.
pub fn chat_messages(chat: Vec<ChatMessage>, meta: Option<&Rounds>) -> Result<Vec<Message>> {
    let message = |ChatMessage { role, text }: ChatMessage| {
        let slot = Slot::Text(vec![Piece::new(text.unwrap_or_default())]);
        Ok(Message::Dict(vec![
            (Arc::from(keys::ROLE), Slot::Const(api_role(role, meta)?)),
            (Arc::from(keys::PROMPT), slot),
        ]))
    };
    chat.into_iter().map(message).collect()
}

fn api_role(role: &Value, meta: Option<&Rounds>) -> Result<Value> {
    let Some(meta) = meta else {
        return Ok(match role.as_str() {
            Some("system") => "SYSTEM".into(),
            Some("user") => "HUMAN".into(),
            Some("assistant") => "BOT".into(),
            _ => role.clone(),
        });
    };
    match speaking_role(meta, role) {
        None => Ok(role.clone()),
        Some(turn) => turn.constant(keys::API_ROLE).cloned().ok_or_else(|| {
            Error::template(Code::MissingApiRole, &*turn.path, "the role needs an api_role for messages")
        }),
    }
}

/// Return roles of chats that together have every `api_role` of a message. The last role isn't in the meta template.
pub fn roles_for_type(meta: Option<&Rounds>) -> Vec<Value> {
    let roles = meta.map_or(&[][..], |meta| &meta.roles).iter();
    let named = roles.filter(|(_, turn)| turn.constant(keys::API_ROLE).is_some()).map(|(name, _)| chat_name(name));
    let spoken = |role: &Value| {
        meta.and_then(|meta| speaking_role(meta, role)).is_some_and(|turn| turn.constant(keys::API_ROLE).is_some())
    };
    named.filter(spoken).chain([Value::from("")]).collect()
}
