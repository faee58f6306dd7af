//! Messages in the form of a chat API.

use std::sync::Arc;

use super::chat_form::ChatForm;
use super::form::{ModelSide, has_columns};
use super::role_names;
use crate::error::{Code, Error, Result};
use crate::role::{Element, Message, MetaTemplate, Request, Slot};
use crate::template::keys;
use crate::value::Value;

/// Turn the result of an API's parser into the form of its chat API.
///
/// # Errors
///
/// `TemplateError` for a role without a name there, and for a message without a role or content; `RenderError` if such
/// a message comes from a column.
pub(super) fn finish(chat: &ChatForm, side: ModelSide, request: Request) -> Result<Request> {
    let messages = match request {
        Request::Text(pieces) => return Ok(user(chat, Slot::Text(pieces))),
        Request::Parts(media) => {
            let [media] = &media[..] else {
                return Err(Error::template(
                    Code::UnjoinableParts,
                    "prompt_template",
                    "several turns show parts, and without a meta template nobody speaks them; give one, such as \
                     meta_template=\"aisbench:VLLMCustomAPIChat\"",
                ));
            };
            return Ok(user(chat, Slot::Parts(media.clone())));
        }
        Request::List(messages) if has_columns(&messages) => return Ok(Request::List(messages)),
        Request::List(messages) => messages,
    };
    if let Some(parts) = roleless_parts(&messages) {
        return Ok(user(chat, Slot::Const(Value::List(parts))));
    }
    let message = |(n, message)| match message {
        Message::Dict(entries) => dict(chat, side, entries, begins(side, n)),
        Message::Element(element) => renamed(chat, side, element),
        Message::Bare(_) => Err(Error::template(
            Code::StringWithoutRole,
            "meta_template.begin",
            "a str without a role can't stand among messages, and a harness's OpenAI models fail at it; give it a role, \
             as {\"role\": \"SYSTEM\", \"prompt\": ...}",
        )),
        Message::Expand { .. } => Err(Error::template(Code::InternalError, "output", "columns come opened")),
    };
    Ok(Request::List(messages.into_iter().enumerate().map(message).collect::<Result<_>>()?))
}

/// Return a request for a text, or for parts without a role.
fn user(chat: &ChatForm, content: Slot) -> Request {
    Request::List(vec![Message::Dict(vec![
        (keys::ROLE.into(), Slot::Const(chat.user.into())),
        (chat.content.into(), content),
    ])])
}

/// Return the parts of a dialogue without a meta template, if they are in the configuration.
fn roleless_parts(messages: &[Message]) -> Option<Vec<Value>> {
    let part = |message: &Message| {
        let Message::Dict(entries) = message else { return None };
        let entry = |(key, slot): &(Arc<str>, Slot)| match slot {
            Slot::Const(value) if &**key != keys::ROLE => Some((Value::Str(key.clone()), value.clone())),
            _ => None,
        };
        entries.iter().map(entry).collect::<Option<Vec<_>>>().map(Value::Dict)
    };
    messages.iter().map(part).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// Return true if a message is the meta template's `begin`.
fn begins(side: ModelSide, n: usize) -> bool {
    match side.meta {
        Some(MetaTemplate::Rounds(meta)) => n == 0 && meta.begin.as_ref().is_some_and(Value::truthy),
        _ => false,
    }
}

fn dict(chat: &ChatForm, side: ModelSide, entries: Vec<(Arc<str>, Slot)>, begins: bool) -> Result<Message> {
    let lacking = |key: &str| {
        let path = if begins { "meta_template.begin" } else { "prompt_template" };
        Error::template(
            Code::IncompleteMessage,
            path,
            format!("a message needs a role and what it says; it lacks {key:?}"),
        )
    };
    let (mut role, mut content, mut prompt, mut others) = (None, None, None, Vec::new());
    for (key, slot) in entries {
        match &*key {
            keys::ROLE => role = Some(slot),
            keys::CONTENT => content = Some(slot),
            keys::PROMPT | keys::PARTS if prompt.is_none() => prompt = Some((key, slot)),
            _ => others.push((key, slot)),
        }
    }
    let Some(Slot::Const(role)) = role else { return Err(lacking(keys::ROLE)) };
    let name = side.roles.name(chat, &role, side.meta).map_err(|message| {
        let path = if begins { "meta_template.begin.role".to_owned() } else { role_names::role_path(&role, side.meta) };
        Error::template(Code::UnmappedRole, path, message)
    })?;
    // For a message in the harness's own form, OpenCompass sends only the role and the content.
    let is_raw = content.is_some();
    let body = match (content, prompt) {
        (Some(body), prompt) => {
            others.extend(prompt);
            body
        }
        (None, Some((_, body))) => body,
        (None, None) => return Err(lacking(keys::PROMPT)),
    };
    let body = match body {
        Slot::Const(Value::List(parts)) if side.dialect.rewrites_parts() => {
            Slot::Const(Value::List(parts.iter().map(chat_part).collect()))
        }
        body => body,
    };
    let mut out = vec![(keys::ROLE.into(), Slot::Const(Value::Str(name))), (chat.content.into(), body)];
    if is_raw || side.dialect.keeps_keys_of_turns() {
        out.extend(others);
    }
    Ok(Message::Dict(out))
}

/// Return a message of a column with the API's name of its role.
fn renamed(chat: &ChatForm, side: ModelSide, element: Element) -> Result<Message> {
    let name = side
        .roles
        .name(chat, &element.role, side.meta)
        .map_err(|message| Error::render(Code::UnmappedRole, message).in_column(&*element.column))?;
    let renamed = (element.role.as_str() != Some(&*name)).then_some(name);
    Ok(Message::Element(Element { renamed, ..element }))
}

/// Return a part of a raw message as OpenCompass sends it: texts without further keys, images under `image_url`. An
/// image's file isn't read.
fn chat_part(part: &Value) -> Value {
    let dict = |entries: Vec<(&str, Value)>| {
        Value::Dict(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
    };
    let url = |url: &Value| match url {
        Value::Dict(_) => url.clone(),
        other => dict(vec![("url", other.clone())]),
    };
    match (part.get("type").and_then(Value::as_str), part.get("text"), part.get("image_url")) {
        (Some("text"), Some(text), _) => dict(vec![("type", "text".into()), ("text", text.clone())]),
        (Some("image" | "image_url"), _, Some(image)) => {
            dict(vec![("type", "image_url".into()), ("image_url", url(image))])
        }
        _ => part.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rewritten_as_opencompass_does() {
        let part = |entries: &[(&str, &str)]| {
            Value::Dict(entries.iter().map(|(key, value)| (Value::from(*key), Value::from(*value))).collect())
        };
        let text = chat_part(&part(&[("type", "text"), ("text", "a"), ("detail", "b")]));
        assert_eq!(text.to_string(), "{'type': 'text', 'text': 'a'}");
        let image = chat_part(&part(&[("type", "image"), ("image_url", "https://x")]));
        assert_eq!(image.to_string(), "{'type': 'image_url', 'image_url': {'url': 'https://x'}}");
        assert_eq!(chat_part(&image), image);
        let other = part(&[("type", "input_audio"), ("data", "x")]);
        assert_eq!(chat_part(&other), other);
    }
}
