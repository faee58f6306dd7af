//! A configuration, a label and a row's examples → the request, before the sample is known.
//!
//! This is the harness's own course (retriever, template, parser), walked once for each label and each shape of
//! examples instead of once a row; fields stay open all the way.

use std::sync::Arc;

use super::chat::chat_shape;
use super::config::{Config, Mode, Output};
use super::example::{ExampleForm, columns_text};
use super::retriever::Choice;
use super::segment::Substitution;
use super::turns::{InferMode, turn_recipe};
use crate::error::{Code, Error, Result};
use crate::near::meant_as;
use crate::role::{
    Join, MergeMeta, Message, MetaTemplate, Piece, Request, Slot, alone, joined, joined_parts, merge_raw, meta_content,
    meta_message, to_messages, to_text,
};
use crate::template::{
    Body, Dialogue, Entry, Item, Origin, PromptTemplate, RawItem, RawTemplate, Source, Template, Text,
};
use crate::value::Value;

/// The examples of one sample, joined.
#[derive(Clone, Debug)]
pub enum Ice {
    /// String examples with separators and end token.
    Str(Text),
    /// Items to be spliced into a dialogue.
    Items(Vec<Item>),
    /// Raw messages.
    Messages(Vec<RawItem>),
}

/// What one sample renders with `label` (ppl) and these examples.
///
/// # Errors
///
/// `TemplateError` for whatever the harness refuses on its way.
pub fn recipe(config: &Config, label: Option<&Value>, shots: &[ExampleForm]) -> Result<Request> {
    let ice = join_examples(config, shots)?;
    let mut request = body_request(config, label, &ice)?;
    let end = &config.retriever.prompt_eos_token;
    if end.truthy()
        && let Request::Text(pieces) = &mut request
    {
        pieces.push(Piece::new(between(end, "prompt_eos_token")?.finished()));
    }
    Ok(request)
}

fn body_request(config: &Config, label: Option<&Value>, ice: &Ice) -> Result<Request> {
    match config.main() {
        Template::Raw(raw) => {
            check_ice_token(config)?;
            raw_request(config, raw, ice)
        }
        Template::Prompt(prompt) => {
            check_ice_token(config)?;
            prompt_request(config, prompt, label, ice)
        }
        Template::Turns(turns) => {
            check_ice_token(config)?;
            // The examples are ignored; the shape of a conversation shows with its first turn.
            let cut = (config.infer_mode != InferMode::Whole && turns.count(1) > 0).then(|| turns.cut(0));
            turn_recipe(turns, config, 1, cut, false)
        }
        Template::Media(media) => {
            check_ice_token(config)?;
            // The examples are ignored, and nothing is masked.
            dialogue_request(config, sections(&media.dialogue), true)
        }
        Template::Columns(names) => columns_request(config, names, label, ice),
        Template::Chat(_) => chat_shape(config),
    }
}

/// Without a template: the examples, the input columns, and what is to be generated or scored.
fn columns_request(config: &Config, names: &[String], label: Option<&Value>, ice: &Ice) -> Result<Request> {
    let Ice::Str(examples) = ice else { return Err(not_into_string("prompt_template")) };
    let origin = Origin { source: Source::PromptTemplate, ..Origin::default() };
    let mut text = examples.clone().finished();
    text.push(&columns_text(names.iter(), Source::PromptTemplate));
    text.push(&match (config.mode, label) {
        (Mode::Ppl, Some(label)) => Text::lit(format!(" {}", label.python_str()), origin),
        _ => Text::lit(config.gen_field_replace_token.clone(), Origin { source: Source::Masked, ..origin }),
    });
    Ok(Request::Text(vec![Piece::new(text)]))
}

/// An ICE template next to the prompt template wants an ICE token there, even without examples.
fn check_ice_token(config: &Config) -> Result<()> {
    let missing = |path: &str, message: &str| Err(Error::template(Code::MissingIceToken, path, message));
    match (&config.prompt, &config.ice) {
        (Some(prompt), Some(_)) if prompt.ice_token().is_none() && config.dialect.ice_needs_token() => {
            // A dict with a misspelt key is taken for a label map.
            let keys = if let Template::Prompt(prompt) = prompt { prompt.keys.as_deref() } else { None };
            let hint = meant_as("ice_token", keys.unwrap_or_default().iter().filter_map(Value::as_str), &[]);
            let message = "an ICE template is given, so the prompt template needs an ice_token";
            missing("prompt_template.ice_token", &format!("{message}{hint}"))
        }
        // Documented: alone and zero-shot, an ICE template is a prompt template like any other.
        (None, Some(ice))
            if ice.ice_token().is_none()
                && !(config.retriever.choice == Choice::Zero && config.dialect.ice_alone_without_token()) =>
        {
            missing("ice_template.ice_token", "an ICE template that is the prompt template too needs an ice_token")
        }
        _ => Ok(()),
    }
}

fn join_examples(config: &Config, shots: &[ExampleForm]) -> Result<Ice> {
    let (mut separator, mut end) = (config.retriever.ice_separator.clone(), config.retriever.ice_eos_token.clone());
    match &config.ice {
        None if !shots.is_empty() && !config.dialect.renders_without_template() => {
            return Err(Error::template(
                Code::MissingIceTemplate,
                "ice_template",
                "the retriever chooses examples, but there is no ICE template to render them; \
                 give one, or use ZeroRetriever",
            ));
        }
        Some(Template::Raw(_)) => {
            let messages = shots.iter().flat_map(|shot| match shot {
                ExampleForm::Messages(items) => items.clone(),
                _ => Vec::new(),
            });
            return Ok(Ice::Messages(messages.collect()));
        }
        Some(Template::Prompt(ice))
            if matches!(&ice.shape, crate::template::Shape::One(Body::Dialogue(_) | Body::Bad(_))) =>
        {
            (separator, end) = (Value::from(""), Value::from(""));
        }
        _ => {}
    }
    if matches!(shots.first(), Some(ExampleForm::Items(_))) {
        let mut items = Vec::new();
        for shot in shots {
            match shot {
                ExampleForm::Items(own) => {
                    items.extend(own.iter().cloned());
                    if separator.truthy() {
                        items.push(Item::Str(between(&separator, "ice_separator")?));
                    }
                }
                // A string example of a mixed label map becomes an item with its separator, unless both are empty.
                ExampleForm::Str(text) => {
                    let mut text = text.clone();
                    text.push(&between(&separator, "ice_separator")?);
                    if !text.is_empty() {
                        items.push(Item::Str(text));
                    }
                }
                ExampleForm::Messages(_) => {}
            }
        }
        items.push(match between(&end, "ice_eos_token") {
            Ok(text) => Item::Str(text),
            Err(error) => Item::Bad(error),
        });
        return Ok(Ice::Items(items));
    }
    let (separator, end) = (between(&separator, "ice_separator")?, between(&end, "ice_eos_token")?);
    let mut out = Text::default();
    for (n, shot) in shots.iter().enumerate() {
        let ExampleForm::Str(text) = shot else {
            return Err(Error::template(
                Code::IncompatibleExamples,
                "ice_template",
                "the first example is a string and a later one a dialogue; they can't be joined",
            ));
        };
        if n > 0 {
            out.push(&separator);
        }
        out.push(text);
    }
    out.push(&end);
    Ok(Ice::Str(out))
}

/// What stands between examples, or behind them.
fn between(value: &Value, key: &str) -> Result<Text> {
    match value {
        Value::Str(s) => Ok(Text::lit(s.clone(), Origin { source: Source::Separator, ..Origin::default() })),
        other => Err(Error::template(
            Code::WrongType,
            format!("retriever.{key}"),
            format!("expected a str, found {}", other.type_name()),
        )),
    }
}

fn prompt_request(config: &Config, prompt: &PromptTemplate, label: Option<&Value>, ice: &Ice) -> Result<Request> {
    let generation = config.mode == Mode::Gen;
    let body = match label {
        // In generation it is the sample's own body that a label chooses.
        Some(label) => prompt.body(label)?,
        None => prompt.first()?,
    };
    if !generation && prompt.ice_token.is_none() && config.dialect.ppl_needs_ice_token() {
        return Err(Error::template(
            Code::MissingIceToken,
            format!("{}.ice_token", prompt.path.strip_suffix(".template").unwrap_or(&prompt.path)),
            "OpenICL's ppl mode needs an ice_token in every prompt template",
        ));
    }
    let swap = match (label, &prompt.tokens) {
        (Some(label), Some(tokens)) if !generation => tokens.swap(label, &prompt.path)?,
        _ => None,
    };
    let swapped = |text: &Text| Text { swap: swap.clone(), ..text.clone() };
    let removes = config.dialect.removes_separator() && (generation || !config.remain_sep);
    let sep = prompt.sep_token.as_deref().filter(|_| removes);
    let nothing = Ice::Str(Text::default());
    // The order shows where examples hold the separator token: gen strips it from them too, ppl doesn't.
    let mut steps: Vec<(&str, &Ice)> = Vec::new();
    if let Some(sep) = sep {
        steps.push((sep, &nothing));
    }
    if let Some(token) = prompt.ice_token.as_deref() {
        let at = if generation { 0 } else { steps.len() };
        steps.insert(at, (token, ice));
    }
    match body {
        Body::Bad(error) => Err(error.clone()),
        Body::Str(text) => {
            let mut text = swapped(text);
            for (token, by) in steps {
                text = match by {
                    Ice::Str(by) => put(config, &text, token, by),
                    _ => return Err(not_into_string(&prompt.path)),
                };
            }
            Ok(Request::Text(vec![Piece::new(text)]))
        }
        Body::Dialogue(dialogue) => {
            let mut items = sections(dialogue);
            if swap.is_some() {
                for item in &mut items {
                    match item {
                        Item::Str(text) => *text = swapped(text),
                        Item::Turn(turn) => {
                            for (_, entry) in &mut turn.keys {
                                if let Entry::Text(text) = entry {
                                    *text = swapped(text);
                                }
                            }
                        }
                        Item::Marker { .. } | Item::Bad(_) => {}
                    }
                }
            }
            for (token, by) in steps {
                items = replace(config, items, token, by)?;
            }
            dialogue_request(config, items, generation)
        }
    }
}

/// A dialogue as a prompt list: its items between section markers.
fn sections(dialogue: &Dialogue) -> Vec<Item> {
    let mut items = Vec::new();
    let all =
        [("begin", dialogue.begin.as_deref()), ("round", Some(&*dialogue.round)), ("end", dialogue.end.as_deref())];
    for (section, inner) in all {
        let Some(inner) = inner else { continue };
        items.push(Item::Marker { section, opens: true });
        items.extend_from_slice(inner);
        items.push(Item::Marker { section, opens: false });
    }
    items
}

fn not_into_string(path: &str) -> Error {
    Error::template(
        Code::IncompatibleExamples,
        path,
        "examples of a dialogue or of raw messages can't be spliced into a string; \
         give the ICE template as a string, or the prompt template as a dialogue",
    )
}

/// Replace a token; under single-pass rules it isn't looked for in what an example's fields brought in.
fn put(config: &Config, text: &Text, token: &str, by: &Text) -> Text {
    match config.substitution {
        Substitution::Harness => text.replace(token, by),
        Substitution::SinglePass => text.replace_outside_values(token, by),
    }
}

/// Replace a token in a prompt list by examples.
fn replace(config: &Config, items: Vec<Item>, token: &str, by: &Ice) -> Result<Vec<Item>> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match (item, by) {
            (Item::Str(text), Ice::Str(by)) => out.push(Item::Str(put(config, &text, token, by))),
            (Item::Str(text), Ice::Items(by)) => {
                if token.is_empty() {
                    return Err(Error::template(
                        Code::InvalidToken,
                        "prompt_template.ice_token",
                        "an empty token can't be split at",
                    ));
                }
                for (n, part) in text.split(token).into_iter().enumerate() {
                    if n > 0 {
                        out.extend(by.iter().cloned());
                    }
                    if !part.is_empty() {
                        out.push(Item::Str(part));
                    }
                }
            }
            // Kept as recorded: examples of raw messages delete every string of a dialogue.
            (Item::Str(_), Ice::Messages(_)) => {}
            (Item::Turn(mut turn), by) => {
                let place = turn.place.clone();
                for (name, entry) in &mut turn.keys {
                    if let (true, Entry::Text(text)) = (&**name == "prompt", entry)
                        && text.contains(token)
                    {
                        match by {
                            Ice::Str(by) => *text = put(config, text, token, by),
                            _ => return Err(not_into_string(&format!("{place}.prompt"))),
                        }
                    }
                }
                out.push(Item::Turn(turn));
            }
            (other, _) => out.push(other),
        }
    }
    Ok(out)
}

/// A prompt list, parsed as the configuration's output wants it.
pub(super) fn dialogue_request(config: &Config, items: Vec<Item>, generation: bool) -> Result<Request> {
    for item in &items {
        if let Item::Bad(error) = item {
            return Err(error.clone());
        }
    }
    match (config.output, &config.meta) {
        (Output::PromptList, _) => Ok(Request::List(prompt_list(items))),
        (_, None) if config.dialect.turns_stand_alone() => Ok(Request::Text(alone(&items)?)),
        (Output::Text, None) => Ok(Request::Text(joined(&items)?)),
        (_, None) => {
            let parts = if config.dialect.speaks_parts() { joined_parts(&items)? } else { None };
            parts.map_or_else(|| Ok(Request::Text(joined(&items)?)), Ok)
        }
        (Output::Text, Some(MetaTemplate::Rounds(meta))) => Ok(Request::Text(to_text(&items, meta, generation)?)),
        (_, Some(MetaTemplate::Rounds(meta))) => {
            Ok(Request::List(to_messages(&items, meta, generation, config.dialect)?))
        }
        (_, Some(MetaTemplate::Messages(_))) => Err(Error::template(
            Code::WrongMetaTemplateForm,
            "meta_template",
            "the list form is for raw messages; a dialogue needs a dict with a round",
        )),
    }
}

fn prompt_list(items: Vec<Item>) -> Vec<Message> {
    items
        .into_iter()
        .filter_map(|item| match item {
            Item::Marker { .. } | Item::Bad(_) => None,
            Item::Turn(turn) if turn.is_marker() => None,
            Item::Str(text) => Some(Message::Bare(vec![Piece { text, join: Join::None }])),
            Item::Turn(turn) => Some(message(turn.keys, false)),
        })
        .collect()
}

/// A turn or message as it goes into a request; `finished` where no field is filled in any more.
pub fn message(keys: Vec<(Arc<str>, Entry)>, finished: bool) -> Message {
    Message::Dict(
        keys.into_iter()
            .map(|(name, entry)| {
                let slot = match entry {
                    Entry::Text(text) => Slot::Text(vec![Piece::new(if finished { text.finished() } else { text })]),
                    Entry::Const(value) => Slot::Const(value),
                    Entry::Media(media) => Slot::Parts(media),
                    // Of meta templates alone, whose roles are no messages.
                    Entry::Bad(_) => Slot::Const(Value::None),
                };
                (name, slot)
            })
            .collect(),
    )
}

/// What a raw message says is a text even where nothing is filled in.
fn said(mut keys: Vec<(Arc<str>, Entry)>) -> Vec<(Arc<str>, Entry)> {
    for (name, entry) in &mut keys {
        if let (true, Entry::Const(Value::Str(s))) = (&**name == "content", &*entry) {
            *entry =
                Entry::Text(Text::fixed(s.clone(), Origin { source: Source::PromptTemplate, ..Origin::default() }));
        }
    }
    keys
}

fn raw_request(config: &Config, raw: &RawTemplate, ice: &Ice) -> Result<Request> {
    let raw_message = |item: &RawItem, finished: bool| match item {
        RawItem::Message(turn) => Some(message(said(turn.keys.clone()), finished)),
        RawItem::Expand(column) => Some(Message::Expand { column: column.as_str().into() }),
        RawItem::Str(_) => None,
    };
    let mut messages: Vec<Message> = Vec::new();
    let mut sections = false;
    for item in &raw.items {
        match item {
            RawItem::Str(s) if config.mode == Mode::Gen && raw.ice_token.as_deref() == Some(s) => match ice {
                // Messages have no place for a string.
                Ice::Str(_) => {}
                Ice::Messages(items) => messages.extend(items.iter().filter_map(|item| raw_message(item, true))),
                Ice::Items(items) => {
                    sections |= !items.is_empty();
                    messages.extend(prompt_list(items.clone()).into_iter().map(finished));
                }
            },
            other => messages.extend(raw_message(other, false)),
        }
    }
    if config.output == Output::PromptList {
        return Ok(Request::List(messages));
    }
    // An empty list goes through the language model's parser; messages of a column may be none.
    if config.output == Output::Text && messages.iter().any(|m| !matches!(m, Message::Expand { .. })) {
        return Err(Error::template(
            Code::NoTextForm,
            "output",
            "raw messages have no text form: a language model's parser refuses them; use output=\"messages\"",
        ));
    }
    if sections {
        return Err(Error::template(
            Code::IncompatibleExamples,
            "ice_template",
            "examples of a dialogue can't stand among raw messages; give the ICE template as a RawPromptTemplate",
        ));
    }
    for message in &messages {
        let complete = message.get("role").is_some() && message.get("content").is_some();
        if !complete && !matches!(message, Message::Expand { .. }) {
            return Err(Error::template(Code::IncompleteMessage, "prompt_template", "a message lacks role or content"));
        }
    }
    // With expanded columns the roles come with the rows: merged when they are known.
    if messages.iter().any(|m| matches!(m, Message::Expand { .. })) {
        return Ok(Request::List(messages));
    }
    Ok(Request::List(merge_meta(config, messages)?))
}

/// Merge a list-form meta template into messages whose roles are all known.
///
/// # Errors
///
/// `TemplateError` where two contents that are no strings would have to be joined.
pub fn merge_meta(config: &Config, messages: Vec<Message>) -> Result<Vec<Message>> {
    let (Some(MetaTemplate::Messages(meta)), false) = (&config.meta, messages.is_empty()) else { return Ok(messages) };
    let name = |role: Option<&Value>| role.and_then(Value::as_str).map(str::to_owned);
    let meta_roles: Vec<_> =
        meta.iter().map(|keys| name(keys.iter().find(|(k, _)| &**k == "role").map(|(_, v)| v))).collect();
    let roles: Vec<_> = messages.iter().map(|m| name(m.role())).collect();
    let mut out = Vec::new();
    for step in merge_raw(&meta_roles, &roles) {
        out.push(match step {
            MergeMeta::Keep(at) => messages[at].clone(),
            MergeMeta::Insert(m) => meta_message(&meta[m]),
            MergeMeta::Prefix(m, at) => prefixed(messages[at].clone(), meta_content(&meta[m], m)?)?,
        });
    }
    Ok(out)
}

fn finished(message: Message) -> Message {
    let finish = |pieces: Vec<Piece>| -> Vec<Piece> {
        pieces.into_iter().map(|p| Piece { text: p.text.finished(), ..p }).collect()
    };
    match message {
        Message::Dict(keys) => Message::Dict(
            keys.into_iter()
                .map(|(k, slot)| match slot {
                    Slot::Text(pieces) => (k, Slot::Text(finish(pieces))),
                    other => (k, other),
                })
                .collect(),
        ),
        Message::Bare(pieces) => Message::Bare(finish(pieces)),
        expand @ Message::Expand { .. } => expand,
    }
}

/// The list-form meta template's content before a message's own.
fn prefixed(message: Message, content: &str) -> Result<Message> {
    let role = message.role().and_then(Value::as_text).cloned();
    let Message::Dict(mut keys) = message else { return Ok(message) };
    for (name, slot) in &mut keys {
        if &**name == "content" {
            match slot {
                Slot::Text(pieces) => {
                    pieces.insert(0, Piece::fixed(content, Source::MetaTemplate, role.as_ref()));
                }
                other => {
                    let found = if let Slot::Const(value) = other { value.type_name() } else { "a list of parts" };
                    return Err(Error::template(
                        Code::UnmergeableContent,
                        "prompt_template",
                        format!("the content to merge with the meta template's must be a str, found {found}"),
                    ));
                }
            }
        }
    }
    Ok(Message::Dict(keys))
}
