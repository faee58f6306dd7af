//! The names of roles in chat APIs.

use std::sync::Arc;

use super::chat_form::ChatForm;
use crate::error::{Code, Error, Result};
use crate::role::{MetaTemplate, Rounds};
use crate::suggest::did_you_mean;
use crate::template::{Turn, keys};
use crate::value::Value;

const PATH: &str = "roles";

/// The names that a configuration gives to its roles.
#[derive(Clone, Debug, Default)]
pub struct RoleNames(Vec<(Arc<str>, Arc<str>)>);

impl RoleNames {
    /// Read the argument `roles`.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that isn't a dict of strings.
    pub fn parse(value: &Value) -> Result<Self> {
        let wrong = |path: String, wanted: &str, value: &Value| {
            Err(Error::template(Code::WrongType, path, format!("expected {wanted}, found {}", value.type_name())))
        };
        let entries = match value {
            Value::None => return Ok(Self::default()),
            Value::Dict(entries) => entries,
            other => return wrong(PATH.into(), "a dict of roles and what OpenAI calls them", other),
        };
        let mut names = Vec::with_capacity(entries.len());
        for (role, name) in entries {
            let Value::Str(role_name) = role else { return wrong(PATH.into(), "names of roles as keys", role) };
            match name {
                Value::Str(name) if !name.is_empty() => names.push((role_name.clone(), name.clone())),
                Value::Str(_) => {
                    let message = "expected a role of OpenAI's form, found an empty str";
                    return Err(Error::template(Code::WrongType, format!("{PATH}.{role_name}"), message));
                }
                other => return wrong(format!("{PATH}.{role_name}"), "a role of OpenAI's form (a str)", other),
            }
        }
        Ok(Self(names))
    }

    /// Return true if the configuration gives no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Return a chat API's name for the role of a message. A role of the meta template also gives its name to its
    /// `api_role`.
    ///
    /// # Errors
    ///
    /// A message that says why the role has no name, and how to give it one.
    pub fn name(&self, chat: &ChatForm, role: &Value, meta: Option<&MetaTemplate>) -> Result<Arc<str>, String> {
        let Some(name) = role.as_str() else {
            return Err(format!("a message has the role {role}, which is no name"));
        };
        let speakers: Vec<&str> = match meta {
            Some(MetaTemplate::Rounds(meta)) => speakers(meta, role).collect(),
            _ => Vec::new(),
        };
        let given =
            |name: &str| self.0.iter().find(|(given_role, _)| **given_role == *name).map(|(_, name)| name.clone());
        if let Some(name) = given(name) {
            return Ok(name);
        }
        let usual_name = |name: &str| usual_name(chat, name);
        let usual = usual_name(name);
        if let (Some(name), false) = (&usual, speakers.iter().any(|speaker| given(speaker).is_some())) {
            return Ok(name.clone());
        }
        // If one of several speakers has a given name, that name doesn't apply to the others.
        let name_of = |speaker: &str| given(speaker).or_else(|| usual_name(speaker)).or_else(|| usual.clone());
        let mut names = speakers.iter().filter_map(|name| Some((*name, name_of(name)?)));
        if let Some((first, first_name)) = names.next() {
            return match names.find(|(_, other)| *other != first_name) {
                None => Ok(first_name),
                Some((second, other)) => Err(format!(
                    "the api_role {role} is that of '{first}', which is {first_name:?}, and of '{second}', which is {other:?}; \
                     say which it is by roles={{{role}: 'user'}}"
                )),
            };
        }
        let all = chat.roles.iter().copied().chain(chat.aliases.iter().map(|(name, _)| *name));
        Err(format!(
            "the role {role} is none that {}'s form has ({}), and is mapped to none; say which it is by \
             roles={{{role}: 'user'}}{}",
            chat.api,
            chat.roles.join(", "),
            did_you_mean(name, all)
        ))
    }
}

/// Return the roles of a meta template that have this `api_role`.
fn speakers<'m>(meta: &'m Rounds, api_role: &Value) -> impl Iterator<Item = &'m str> {
    let called = |turn: &Turn| turn.constant(keys::API_ROLE).is_some_and(|name| name.equals(api_role));
    meta.roles.iter().filter(move |(_, turn)| called(turn)).filter_map(|(name, _)| name.as_str())
}

/// Return the name of a role that every configuration has, in any case.
pub(super) fn usual_name(chat: &ChatForm, name: &str) -> Option<Arc<str>> {
    let role = chat.roles.iter().find(|role| role.eq_ignore_ascii_case(name));
    let alias = || chat.aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map(|(_, role)| role);
    role.or_else(alias).map(|role| Arc::from(*role))
}

/// Return the path in the configuration where a message gets its role.
pub(super) fn role_path(role: &Value, meta: Option<&MetaTemplate>) -> String {
    let of = |turn: &Turn| {
        let has_role = turn.constant(keys::API_ROLE).is_some_and(|name| name.equals(role));
        has_role.then(|| format!("{}.{}", turn.path, keys::API_ROLE))
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
    use crate::output::form;

    fn name(given: &[(&str, &str)], role: &str) -> Option<String> {
        let given = given.iter().map(|(role, name)| (Value::from(*role), Value::from(*name))).collect();
        let names = RoleNames::parse(&Value::Dict(given)).unwrap();
        names.name(form("openai").unwrap().chat.unwrap(), &role.into(), None).ok().map(|name| name.to_string())
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
