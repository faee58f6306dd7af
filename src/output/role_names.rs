//! What chat APIs call whoever speaks.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::role::{MetaTemplate, Rounds};
use crate::template::{Turn, keys};
use crate::value::Value;

/// The roles of OpenAI's form.
const ROLES: [&str; 5] = ["system", "user", "assistant", "tool", "developer"];

/// What harnesses and data sets call them besides.
const OTHERS: [(&str, &str); 4] =
    [("human", "user"), ("bot", "assistant"), ("gpt", "assistant"), ("model", "assistant")];

const PATH: &str = "roles";

/// The names that a configuration gives to roles of its own.
#[derive(Clone, Debug, Default)]
pub struct RoleNames(Vec<(Arc<str>, Arc<str>)>);

impl RoleNames {
    /// Read the argument `roles`.
    ///
    /// # Errors
    ///
    /// `TemplateError` for what is no dict of strings.
    pub fn parse(value: &Value) -> Result<Self> {
        let wrong = |path: String, wanted: &str, found: &Value| {
            Err(Error::template(Code::WrongType, path, format!("expected {wanted}, found {}", found.type_name())))
        };
        let entries = match value {
            Value::None => return Ok(Self::default()),
            Value::Dict(entries) => entries,
            other => return wrong(PATH.into(), "a dict of roles and what OpenAI calls them", other),
        };
        let mut names = Vec::with_capacity(entries.len());
        for (role, name) in entries {
            let Value::Str(own) = role else { return wrong(PATH.into(), "names of roles as keys", role) };
            match name {
                Value::Str(name) if !name.is_empty() => names.push((own.clone(), name.clone())),
                Value::Str(_) => {
                    let message = "expected a role of OpenAI's form, found an empty str";
                    return Err(Error::template(Code::WrongType, format!("{PATH}.{own}"), message));
                }
                other => return wrong(format!("{PATH}.{own}"), "a role of OpenAI's form (a str)", other),
            }
        }
        Ok(Self(names))
    }

    /// Whether the configuration names none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What OpenAI calls the role of a message. An `api_role` is also known by the role that the meta template gives it to.
    ///
    /// # Errors
    ///
    /// Why it is called nothing, and what would do.
    pub fn name(&self, role: &Value, meta: Option<&MetaTemplate>) -> Result<Arc<str>, String> {
        let Some(name) = role.as_str() else {
            return Err(format!("a message has the role {role}, which is no name"));
        };
        let speakers: Vec<&str> = match meta {
            Some(MetaTemplate::Rounds(meta)) => speakers(meta, role).collect(),
            _ => Vec::new(),
        };
        let given = |name: &str| self.0.iter().find(|(own, _)| **own == *name).map(|(_, name)| name.clone());
        if let Some(found) = given(name) {
            return Ok(found);
        }
        let usual = known(name);
        if let (Some(found), false) = (&usual, speakers.iter().any(|own| given(own).is_some())) {
            return Ok(found.clone());
        }
        // What one of several is called isn't what the others say.
        let own = |own: &str| given(own).or_else(|| known(own)).or_else(|| usual.clone());
        let mut found = speakers.iter().filter_map(|name| Some((*name, own(name)?)));
        if let Some((first, one)) = found.next() {
            return match found.find(|(_, other)| *other != one) {
                None => Ok(one),
                Some((second, other)) => Err(format!(
                    "the api_role {role} is that of '{first}', which is {one:?}, and of '{second}', which is {other:?}; \
                     say which it is by roles={{{role}: 'user'}}"
                )),
            };
        }
        let all = || ROLES.into_iter().chain(OTHERS.iter().map(|(name, _)| *name));
        Err(format!(
            "the role {role} is none that OpenAI's form has ({}), and is mapped to none; say which it is by \
             roles={{{role}: 'user'}}{}",
            ROLES.join(", "),
            did_you_mean(name, all())
        ))
    }
}

/// The roles of a meta template that an API calls `api_role`.
fn speakers<'m>(meta: &'m Rounds, api_role: &Value) -> impl Iterator<Item = &'m str> {
    let called = |turn: &Turn| turn.constant(keys::API_ROLE).is_some_and(|own| own.equals(api_role));
    meta.roles.iter().filter(move |(_, turn)| called(turn)).filter_map(|(name, _)| name.as_str())
}

/// What a role is called in any case, whoever configures it.
fn known(name: &str) -> Option<Arc<str>> {
    let own = ROLES.into_iter().find(|role| role.eq_ignore_ascii_case(name));
    own.or_else(|| OTHERS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, role)| *role))
        .map(Arc::from)
}

/// Where the configuration gives a message its role.
pub(super) fn place(role: &Value, meta: Option<&MetaTemplate>) -> String {
    let of = |turn: &Turn| {
        let own = turn.constant(keys::API_ROLE).is_some_and(|own| own.equals(role));
        own.then(|| format!("{}.{}", turn.place, keys::API_ROLE))
    };
    match meta {
        Some(MetaTemplate::Rounds(meta)) => meta.roles.iter().find_map(|(_, turn)| of(turn)),
        _ => None,
    }
    .unwrap_or_else(|| PATH.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(given: &[(&str, &str)], role: &str) -> Option<String> {
        let given = given.iter().map(|(own, name)| (Value::from(*own), Value::from(*name))).collect();
        let names = RoleNames::parse(&Value::Dict(given)).unwrap();
        names.name(&role.into(), None).ok().map(|name| name.to_string())
    }

    #[test]
    fn what_is_given_comes_before_what_is_known_in_any_case() {
        assert_eq!(name(&[], "HUMAN").as_deref(), Some("user"));
        assert_eq!(name(&[], "Developer").as_deref(), Some("developer"));
        assert_eq!(name(&[], "GPT").as_deref(), Some("assistant"));
        assert_eq!(name(&[], "critic"), None);
        assert_eq!(name(&[("critic", "user")], "critic").as_deref(), Some("user"));
        assert_eq!(name(&[("critic", "user")], "CRITIC"), None, "a name that is given is one as it stands");
        assert_eq!(name(&[("system", "developer")], "system").as_deref(), Some("developer"));
    }
}
