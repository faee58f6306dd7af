//! Builds the request of a configuration, a label and a row's examples, before the sample is known.
//!
//! The steps are those of the harness (retriever, template, parser). They run once for each label and each shape of
//! examples instead of once for each row; fields stay open.

use std::sync::Arc;

use super::chat_request::chat_shape;
use super::config::{Config, Mode};
use super::example::{ExampleForm, between, columns_text};
use super::infer_mode::InferMode;
use super::retriever::Choice;
use super::to_request::to_request;
use super::turn_request::build_turn_request;
use crate::error::{Code, Error, Result};
use crate::output::Prompt;
use crate::role::{Message, Piece, Request, prompt_list};
use crate::suggest::misspelling_hint;
use crate::template::{Body, Entry, Item, Origin, PromptTemplate, RawItem, RawTemplate, Source, Template, Text, keys};
use crate::value::Value;

/// The joined examples of one sample.
#[derive(Clone, Debug)]
pub enum Ice {
    /// String examples, with separators and the end token.
    Str(Text),
    /// Items to splice into a dialogue.
    Items(Vec<Item>),
    /// Raw messages.
    Messages(Vec<RawItem>),
}

/// Build the request of one sample with `label` (ppl) and these examples.
///
/// # Errors
///
/// `TemplateError` for a value that the harness refuses.
pub fn build_request(config: &Config, label: Option<&Value>, examples: &[ExampleForm]) -> Result<Request> {
    build_request_without(config, label, examples, 0)
}

/// Build a request as [`build_request`], without the optional messages whose bits are set in `left_out`.
///
/// # Errors
///
/// Those of [`build_request`].
pub fn build_request_without(
    config: &Config,
    label: Option<&Value>,
    examples: &[ExampleForm],
    left_out: u32,
) -> Result<Request> {
    let ice = join_examples(config, examples)?;
    match config.main() {
        Template::Raw(raw) => {
            check_ice_token(config)?;
            to_request(config, raw_prompt(config, raw, &ice, left_out))
        }
        Template::Prompt(prompt) => {
            check_ice_token(config)?;
            to_request(config, filled_prompt(config, prompt, label, &ice)?)
        }
        Template::Turns(turns) => {
            check_ice_token(config)?;
            // The examples are ignored. The first turn shows the shape of a conversation.
            let cut = (config.infer_mode != InferMode::Whole && turns.count(1) > 0).then(|| turns.cut(0));
            build_turn_request(turns, config, 1, cut, false)
        }
        Template::Media(media) => {
            check_ice_token(config)?;
            // The examples are ignored, and nothing is masked.
            to_request(config, Prompt::Dialogue(media.dialogue.items(), true))
        }
        Template::Columns(names) => to_request(config, columns_prompt(config, names, label, &ice)?),
        Template::Chat(_) => chat_shape(config),
    }
}

/// Return the prompt without a template: the examples, the input columns, and the text to generate or score.
fn columns_prompt(config: &Config, names: &[String], label: Option<&Value>, ice: &Ice) -> Result<Prompt<'static>> {
    let Ice::Str(examples) = ice else { return Err(not_into_string("prompt_template")) };
    let origin = Origin { source: Source::PromptTemplate, ..Origin::default() };
    let mut text = examples.clone().finalized();
    text.push(&columns_text(names.iter(), Source::PromptTemplate));
    text.push(&match (config.mode, label) {
        (Mode::Ppl, Some(label)) => Text::lit(format!(" {}", label.python_str()), origin),
        _ => Text::lit(config.gen_field_replace_token.clone(), Origin { source: Source::Masked, ..origin }),
    });
    Ok(Prompt::Text(vec![Piece::new(text)]))
}

/// Check that the prompt template has an ICE token if there is an ICE template, even without examples.
fn check_ice_token(config: &Config) -> Result<()> {
    let missing = |path: &str, message: &str| Err(Error::template(Code::MissingIceToken, path, message));
    match (&config.prompt, &config.ice) {
        (Some(prompt), Some(_)) if prompt.ice_token().is_none() && config.dialect.ice_needs_token() => {
            // A dict with a misspelt key is read as a label map.
            let keys = if let Template::Prompt(prompt) = prompt { prompt.keys.as_deref() } else { None };
            let hint = misspelling_hint("ice_token", keys.unwrap_or_default().iter().filter_map(Value::as_str), &[]);
            let message = "an ICE template is given, so the prompt template needs an ice_token";
            missing("prompt_template.ice_token", &format!("{message}{hint}"))
        }
        // As documented, an ICE template without examples can be the prompt template.
        (None, Some(ice))
            if ice.ice_token().is_none()
                && !(config.retriever.choice == Choice::Zero && config.dialect.ice_alone_without_token()) =>
        {
            missing("ice_template.ice_token", "an ICE template that is the prompt template too needs an ice_token")
        }
        _ => Ok(()),
    }
}

fn join_examples(config: &Config, examples: &[ExampleForm]) -> Result<Ice> {
    let (mut separator, mut end) = (config.retriever.ice_separator.clone(), config.retriever.ice_eos_token.clone());
    match &config.ice {
        None if !examples.is_empty() && !config.dialect.renders_without_template() => {
            return Err(Error::template(
                Code::MissingIceTemplate,
                "ice_template",
                "the retriever chooses examples, but there is no ICE template to render them; \
                 give one, or use ZeroRetriever",
            ));
        }
        Some(Template::Raw(_)) => {
            let messages = examples.iter().flat_map(|example| match example {
                ExampleForm::Messages(items) => items.clone(),
                _ => Vec::new(),
            });
            return Ok(Ice::Messages(messages.collect()));
        }
        Some(Template::Prompt(ice))
            if matches!(&ice.shape, crate::template::Shape::Single(Body::Dialogue(_) | Body::Bad(_))) =>
        {
            (separator, end) = (Value::from(""), Value::from(""));
        }
        _ => {}
    }
    if matches!(examples.first(), Some(ExampleForm::Items(_))) {
        let mut items = Vec::new();
        for example in examples {
            match example {
                ExampleForm::Items(items_of_example) => {
                    items.extend(items_of_example.iter().cloned());
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
    for (n, example) in examples.iter().enumerate() {
        let ExampleForm::Str(text) = example else {
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

fn filled_prompt(
    config: &Config,
    prompt: &PromptTemplate,
    label: Option<&Value>,
    ice: &Ice,
) -> Result<Prompt<'static>> {
    let generation = config.mode == Mode::Gen;
    let body = match label {
        // In generation, the label selects the body of the sample.
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
    let label_override = match (label, &prompt.tokens) {
        (Some(label), Some(tokens)) if !generation => tokens.label_override(label, &prompt.path)?,
        _ => None,
    };
    let overridden = |text: &Text| Text { label_override: label_override.clone(), ..text.clone() };
    let removes = config.dialect.removes_separator() && (generation || !config.remain_sep);
    let sep = prompt.sep_token.as_deref().filter(|_| removes);
    let nothing = Ice::Str(Text::default());
    // The order matters if examples contain the separator token: gen removes it from them too, ppl doesn't.
    let mut steps: Vec<(&str, &Ice)> = Vec::new();
    if let Some(sep) = sep {
        steps.push((sep, &nothing));
    }
    if let Some(token) = prompt.ice_token.as_deref() {
        let index = if generation { 0 } else { steps.len() };
        steps.insert(index, (token, ice));
    }
    match body {
        Body::Bad(error) => Err(error.clone()),
        Body::Str(text) => {
            let mut text = overridden(text);
            for (token, replacement) in steps {
                text = match replacement {
                    Ice::Str(replacement) => put(config, &text, token, replacement),
                    _ => return Err(not_into_string(&prompt.path)),
                };
            }
            Ok(Prompt::Text(vec![Piece::new(text)]))
        }
        Body::Dialogue(dialogue) => {
            let mut items = dialogue.items();
            if label_override.is_some() {
                for item in &mut items {
                    match item {
                        Item::Str(text) => *text = overridden(text),
                        Item::Turn(turn) => {
                            for (_, entry) in &mut turn.keys {
                                if let Entry::Text(text) = entry {
                                    *text = overridden(text);
                                }
                            }
                        }
                        Item::Marker { .. } | Item::Bad(_) => {}
                    }
                }
            }
            for (token, replacement) in steps {
                items = replace(config, items, token, replacement)?;
            }
            Ok(Prompt::Dialogue(items, generation))
        }
    }
}

fn not_into_string(path: &str) -> Error {
    Error::template(
        Code::IncompatibleExamples,
        path,
        "examples of a dialogue or of raw messages can't be spliced into a string; \
         give the ICE template as a string, or the prompt template as a dialogue",
    )
}

/// Replace a token. The texts of an example's fields are searched only if the rule searches values.
fn put(config: &Config, text: &Text, token: &str, replacement: &Text) -> Text {
    if config.substitution.searches_values() {
        text.replace(token, replacement)
    } else {
        text.replace_outside_values(token, replacement)
    }
}

/// Replace a token in a prompt list by examples.
fn replace(config: &Config, items: Vec<Item>, token: &str, replacement: &Ice) -> Result<Vec<Item>> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        match (item, replacement) {
            (Item::Str(text), Ice::Str(replacement)) => out.push(Item::Str(put(config, &text, token, replacement))),
            (Item::Str(text), Ice::Items(replacement)) => {
                if token.is_empty() {
                    return Err(Error::template(
                        Code::InvalidToken,
                        "prompt_template.ice_token",
                        "an empty token can't be split at",
                    ));
                }
                for (n, part) in text.split(token).into_iter().enumerate() {
                    if n > 0 {
                        out.extend(replacement.iter().cloned());
                    }
                    if !part.is_empty() {
                        out.push(Item::Str(part));
                    }
                }
            }
            // As recorded, examples of raw messages delete every string of a dialogue.
            (Item::Str(_), Ice::Messages(_)) => {}
            (Item::Turn(mut turn), replacement) => {
                let path = turn.path.clone();
                for (name, entry) in &mut turn.keys {
                    if let (true, Entry::Text(text)) = (&**name == keys::PROMPT, entry)
                        && text.contains(token)
                    {
                        match replacement {
                            Ice::Str(replacement) => *text = put(config, text, token, replacement),
                            _ => return Err(not_into_string(&format!("{path}.prompt"))),
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

/// Turn the content of a raw message into a text, even if nothing is filled in.
fn content_as_text(mut keys: Vec<(Arc<str>, Entry)>) -> Vec<(Arc<str>, Entry)> {
    for (name, entry) in &mut keys {
        if let (true, Entry::Const(Value::Str(s))) = (&**name == keys::CONTENT, &*entry) {
            *entry = Entry::Text(Text::final_literal(
                s.clone(),
                Origin { source: Source::PromptTemplate, ..Origin::default() },
            ));
        }
    }
    keys
}

fn raw_prompt(config: &Config, raw: &RawTemplate, ice: &Ice, left_out: u32) -> Prompt<'static> {
    let is_left_out = |n| raw.optional.iter().position(|item| *item == n).is_some_and(|bit| (left_out >> bit) & 1 == 1);
    let raw_message = |item: &RawItem, finished: bool| match item {
        RawItem::Message(turn) => Some(Message::of_keys(content_as_text(turn.keys.clone()), finished)),
        RawItem::Expand(column) => Some(Message::Expand { column: column.as_str().into() }),
        RawItem::Str(_) => None,
    };
    let mut messages: Vec<Message> = Vec::new();
    let mut has_sections = false;
    for (n, item) in raw.items.iter().enumerate() {
        match item {
            _ if is_left_out(n) => {}
            RawItem::Str(s) if config.mode == Mode::Gen && raw.ice_token.as_deref() == Some(s) => match ice {
                // Messages have no room for a string.
                Ice::Str(_) => {}
                Ice::Messages(items) => messages.extend(items.iter().filter_map(|item| raw_message(item, true))),
                Ice::Items(items) => {
                    has_sections |= !items.is_empty();
                    messages.extend(prompt_list(items.clone()).into_iter().map(Message::finalized));
                }
            },
            other => messages.extend(raw_message(other, false)),
        }
    }
    Prompt::Messages { messages, has_sections }
}
