//! The meta template, read from configuration values.

use std::sync::Arc;

use crate::dialect::Dialect;
use crate::error::{Code, Error, Result};
use crate::suggest::{did_you_mean, misspelling_hint};
use crate::template::{Entry, Turn, keys};
use crate::value::Value;

/// Returns the text of a token id, for a `begin` or `end` that is a list.
pub type TokenTexts<'a> = &'a dyn Fn(i64) -> Result<Option<String>>;

/// A model's meta template.
#[derive(Clone, Debug)]
pub enum MetaTemplate {
    /// The dict form: rounds and roles.
    Rounds(Rounds),
    /// The list form, for raw messages.
    Messages(Vec<Keys>),
}

/// The keys of a message, in order.
pub type Keys = Vec<(Arc<str>, Value)>;

/// An item of the meta template's `round`.
#[derive(Clone, Debug)]
pub enum RoundItem {
    /// A bare string.
    Str(Arc<str>),
    /// A role, as its index in [`Rounds::roles`].
    Role(usize),
}

/// The dict form.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The value of `begin`.
    pub begin: Option<Value>,
    /// The value of `end`.
    pub end: Option<Value>,
    /// The round.
    pub round: Vec<RoundItem>,
    /// True if there is no round: the dialogue's turns replace it, each with its own texts.
    pub has_no_round: bool,
    /// The names and keys of all roles: those of the round first, then the reserved ones.
    pub roles: Vec<(Value, Turn)>,
}

impl Rounds {
    /// Return the index of a role in [`Self::roles`].
    pub fn role(&self, name: &Value) -> Option<usize> {
        self.roles.iter().position(|(n, _)| n.equals(name))
    }

    /// Return the position of a role in the round; None for reserved and unknown roles.
    pub fn position(&self, name: &Value) -> Option<usize> {
        let role = self.role(name)?;
        self.round.iter().position(|item| matches!(item, RoundItem::Role(r) if *r == role))
    }

    /// Return a turn with the keys of its role, or else of its fallback role, overridden by the turn's keys. It is for
    /// meta templates without a round.
    pub fn turn_as_role(&self, turn: &Turn) -> Turn {
        let role = |key: &str| self.role(turn.constant(key)?);
        let mut out = match role(keys::ROLE).or_else(|| role(keys::FALLBACK_ROLE)) {
            Some(index) => self.roles[index].1.clone(),
            None => Turn { path: turn.path.clone(), keys: Vec::new() },
        };
        out.update(turn);
        out
    }

    /// Return the names of the roles, such as `'HUMAN', 'BOT'`, for error messages.
    pub fn names(&self) -> String {
        self.roles.iter().map(|(n, _)| n.to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// The keys of a meta template that are read.
pub const META_KEYS: &[&str] = &["round", "reserved_roles", "begin", "end", "eos_token_id"];
/// The keys of a role that are read. A turn is laid over a role, so the role may have the turn's keys.
pub const ROLE_KEYS: &[&str] =
    &[keys::ROLE, keys::API_ROLE, "begin", "end", keys::PROMPT, keys::GENERATE, keys::FALLBACK_ROLE];

const PATH: &str = "meta_template";
const RAW_ROLES: [&str; 3] = ["system", "user", "assistant"];

impl MetaTemplate {
    /// Read a meta template; an empty value gives None. The list form is only for messages.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that the harness's parser refuses: no `round`, a round that isn't a list, a
    /// duplicate role, a list item without a role. A token id for which `tokens` has no text is an error only when its
    /// role's text is needed.
    pub fn parse(value: &Value, for_messages: bool, dialect: Dialect, tokens: TokenTexts) -> Result<Option<Self>> {
        if !value.truthy() {
            return Ok(None);
        }
        match value {
            Value::List(items) if for_messages => Ok(Some(Self::Messages(messages(items)?))),
            Value::List(_) => Err(Error::template(
                Code::WrongMetaTemplateForm,
                PATH,
                "a list is for messages; text needs a dict with a round, or output=\"messages\"",
            )),
            Value::Dict(_) => Ok(Some(Self::Rounds(rounds(value, dialect, tokens)?))),
            other => Err(Error::template(
                Code::WrongType,
                PATH,
                format!("expected a dict with a round, found {}", other.type_name()),
            )),
        }
    }
}

fn messages(items: &[Value]) -> Result<Vec<Keys>> {
    let read = |(n, item): (usize, &Value)| {
        let path = format!("{PATH}[{n}]");
        let Value::Dict(keys) = item else {
            return Err(Error::template(
                Code::WrongType,
                path,
                format!("expected a message (a dict), found {}", item.type_name()),
            ));
        };
        match item.get(keys::ROLE).and_then(Value::as_str) {
            Some(role) if RAW_ROLES.contains(&role) => {}
            _ => {
                let role = item.get(keys::ROLE).unwrap_or(&Value::None);
                return Err(Error::template(
                    Code::InvalidRole,
                    format!("{path}.role"),
                    format!(
                        "role {role} is not one of 'system', 'user', 'assistant'{}{}",
                        did_you_mean(role.as_str().unwrap_or_default(), RAW_ROLES),
                        if item.get(keys::ROLE).is_none() {
                            misspelling_hint(keys::ROLE, item.names(), &[])
                        } else {
                            String::new()
                        }
                    ),
                ));
            }
        }
        Ok(keys.iter().map(|(k, v)| (k.key(), v.clone())).collect())
    };
    items.iter().enumerate().map(read).collect()
}

fn rounds(value: &Value, dialect: Dialect, tokens: TokenTexts) -> Result<Rounds> {
    let section = |key: &str| match value.get(key) {
        Some(Value::List(items)) => Ok(items),
        Some(other) => Err(Error::template(
            Code::WrongType,
            format!("{PATH}.{key}"),
            format!("expected a list, found {}", other.type_name()),
        )),
        None => {
            let hint = misspelling_hint(key, value.names(), META_KEYS);
            Err(Error::template(Code::MissingKey, PATH, format!("the key {key:?} is required, and missing{hint}")))
        }
    };
    let mut out = Rounds {
        begin: value.get("begin").cloned(),
        end: value.get("end").cloned(),
        round: Vec::new(),
        has_no_round: dialect.optional_round() && value.get("round").is_none(),
        roles: Vec::new(),
    };
    let read = |key: &str, out: &mut Rounds| -> Result<Vec<RoundItem>> {
        let mut items = Vec::new();
        for (n, item) in section(key)?.iter().enumerate() {
            let path = format!("{PATH}.{key}[{n}]");
            items.push(match item {
                Value::Str(s) => RoundItem::Str(s.clone()),
                Value::Dict(keys) => {
                    let name = item.get(keys::ROLE).ok_or_else(|| {
                        let hint = misspelling_hint(keys::ROLE, item.names(), ROLE_KEYS);
                        Error::template(Code::MissingKey, &path, format!("a role needs the key \"role\"{hint}"))
                    })?;
                    if out.role(name).is_some() {
                        return Err(Error::template(
                            Code::DuplicateRole,
                            path,
                            format!("role {name} is there twice; roles must be unique"),
                        ));
                    }
                    out.roles.push((name.clone(), role(keys, &path, tokens)?));
                    RoundItem::Role(out.roles.len() - 1)
                }
                other => {
                    return Err(Error::template(
                        Code::WrongType,
                        path,
                        format!("expected a role (a dict) or a str, found {}", other.type_name()),
                    ));
                }
            });
        }
        Ok(items)
    };
    if !out.has_no_round {
        out.round = read("round", &mut out)?;
    }
    if value.get("reserved_roles").is_some() {
        read("reserved_roles", &mut out)?;
    }
    Ok(out)
}

/// Return a role's keys. A `begin` or `end` that is a list of strings and token ids becomes a text. An id without text
/// is an error only when its role speaks as text.
///
/// # Errors
///
/// The errors of `tokens`.
fn role(keys: &[(Value, Value)], path: &str, tokens: TokenTexts) -> Result<Turn> {
    let mut turn = Turn { path: path.into(), keys: Vec::with_capacity(keys.len()) };
    for (key, value) in keys {
        let name: Arc<str> = key.key();
        let entry = match (&*name, value) {
            ("begin" | "end", Value::List(parts)) => joined(parts, &format!("{path}.{name}"), tokens)?,
            (_, other) => Entry::Const(other.clone()),
        };
        turn.keys.push((name, entry));
    }
    Ok(turn)
}

/// Return the text of a list of strings and token ids.
fn joined(parts: &[Value], path: &str, tokens: TokenTexts) -> Result<Entry> {
    let mut text = String::new();
    for (n, part) in parts.iter().enumerate() {
        let bad = |code: Code, message: String| Ok(Entry::Bad(Error::template(code, format!("{path}[{n}]"), message)));
        match part {
            Value::Str(s) => text.push_str(s),
            Value::Int(id) => match tokens(*id)? {
                Some(token_text) => text.push_str(&token_text),
                None => {
                    return bad(
                        Code::TokenWithoutText,
                        format!("token id {id} has no text; give it by tokens={{{id}: ...}}"),
                    );
                }
            },
            other => return bad(Code::WrongType, format!("expected a str or a token id, found {}", other.type_name())),
        }
    }
    Ok(Entry::Const(Value::Str(text.into())))
}
