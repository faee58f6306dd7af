//! Examples: the result of the ICE template for a row of the train split.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::template::{
    Atom, Body, Entry, FragmentSet, Item, Origin, RawItem, Shape, Source, Template, Text, Turn, keys,
};
use crate::value::Value;

/// The form of an example: its texts in a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum ExampleForm {
    /// The text of a string template.
    Str(Text),
    /// The round of a dialogue template, as a section.
    Items(Vec<Item>),
    /// Raw messages.
    Messages(Vec<RawItem>),
}

impl ExampleForm {
    /// Return every text that fields are filled into, in order: the example's parts.
    pub fn parts(&self) -> Vec<&Text> {
        match self {
            Self::Str(text) => vec![text],
            Self::Items(items) => items
                .iter()
                .filter_map(|item| match item {
                    Item::Str(text) => Some(text),
                    Item::Turn(turn) => turn.prompt(),
                    _ => None,
                })
                .collect(),
            Self::Messages(items) => items
                .iter()
                .filter_map(|item| match item {
                    RawItem::Message(turn) => content(turn),
                    _ => None,
                })
                .collect(),
        }
    }

    /// Return the columns whose messages it expands, in order.
    pub fn expands(&self) -> Vec<&str> {
        match self {
            Self::Messages(items) => {
                items.iter().filter_map(|i| if let RawItem::Expand(c) = i { Some(c.as_str()) } else { None }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Return the same frame with other texts, and with the messages of the expanded columns.
    #[must_use]
    pub fn with(
        &self,
        mut text: impl FnMut(u32, &Text) -> Text,
        mut expand: impl FnMut(&str) -> Vec<RawItem>,
    ) -> ExampleForm {
        let mut part = 0;
        let mut next = |old: &Text| {
            part += 1;
            text(part - 1, old)
        };
        match self {
            Self::Str(old) => Self::Str(next(old)),
            Self::Items(items) => Self::Items(
                items
                    .iter()
                    .map(|item| match item {
                        Item::Turn(turn) => Item::Turn(refill(turn, keys::PROMPT, &mut next)),
                        Item::Str(old) => Item::Str(next(old)),
                        other => other.clone(),
                    })
                    .collect(),
            ),
            Self::Messages(items) => Self::Messages(
                items
                    .iter()
                    .flat_map(|item| match item {
                        RawItem::Message(turn) => vec![RawItem::Message(refill(turn, keys::CONTENT, &mut next))],
                        RawItem::Expand(column) => expand(column),
                        RawItem::Str(_) => Vec::new(),
                    })
                    .collect(),
            ),
        }
    }
}

fn refill(turn: &Turn, key: &str, next: &mut impl FnMut(&Text) -> Text) -> Turn {
    let mut turn = turn.clone();
    for (name, entry) in &mut turn.keys {
        if &**name == key
            && let Entry::Text(old) = entry
        {
            *old = next(old);
        }
    }
    turn
}

fn content(turn: &Turn) -> Option<&Text> {
    match turn.get(keys::CONTENT) {
        Some(Entry::Text(text)) => Some(text),
        _ => None,
    }
}

/// The ICE template, ready to be filled with rows of the train split.
#[derive(Clone, Debug)]
pub struct IceForm {
    /// One form for each label of a label map, else one for all.
    pub kinds: Vec<(Option<Value>, Result<ExampleForm>)>,
    path: String,
}

impl IceForm {
    /// Return the forms of an ICE template, without its ICE token and without everything outside `round`.
    pub fn new(template: &Template) -> Self {
        match template {
            Template::Raw(raw) => Self {
                kinds: vec![(
                    None,
                    Ok(ExampleForm::Messages(
                        raw.items.iter().filter(|i| !matches!(i, RawItem::Str(_))).cloned().collect(),
                    )),
                )],
                path: "ice_template".into(),
            },
            Template::Turns(_) | Template::Chat(_) => {
                let path = "ice_template".to_owned();
                let refused = Error::template(Code::IncompatibleExamples, &path, "a conversation can't be an example");
                Self { kinds: vec![(None, Err(refused))], path }
            }
            Template::Media(media) => {
                let refused = Error::template(
                    Code::IncompatibleExamples,
                    &media.path,
                    "a dialogue with media can't be an example",
                );
                Self { kinds: vec![(None, Err(refused))], path: media.path.clone() }
            }
            Template::Columns(names) => Self::of_columns(names.iter()),
            Template::Prompt(prompt) => {
                let token = prompt.ice_token.as_deref();
                // A label's text of the selected column is part of the form, so each label has its own form.
                let labelled = |label: &Value, body: &Body| {
                    let label_override =
                        prompt.tokens.as_ref().map_or(Ok(None), |t| t.label_override(label, &prompt.path))?;
                    Ok(form(body, token)?.with(
                        |_, text| Text { label_override: label_override.clone(), ..text.clone() },
                        |_| Vec::new(),
                    ))
                };
                let map = prompt.tokens.as_ref().and_then(|tokens| {
                    let selected = tokens.selected.as_ref()?;
                    tokens.columns.iter().any(|(name, _)| *name == selected.column).then_some(&selected.texts)
                });
                let kinds = match (&prompt.shape, map) {
                    (Shape::Single(body), None) => vec![(None, form(body, token))],
                    (Shape::Single(body), Some(map)) => {
                        map.iter().map(|(k, _)| (Some(k.clone()), labelled(k, body))).collect()
                    }
                    (Shape::Labels(items), _) => items.iter().map(|(k, b)| (Some(k.clone()), labelled(k, b))).collect(),
                };
                Self { kinds, path: prompt.path.clone() }
            }
        }
    }

    /// Return the form of examples without a template: their columns, joined by spaces.
    pub fn of_columns<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let text = columns_text(names, Source::IceTemplate);
        Self { kinds: vec![(None, Ok(ExampleForm::Str(text)))], path: "ice_template".into() }
    }

    /// Return the index of the form for an example with this value in the output column.
    ///
    /// # Errors
    ///
    /// `TemplateError` if the label map has no such label, or if its form can't be used.
    pub fn kind(&self, label: &Value) -> Result<usize> {
        let index = self.kinds.iter().position(|(key, _)| key.as_ref().is_none_or(|key| key.equals(label)));
        let index = index.ok_or_else(|| {
            let labels: Vec<String> = self.kinds.iter().filter_map(|(k, _)| Some(k.as_ref()?.to_string())).collect();
            Error::template(
                Code::LabelNotInMap,
                &self.path,
                format!("an example has the label {label}, which the label map lacks; it has {}", labels.join(", ")),
            )
        })?;
        match &self.kinds[index].1 {
            Ok(_) => Ok(index),
            Err(error) => Err(error.clone()),
        }
    }

    /// Return true if the form of an example depends on its label.
    pub fn by_label(&self) -> bool {
        self.kinds.first().is_some_and(|(key, _)| key.is_some())
    }

    /// Return true if string examples and dialogue examples occur together, so that the frame depends on the texts.
    pub fn mixed(&self) -> bool {
        let is_string = |k: &(Option<Value>, Result<ExampleForm>)| matches!(k.1, Ok(ExampleForm::Str(_)));
        self.kinds.iter().any(is_string) && !self.kinds.iter().all(is_string)
    }

    /// Return a form with references instead of texts: part p of the example in `slot`.
    pub fn open(&self, kind: usize, slot: u32) -> Option<ExampleForm> {
        let form = self.kinds[kind].1.as_ref().ok()?;
        let text =
            |part, old: &Text| Text { is_final: old.is_final, ..Text::fragment(FragmentSet::Renderer, slot, part) };
        Some(form.with(text, |_| Vec::new()))
    }
}

/// Return the texts of columns, joined by spaces. No placeholders are searched in them.
pub fn columns_text<'a>(names: impl Iterator<Item = &'a String>, source: Source) -> Text {
    let mut text = Text::default().finalized();
    for (n, name) in names.enumerate() {
        if n > 0 {
            text.push(&Text::lit(" ", Origin { source, ..Origin::default() }));
        }
        text.push(&Text::of(vec![Atom::Field(name.as_str().into())]));
    }
    text
}

fn form(body: &Body, token: Option<&str>) -> Result<ExampleForm> {
    let strip = |text: &Text| match token {
        Some(token) => text.replace(token, &Text::default()),
        None => text.clone(),
    };
    match body {
        Body::Str(text) => Ok(ExampleForm::Str(strip(text))),
        Body::Bad(error) => Err(error.clone()),
        Body::Dialogue(dialogue) => {
            let mut items = vec![Item::Marker { section: "ice", opens: true }];
            for item in &dialogue.round {
                items.push(match item {
                    Item::Str(text) => Item::Str(strip(text)),
                    Item::Turn(turn) => {
                        let mut turn = turn.clone();
                        for (_, entry) in &mut turn.keys {
                            if let Entry::Text(text) = entry {
                                *text = strip(text);
                            }
                        }
                        Item::Turn(turn)
                    }
                    Item::Bad(error) => return Err(error.clone()),
                    marker @ Item::Marker { .. } => marker.clone(),
                });
            }
            items.push(Item::Marker { section: "ice", opens: false });
            Ok(ExampleForm::Items(items))
        }
    }
}

/// Return the messages of a list of dicts, as they are in the data.
pub fn messages_of(value: &Value, column: &str) -> Vec<RawItem> {
    let column: Arc<str> = column.into();
    let Value::List(items) = value else { return Vec::new() };
    items
        .iter()
        .map(|item| match item {
            Value::Dict(keys) => RawItem::Message(Turn {
                path: Arc::default(),
                keys: keys
                    .iter()
                    .map(|(k, v)| {
                        let name: Arc<str> = k.key();
                        let origin =
                            Origin { source: Source::Field, column: Some(column.clone()), ..Default::default() };
                        let entry = match v {
                            Value::Str(s) if &*name == keys::CONTENT => {
                                Entry::Text(Text::final_literal(s.clone(), origin))
                            }
                            other => Entry::Const(other.clone()),
                        };
                        (name, entry)
                    })
                    .collect(),
            }),
            other => RawItem::Str(other.as_str().unwrap_or_default().to_owned()),
        })
        .collect()
}

/// Return the text between examples, or after them.
pub(super) fn between(value: &Value, key: &str) -> Result<Text> {
    match value {
        Value::Str(s) => Ok(Text::lit(s.clone(), Origin { source: Source::Separator, ..Origin::default() })),
        other => Err(Error::template(
            Code::WrongType,
            format!("retriever.{key}"),
            format!("expected a str, found {}", other.type_name()),
        )),
    }
}
