//! `PromptTemplate`: a string, a dialogue, or a map from labels to either.

use std::sync::Arc;

use super::column_tokens::ColumnTokens;
use super::text::{Origin, Source, Text};
use super::turn::{Entry, Item, Turn};
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result, excerpt};
use crate::suggest::{closest, did_you_mean, misspelling_hint};
use crate::value::Value;

/// The sections of a dialogue, in their order. A dict with only these keys is a dialogue.
pub const SECTIONS: &[&str] = &["begin", "round", "end"];

/// The sections of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialogue {
    /// The items before the rounds; dropped for examples.
    pub begin: Option<Vec<Item>>,
    /// The rounds.
    pub round: Vec<Item>,
    /// The items after the rounds; dropped for examples.
    pub end: Option<Vec<Item>>,
}

impl Dialogue {
    /// Return the sections that it has, in order, with their names.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[Item])> {
        let all = [("begin", self.begin.as_deref()), ("round", Some(&*self.round)), ("end", self.end.as_deref())];
        all.into_iter().filter_map(|(name, items)| Some((name, items?)))
    }

    /// Return its items as a prompt list: between the markers of their sections.
    pub fn items(&self) -> Vec<Item> {
        let mut out = Vec::new();
        for (section, items) in self.sections() {
            Item::section(section, items.to_vec(), &mut out);
        }
        out
    }
}

/// The template of one label, or of all.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A string template.
    Str(Text),
    /// A dialogue template.
    Dialogue(Dialogue),
    /// A dialogue that can't be used, with the error.
    Bad(Error),
}

impl Body {
    /// Return the turns of a dialogue.
    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        let sections = match self {
            Self::Dialogue(d) => [d.begin.as_ref(), Some(&d.round), d.end.as_ref()],
            _ => [None; 3],
        };
        let items = sections.into_iter().flatten().flatten();
        items.filter_map(|item| if let Item::Turn(turn) = item { Some(turn) } else { None })
    }
}

/// The shape of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A single body: a string or a dialogue.
    Single(Body),
    /// The bodies by label, in order.
    Labels(Vec<(Value, Body)>),
}

/// A `PromptTemplate` with its tokens.
#[derive(Clone, Debug)]
pub struct PromptTemplate {
    /// The template's shape.
    pub shape: Shape,
    /// The token that is replaced by the examples.
    pub ice_token: Option<String>,
    /// The token that is removed, if the harness removes it.
    pub sep_token: Option<String>,
    /// The keys of the template if it is a dict. Ppl uses them as labels if no others are given, even those of a
    /// dialogue's sections.
    pub keys: Option<Vec<Value>>,
    /// The sections of a dict, whatever other keys it has, for families without labels.
    pub sections: Option<Body>,
    /// The tokens that replace `{name}` as placeholders of columns.
    pub tokens: Option<ColumnTokens>,
    /// The template's path in the configuration.
    pub path: String,
}

impl PromptTemplate {
    /// Read the template at `path`; `owner` is the path of the dict with the tokens.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that the harness's constructor refuses: a template or value of a wrong type, a
    /// string without the ICE token that is given.
    pub(super) fn parse(
        value: &Value,
        path: &str,
        owner: &str,
        ice_token: Option<String>,
        sep_token: Option<String>,
        source: Source,
        dialect: Dialect,
    ) -> Result<Self> {
        let missing = |text: &str, path: String| match &ice_token {
            Some(token) if !text.contains(token.as_str()) => Err(Error::template(
                Code::IceTokenNotInTemplate,
                path,
                format!("the ice_token {} of {owner} does not occur in {}", excerpt(token), excerpt(text)),
            )),
            _ => Ok(()),
        };
        let (shape, keys) = match value {
            Value::Str(s) => {
                missing(s, path.to_owned())?;
                (Shape::Single(Body::Str(Text::lit(s.clone(), Origin { source, ..Origin::default() }))), None)
            }
            Value::Dict(items) => {
                let is_dialogue =
                    dialect.dialogues() && items.iter().all(|(k, _)| k.as_str().is_some_and(|k| SECTIONS.contains(&k)));
                for (key, entry) in items {
                    let entry_path = key_path(path, key);
                    match entry {
                        Value::Str(_) if is_dialogue && dialect.sections_lack_token() => {}
                        Value::Str(s) => missing(s, entry_path)?,
                        Value::List(_) | Value::Dict(_) if dialect.dialogues() => {}
                        other => {
                            return Err(Error::template(
                                Code::WrongType,
                                entry_path,
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
                    Shape::Single(dialogue(value, path, source, ""))
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

    /// Return the body for `label`; a string or dialogue template has one body for all.
    ///
    /// # Errors
    ///
    /// `TemplateError` if a label map has no such label.
    pub fn body(&self, label: &Value) -> Result<&Body> {
        match &self.shape {
            Shape::Single(body) => Ok(body),
            Shape::Labels(items) => {
                items.iter().find(|(k, _)| k.equals(label)).map(|(_, body)| body).ok_or_else(|| {
                    let labels: Vec<String> = items.iter().map(|(k, _)| k.to_string()).collect();
                    Error::template(
                        Code::LabelNotInMap,
                        &self.path,
                        format!(
                            "the label map has no label {label}; it has {}{}",
                            labels.join(", "),
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

    /// Return the body for generation: the first of a label map.
    ///
    /// # Errors
    ///
    /// `TemplateError` for an empty label map.
    pub fn first(&self) -> Result<&Body> {
        match &self.shape {
            Shape::Single(body) => Ok(body),
            Shape::Labels(items) => match items.first() {
                Some((_, body)) => Ok(body),
                None => Err(Error::template(Code::EmptyLabelMap, &self.path, "the label map is empty")),
            },
        }
    }

    /// Return the column that selects the body for a sample's generation, if there is one.
    pub fn selector(&self) -> Option<&str> {
        match (&self.tokens, &self.shape) {
            (Some(ColumnTokens { selected: Some(selected), .. }), Shape::Labels(_)) => Some(&selected.column),
            _ => None,
        }
    }

    pub(super) fn literals(&self, out: &mut Vec<String>) {
        if let Some(tokens) = &self.tokens {
            // Every column of the map is read, even if the template doesn't contain its token.
            let selector = self.selector().map(Arc::from);
            let names = tokens.columns.iter().map(|(name, _)| name.clone()).chain(selector);
            out.extend(names.map(|name: Arc<str>| format!("{{{name}}}")));
            return;
        }
        let mut text = |t: &Text| out.push(t.literal());
        let bodies: Vec<&Body> = match &self.shape {
            Shape::Single(body) => vec![body],
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

/// Return the sections of a template at `path` whose family needs a dialogue; `needed` is the error message.
///
/// # Errors
///
/// `TemplateError` if they aren't a dialogue.
pub(super) fn only_dialogue(sections: Option<Body>, path: &str, needed: &str) -> Result<Dialogue> {
    match sections {
        Some(Body::Dialogue(dialogue)) => Ok(dialogue),
        Some(Body::Bad(error)) => Err(error),
        _ => Err(Error::template(Code::WrongTemplateForm, path, needed)),
    }
}

/// Return `path.key`, or `path[key]` if the key isn't a plain name.
pub fn key_path(path: &str, key: &Value) -> String {
    match key.as_str() {
        Some(k) if !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || c == '_') => format!("{path}.{k}"),
        _ => format!("{path}[{key}]"),
    }
}

/// Return a hint for a label that can't be rendered: a misspelt section turns a dialogue into a label map.
fn misspelt(label: &Value, map: &Value) -> String {
    let hint = did_you_mean(label.as_str().unwrap_or_default(), SECTIONS.iter().copied());
    if !hint.is_empty() {
        return hint;
    }
    let mut others = map.names().filter(|name| !SECTIONS.contains(name));
    let suggestion = others.find_map(|name| Some((name, closest(name, SECTIONS.iter().copied())?)));
    suggestion.map_or_else(String::new, |(name, section)| format!("; did you mean '{section}' instead of '{name}'?"))
}

/// Read a dialogue; `hint` is the end of the message for a value that isn't a dict.
fn dialogue(value: &Value, path: &str, source: Source, hint: &str) -> Body {
    if !matches!(value, Value::Dict(_)) {
        return Body::Bad(Error::template(
            Code::WrongType,
            path,
            format!("expected a str or a dict with a round, found {}{hint}", value.type_name()),
        ));
    }
    let list = |items: &[Value], path: &str| -> Vec<Item> {
        items.iter().enumerate().map(|(n, v)| Item::parse(v, format!("{path}[{n}]"), source)).collect()
    };
    let section = |key: &str| {
        value.get(key).map(|v| {
            let path = format!("{path}.{key}");
            match v {
                Value::List(items) => list(items, &path),
                other => vec![Item::parse(other, path, source)],
            }
        })
    };
    let round_path = format!("{path}.round");
    let round = match value.get("round") {
        None => {
            let hint = misspelling_hint("round", value.names(), SECTIONS);
            return Body::Bad(Error::template(
                Code::MissingKey,
                path,
                format!("a dialogue template needs a round, which is missing{hint}"),
            ));
        }
        // The harness adds the round to a list: nothing for an empty value, one item for a string, the keys for a dict.
        Some(v) if !v.truthy() => Vec::new(),
        Some(Value::List(items)) => list(items, &round_path),
        Some(v @ Value::Str(_)) => vec![Item::parse(v, round_path, source)],
        Some(Value::Dict(items)) => items.iter().map(|(k, _)| Item::parse(k, round_path.clone(), source)).collect(),
        Some(other) => {
            return Body::Bad(Error::template(
                Code::WrongType,
                round_path,
                format!("expected a list of turns, found {}", other.type_name()),
            ));
        }
    };
    Body::Dialogue(Dialogue { begin: section("begin"), round, end: section("end") })
}
