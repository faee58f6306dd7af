//! `PromptTemplate`: a string, a dialogue, or a map from labels to either.

use std::sync::Arc;

use super::column_tokens::ColumnTokens;
use super::text::{Origin, Source, Text};
use super::turn::{Entry, Item, Turn};
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result, excerpt};
use crate::near::{did_you_mean, meant_as, near};
use crate::value::Value;

/// The sections of a dialogue, in their order: a dict of nothing else is one.
pub const SECTIONS: &[&str] = &["begin", "round", "end"];

/// The sections of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialogue {
    /// Before the rounds; dropped for examples.
    pub begin: Option<Vec<Item>>,
    /// The rounds.
    pub round: Vec<Item>,
    /// After the rounds; dropped for examples.
    pub end: Option<Vec<Item>>,
}

impl Dialogue {
    /// Its sections in order, by name; those that it has.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[Item])> {
        let all = [("begin", self.begin.as_deref()), ("round", Some(&*self.round)), ("end", self.end.as_deref())];
        all.into_iter().filter_map(|(name, items)| Some((name, items?)))
    }

    /// Its items as a prompt list: between the markers of their sections.
    pub fn items(&self) -> Vec<Item> {
        let mut out = Vec::new();
        for (section, items) in self.sections() {
            Item::section(section, items.to_vec(), &mut out);
        }
        out
    }
}

/// What one label, or the whole template, renders.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A string template.
    Str(Text),
    /// A dialogue template.
    Dialogue(Dialogue),
    /// A dialogue that can't be used, and why.
    Bad(Error),
}

impl Body {
    /// The turns of a dialogue.
    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        let sections = match self {
            Self::Dialogue(d) => [d.begin.as_ref(), Some(&d.round), d.end.as_ref()],
            _ => [None; 3],
        };
        let items = sections.into_iter().flatten().flatten();
        items.filter_map(|item| if let Item::Turn(turn) = item { Some(turn) } else { None })
    }
}

/// Whether the template is one body or a label map.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A string or a dialogue.
    One(Body),
    /// Label → body, in order.
    Labels(Vec<(Value, Body)>),
}

/// A `PromptTemplate` with its tokens.
#[derive(Clone, Debug)]
pub struct PromptTemplate {
    /// What it renders.
    pub shape: Shape,
    /// Replaced by the examples.
    pub ice_token: Option<String>,
    /// Removed, where the harness removes it.
    pub sep_token: Option<String>,
    /// The keys of the template if it is a dict: the labels that ppl falls back to, a dialogue's sections too.
    pub keys: Option<Vec<Value>>,
    /// A dict as sections, whatever other keys it has: what families without labels see of it.
    pub sections: Option<Body>,
    /// What stands in it for the columns, where that isn't `{name}`.
    pub tokens: Option<ColumnTokens>,
    /// Where the template stands in the configuration.
    pub path: String,
}

impl PromptTemplate {
    /// Read the template itself, at `path`; `owner` is the path of the dict that holds the tokens.
    ///
    /// # Errors
    ///
    /// `TemplateError` for what the harness's constructor refuses: a template or value of a wrong type, a string
    /// without the ICE token that was announced.
    pub(super) fn parse(
        value: &Value,
        path: &str,
        owner: &str,
        ice_token: Option<String>,
        sep_token: Option<String>,
        source: Source,
        dialect: Dialect,
    ) -> Result<Self> {
        let missing = |text: &str, place: String| match &ice_token {
            Some(token) if !text.contains(token.as_str()) => Err(Error::template(
                Code::IceTokenNotInTemplate,
                place,
                format!("the ice_token {} of {owner} does not occur in {}", excerpt(token), excerpt(text)),
            )),
            _ => Ok(()),
        };
        let (shape, keys) = match value {
            Value::Str(s) => {
                missing(s, path.to_owned())?;
                (Shape::One(Body::Str(Text::lit(s.clone(), Origin { source, ..Origin::default() }))), None)
            }
            Value::Dict(items) => {
                let is_dialogue =
                    dialect.dialogues() && items.iter().all(|(k, _)| k.as_str().is_some_and(|k| SECTIONS.contains(&k)));
                for (key, entry) in items {
                    let place = key_path(path, key);
                    match entry {
                        Value::Str(_) if is_dialogue && dialect.sections_lack_token() => {}
                        Value::Str(s) => missing(s, place)?,
                        Value::List(_) | Value::Dict(_) if dialect.dialogues() => {}
                        other => {
                            return Err(Error::template(
                                Code::WrongType,
                                place,
                                format!(
                                    "expected a str{}, found {}",
                                    if dialect.dialogues() { ", a list or a dict" } else { "" },
                                    other.type_name()
                                ),
                            ));
                        }
                    }
                }
                let shape = if is_dialogue {
                    Shape::One(dialogue(value, path, source, ""))
                } else {
                    let body = |key: &Value, entry: &Value| match entry {
                        Value::Str(s) => Body::Str(Text::lit(s.clone(), Origin { source, ..Origin::default() })),
                        _ => dialogue(entry, &key_path(path, key), source, &misspelt(key, value)),
                    };
                    Shape::Labels(items.iter().map(|(k, v)| (k.clone(), body(k, v))).collect())
                };
                (shape, Some(items.iter().map(|(k, _)| k.clone()).collect()))
            }
            other => {
                return Err(Error::template(
                    Code::WrongType,
                    path,
                    format!("expected a str or a dict as template, found {}", other.type_name()),
                ));
            }
        };
        let sections = matches!(value, Value::Dict(_)).then(|| dialogue(value, path, source, ""));
        Ok(Self { shape, ice_token, sep_token, keys, sections, tokens: None, path: path.to_owned() })
    }

    /// The body for `label`; a string or dialogue template has one for all.
    ///
    /// # Errors
    ///
    /// `TemplateError` if a label map has no such label.
    pub fn body(&self, label: &Value) -> Result<&Body> {
        match &self.shape {
            Shape::One(body) => Ok(body),
            Shape::Labels(items) => {
                items.iter().find(|(k, _)| k.equals(label)).map(|(_, body)| body).ok_or_else(|| {
                    let known: Vec<String> = items.iter().map(|(k, _)| k.to_string()).collect();
                    Error::template(
                        Code::LabelNotInMap,
                        &self.path,
                        format!(
                            "the label map has no label {label}; it has {}{}",
                            known.join(", "),
                            did_you_mean(
                                label.as_str().unwrap_or_default(),
                                items.iter().filter_map(|(k, _)| k.as_str())
                            )
                        ),
                    )
                })
            }
        }
    }

    /// The body for generation: a label map's first.
    ///
    /// # Errors
    ///
    /// `TemplateError` for an empty label map.
    pub fn first(&self) -> Result<&Body> {
        match &self.shape {
            Shape::One(body) => Ok(body),
            Shape::Labels(items) => match items.first() {
                Some((_, body)) => Ok(body),
                None => Err(Error::template(Code::EmptyLabelMap, &self.path, "the label map is empty")),
            },
        }
    }

    /// The column that decides which body a sample is generated with, where one does.
    pub fn selector(&self) -> Option<&str> {
        match (&self.tokens, &self.shape) {
            (Some(ColumnTokens { selected: Some(selected), .. }), Shape::Labels(_)) => Some(&selected.column),
            _ => None,
        }
    }

    pub(super) fn literals(&self, out: &mut Vec<String>) {
        if let Some(tokens) = &self.tokens {
            // Every column of the map is read, whether its token stands anywhere or not.
            let selector = self.selector().map(Arc::from);
            let names = tokens.columns.iter().map(|(name, _)| name.clone()).chain(selector);
            out.extend(names.map(|name: Arc<str>| format!("{{{name}}}")));
            return;
        }
        let mut text = |t: &Text| out.push(t.literal());
        let bodies: Vec<&Body> = match &self.shape {
            Shape::One(body) => vec![body],
            Shape::Labels(items) => items.iter().map(|(_, b)| b).collect(),
        };
        for body in bodies {
            match body {
                Body::Str(t) => text(t),
                Body::Dialogue(d) => {
                    for item in d.sections().flat_map(|(_, items)| items) {
                        match item {
                            Item::Str(t) => text(t),
                            Item::Turn(turn) => {
                                for (_, entry) in &turn.keys {
                                    if let Entry::Text(t) = entry {
                                        text(t);
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                Body::Bad(_) => {}
            }
        }
    }
}

/// The sections of a template at `path` whose family takes nothing but a dialogue; `needed` says so.
///
/// # Errors
///
/// `TemplateError` if they aren't one.
pub(super) fn only_dialogue(sections: Option<Body>, path: &str, needed: &str) -> Result<Dialogue> {
    match sections {
        Some(Body::Dialogue(dialogue)) => Ok(dialogue),
        Some(Body::Bad(error)) => Err(error),
        _ => Err(Error::template(Code::WrongTemplateForm, path, needed)),
    }
}

/// `path.key`, or `path[key]` for keys that are no plain names.
pub fn key_path(path: &str, key: &Value) -> String {
    match key.as_str() {
        Some(k) if !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || c == '_') => format!("{path}.{k}"),
        _ => format!("{path}[{key}]"),
    }
}

/// What to say of a label that can't be rendered: a misspelt section makes a label map of a dialogue.
fn misspelt(label: &Value, map: &Value) -> String {
    let own = did_you_mean(label.as_str().unwrap_or_default(), SECTIONS.iter().copied());
    if !own.is_empty() {
        return own;
    }
    let mut others = map.names().filter(|name| !SECTIONS.contains(name));
    let near = others.find_map(|name| Some((name, near(name, SECTIONS.iter().copied())?)));
    near.map_or_else(String::new, |(name, section)| format!("; did you mean '{section}' instead of '{name}'?"))
}

/// `hint` is what to say of a value that is no dict.
fn dialogue(value: &Value, path: &str, source: Source, hint: &str) -> Body {
    if !matches!(value, Value::Dict(_)) {
        return Body::Bad(Error::template(
            Code::WrongType,
            path,
            format!("expected a str or a dict with a round, found {}{hint}", value.type_name()),
        ));
    }
    let list = |items: &[Value], place: &str| -> Vec<Item> {
        items.iter().enumerate().map(|(n, v)| Item::parse(v, format!("{place}[{n}]"), source)).collect()
    };
    let section = |key: &str| {
        value.get(key).map(|v| {
            let place = format!("{path}.{key}");
            match v {
                Value::List(items) => list(items, &place),
                other => vec![Item::parse(other, place, source)],
            }
        })
    };
    let place = format!("{path}.round");
    let round = match value.get("round") {
        None => {
            let hint = meant_as("round", value.names(), SECTIONS);
            return Body::Bad(Error::template(
                Code::MissingKey,
                path,
                format!("a dialogue template needs a round, which is missing{hint}"),
            ));
        }
        // The harness adds the round to a list: nothing for anything empty, one item for a string, a dict's keys.
        Some(v) if !v.truthy() => Vec::new(),
        Some(Value::List(items)) => list(items, &place),
        Some(v @ Value::Str(_)) => vec![Item::parse(v, place, source)],
        Some(Value::Dict(items)) => items.iter().map(|(k, _)| Item::parse(k, place.clone(), source)).collect(),
        Some(other) => {
            return Body::Bad(Error::template(
                Code::WrongType,
                place,
                format!("expected a list of turns, found {}", other.type_name()),
            ));
        }
    };
    Body::Dialogue(Dialogue { begin: section("begin"), round, end: section("end") })
}
