//! A chat for a model: `ChatInferencer`'s own parsers, which know roles and no rounds.

use std::sync::Arc;

use super::meta::{RoundItem, Rounds};
use super::request::{Message, Piece, Slot};
use crate::error::{Code, Error, Result};
use crate::template::{Entry, Source, Text, Turn, keys};
use crate::value::Value;

/// A message of a chat.
pub struct ChatMessage<'a> {
    /// Who speaks, in OpenAI's words.
    pub role: &'a Value,
    /// What; None where the data has a null.
    pub text: Option<Text>,
}

/// A meta template's role by the name that it has in chats.
fn chat_name(name: &Value) -> Value {
    match name.as_str() {
        Some("SYSTEM") => "system".into(),
        Some("HUMAN") => "user".into(),
        Some("BOT") => "assistant".into(),
        _ => name.clone(),
    }
}

/// The meta template's role that speaks as `role`; where two have one name, the later.
fn speaking_role<'a>(meta: &'a Rounds, role: &Value) -> Option<&'a Turn> {
    meta.roles.iter().rev().find(|(name, _)| chat_name(name).equals(role)).map(|(_, turn)| turn)
}

/// Check a meta template for chats.
///
/// # Errors
///
/// `TemplateError` for a string among the rounds and, for text, where nobody speaks as the assistant, or its `begin` is
/// no text.
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

/// The text of a chat: `begin`, content and `end` of each message, then the assistant's `begin`; the contents joined by
/// newlines where the meta template has no roles.
///
/// # Errors
///
/// `TemplateError` for a `begin` or `end` that is no string, or holds a token id without text.
pub fn chat_text(chat: Vec<ChatMessage>, meta: Option<&Rounds>) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let Some(meta) = meta.filter(|meta| !meta.roles.is_empty()) else {
        for (n, ChatMessage { text, .. }) in chat.into_iter().enumerate() {
            if n > 0 {
                // Unlike a dialogue's, empty ones too.
                out.push(Piece::literal("\n", Source::Separator, None));
            }
            out.push(Piece::new(text.unwrap_or_default()));
        }
        return Ok(out);
    };
    for ChatMessage { role, text } in chat {
        let own = speaking_role(meta, role);
        out.push(around(own, keys::BEGIN, Source::RoleBegin, role)?);
        out.push(Piece::new(text.unwrap_or_default()));
        out.push(around(own, keys::END, Source::RoleEnd, role)?);
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
                format!("{}.{key}", turn.place),
                format!("expected a str for {key:?}, found {}", other.type_name()),
            ));
        }
        Some((_, Entry::Bad(error))) => return Err(error.clone()),
        _ => Arc::default(),
    };
    Ok(Piece::literal(text, source, role.as_text()))
}

/// The messages of a chat for an API.
///
/// # Errors
///
/// `TemplateError` for a role of the meta template that has no `api_role`.
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
        Some(own) => own.constant(keys::API_ROLE).cloned().ok_or_else(|| {
            Error::template(Code::MissingApiRole, &*own.place, "the role needs an api_role for messages")
        }),
    }
}

/// Roles of chats that between them have every `api_role` that a message can have; the last is none of the meta template's.
pub fn roles_for_type(meta: Option<&Rounds>) -> Vec<Value> {
    let own = meta.map_or(&[][..], |meta| &meta.roles).iter();
    let named = own.filter(|(_, turn)| turn.constant(keys::API_ROLE).is_some()).map(|(name, _)| chat_name(name));
    let spoken = |role: &Value| {
        meta.and_then(|meta| speaking_role(meta, role)).is_some_and(|own| own.constant(keys::API_ROLE).is_some())
    };
    named.filter(spoken).chain([Value::from("")]).collect()
}
