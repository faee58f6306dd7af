//! The texts of a template, each with its path and its filling.

use std::borrow::Cow;

use super::dialogues::sections;
use super::subject::Subject;
use crate::plan::{is_filled, pairs_around};
use crate::template::keys;
use crate::template::{
    Body, Dialogue, Entry, Form, Item, MediaTemplate, Modality, PromptTemplate, RawItem, RawTemplate, Shape, Template,
    key_path,
};
use crate::value::Value;

/// The values that are filled into a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// Every column.
    Columns,
    /// The fields `question` and `answer` of a turn.
    Pair,
    /// The tagged stretch for this placeholder.
    Stretch(&'static str),
    /// Nothing.
    Nothing,
}

/// A text of a template.
#[derive(Clone, Debug)]
pub(super) struct TemplateText<'a> {
    /// The text's path in the configuration.
    pub path: String,
    /// The text.
    pub text: Cow<'a, str>,
    /// The values that are filled into the text.
    pub filling: Filling,
}

/// Return every text of a template; for an example, only those of its rounds. A text that isn't filled because the
/// configuration says so (`format_variables`) is left out.
pub(super) fn template_texts<'a>(
    template: &'a Template,
    value: &'a Value,
    path: &str,
    example: bool,
) -> Vec<TemplateText<'a>> {
    let mut out = Vec::new();
    match template {
        Template::Prompt(prompt) => of_prompt(prompt, example, &mut out),
        Template::Raw(raw) => {
            let format = value.get("format_variables").is_none_or(Value::truthy);
            if format {
                of_raw(raw, &messages_path(value, path), &mut out);
            }
        }
        Template::Turns(turns) => {
            of_dialogue(&turns.dialogue, &turns.path, &|section| pair_or_nothing(section), example, &mut out);
        }
        Template::Media(media) => of_media(media, &mut out),
        Template::Columns(_) | Template::Chat(_) => {}
    }
    out
}

/// Return true if a column is filled into a text.
pub(super) fn names(subject: &Subject, texts: &[TemplateText], column: &str) -> bool {
    let placeholder = format!("{{{column}}}");
    let fills = |text: &str| {
        text.match_indices(&placeholder).any(|(start, _)| {
            let pairs = pairs_around(text.as_bytes(), 0, start, start + placeholder.len());
            !subject.config.unescapes || is_filled(pairs)
        })
    };
    texts.iter().any(|text| text.filling == Filling::Columns && fills(&text.text))
}

/// Return the path of the messages of a raw template that is `value` at `path`.
pub(super) fn messages_path(value: &Value, path: &str) -> String {
    if value.get("messages").is_some() { format!("{path}.messages") } else { path.to_owned() }
}

fn pair_or_nothing(section: &str) -> Filling {
    if section == "round" { Filling::Pair } else { Filling::Nothing }
}

fn of_prompt<'a>(prompt: &'a PromptTemplate, example: bool, out: &mut Vec<TemplateText<'a>>) {
    let mut body = |body: &'a Body, path: String| match body {
        Body::Str(text) => {
            out.push(TemplateText { path, text: text.literal().into(), filling: Filling::Columns });
        }
        Body::Dialogue(dialogue) => of_dialogue(dialogue, &path, &|_| Filling::Columns, example, out),
        Body::Bad(_) => {}
    };
    match &prompt.shape {
        Shape::Single(inner) => body(inner, prompt.path.clone()),
        Shape::Labels(items) => {
            for (label, inner) in items {
                body(inner, key_path(&prompt.path, label));
            }
        }
    }
}

fn of_dialogue(
    dialogue: &Dialogue,
    path: &str,
    filling: &dyn Fn(&str) -> Filling,
    example: bool,
    out: &mut Vec<TemplateText<'_>>,
) {
    for (section, items) in sections(dialogue) {
        if example && section != "round" {
            continue;
        }
        for (n, item) in items.iter().enumerate() {
            let (path, text) = match item {
                Item::Str(text) => (format!("{path}.{section}[{n}]"), text.literal()),
                Item::Turn(turn) => match turn.prompt() {
                    Some(text) => (format!("{}.prompt", turn.path), text.literal()),
                    None => continue,
                },
                _ => continue,
            };
            out.push(TemplateText { path, text: text.into(), filling: filling(section) });
        }
    }
}

fn of_raw<'a>(raw: &'a RawTemplate, path: &str, out: &mut Vec<TemplateText<'a>>) {
    for (n, item) in raw.items.iter().enumerate() {
        let RawItem::Message(turn) = item else { continue };
        let path = format!("{path}[{n}].content");
        match turn.get(keys::CONTENT) {
            Some(Entry::Text(text)) => {
                out.push(TemplateText { path, text: text.literal().into(), filling: Filling::Columns });
            }
            Some(Entry::Const(value)) => strings(value, path, out),
            _ => {}
        }
    }
}

/// Add every string within a list of content parts: a harness fills none of them.
fn strings<'a>(value: &'a Value, path: String, out: &mut Vec<TemplateText<'a>>) {
    match value {
        Value::Str(text) => out.push(TemplateText { path, text: Cow::Borrowed(text), filling: Filling::Nothing }),
        Value::List(items) => {
            for (n, item) in items.iter().enumerate() {
                strings(item, format!("{path}[{n}]"), out);
            }
        }
        Value::Dict(items) => {
            for (key, item) in items {
                strings(item, key_path(&path, key), out);
            }
        }
        _ => {}
    }
}

fn of_media(media: &MediaTemplate, out: &mut Vec<TemplateText<'_>>) {
    for (section, items) in sections(&media.dialogue) {
        for (n, item) in items.iter().enumerate() {
            match item {
                Item::Str(text) => out.push(TemplateText {
                    path: format!("{}.{section}[{n}]", media.path),
                    text: text.literal().into(),
                    filling: Filling::Columns,
                }),
                Item::Turn(turn) => {
                    if let Some(text) = turn.prompt() {
                        let path = format!("{}.prompt", turn.path);
                        out.push(TemplateText { path, text: text.literal().into(), filling: Filling::Nothing });
                    }
                }
                _ => {}
            }
        }
    }
    for entry in &media.media {
        for (n, part) in entry.parts.iter().enumerate() {
            let Ok(part) = part else { continue };
            let (path, filling) = match (&entry.form, Modality::ALL.get(n)) {
                (Form::Tagged, Some(kind)) => {
                    (format!("{}.{}", entry.path, kind.name()), Filling::Stretch(kind.placeholder()))
                }
                _ => (entry.path.clone(), Filling::Columns),
            };
            out.push(TemplateText { path, text: part.text.literal().into(), filling });
        }
    }
}
