//! The configuration of a renderer, read and checked once.

use std::fmt::Write as _;
use std::sync::Arc;

use super::finding::Finding;
use super::infer_mode::InferMode;
use super::limits::Limits;
use super::retriever::Retriever;
use super::substitution::Substitution;
use crate::dialect::Dialect;
use crate::error::{Code, Error, Result, excerpt};
use crate::output::{FORMS, OutputForm, Parser, RoleNames, default_form, form};
use crate::role::{MetaTemplate, TokenTexts};
use crate::suggest::did_you_mean;
use crate::template::{RawItem, Source, Template, family_name, keys};
use crate::value::Value;

/// The purpose of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The model generates: the output column is masked, and the prompt stops where generation starts.
    Gen,
    /// The model scores whole texts: one request for each label, and nothing is masked.
    Ppl,
}

impl Mode {
    /// All modes, by the names that users give them.
    pub const ALL: [(&'static str, Self); 2] = [("gen", Self::Gen), ("ppl", Self::Ppl)];

    /// Return the name of the mode.
    pub fn name(self) -> &'static str {
        if self == Self::Gen { "gen" } else { "ppl" }
    }
}

/// The Arrow layout of the output strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// 32-bit offsets.
    #[default]
    String,
    /// 64-bit offsets.
    LargeString,
    /// Views.
    StringView,
}

impl Layout {
    /// All layouts, by the names that users give them; the first is the default.
    pub const ALL: [(&'static str, Self); 3] =
        [("string", Self::String), ("large_string", Self::LargeString), ("string_view", Self::StringView)];
}

/// The choices for a template that is surely mistaken, such as one with a misspelt column: true makes it an error.
pub const UNKNOWN: [(&str, bool); 2] = [("refuse", true), ("keep", false)];

/// The columns with the questions and the answer.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// `input_columns`.
    pub input_columns: Vec<String>,
    /// `output_column`.
    pub output_column: Option<String>,
}

/// Names of the output columns.
#[derive(Clone, Debug)]
pub struct Names {
    /// The name of the prompt column.
    pub prompt: String,
    /// The name of the label column.
    pub label: String,
    /// The name of the turn column.
    pub turn: String,
}

/// Define the settings that the core reads, and take each by its name.
macro_rules! settings {
    ($($name:ident),* $(,)?) => {
        /// The constructor's arguments as values, by their names.
        #[derive(Clone, Debug, Default)]
        #[allow(missing_docs, reason = "each field is the constructor argument of the same name")]
        pub struct Settings {
            $(pub $name: Value,)*
        }

        impl Settings {
            /// The names of the settings, each of which `SETTINGS` has.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Take each argument by its name.
            ///
            /// # Errors
            ///
            /// The errors of `get`.
            pub fn of<E>(get: impl Fn(&str) -> Result<Value, E>) -> Result<Self, E> {
                Ok(Self { $($name: get(stringify!($name))?,)* })
            }
        }
    };
}

settings!(
    prompt_template,
    ice_template,
    retriever,
    reader,
    inferencer,
    meta_template,
    mode,
    output,
    labels,
    dialect,
    substitution,
    strings,
    names,
    refuse,
    roles,
    limits,
    unknown,
);

impl Settings {
    /// Return the rule that applies if the user names none: that of the harnesses if the settings have anything of a
    /// harness. Otherwise no value is rewritten, because a user without a harness doesn't expect it.
    pub fn default_substitution(&self) -> Substitution {
        let of_harness =
            [&self.ice_template, &self.retriever, &self.reader, &self.inferencer, &self.meta_template, &self.dialect];
        let is_harness =
            of_harness.iter().any(|value| **value != Value::None) || self.prompt_template.get("type").is_some();
        if is_harness { Substitution::Harness } else { Substitution::SinglePass }
    }
}

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The prompt template.
    pub prompt: Option<Template>,
    /// The template of examples.
    pub ice: Option<Template>,
    /// The choice of examples for each sample.
    pub retriever: Retriever,
    /// The input columns and the output column.
    pub reader: Reader,
    /// The text that replaces the output column in gen mode.
    pub gen_field_replace_token: Arc<str>,
    /// True if the separator token stays (ppl with `normalizing_str`).
    pub remain_sep: bool,
    /// The model's side.
    pub meta: Option<MetaTemplate>,
    /// gen or ppl.
    pub mode: Mode,
    /// The form of a request.
    pub output: &'static OutputForm,
    /// The names of the configuration's roles in chat APIs.
    pub roles: RoleNames,
    /// The requests of a conversation.
    pub infer_mode: InferMode,
    /// Labels given by the user or the inferencer.
    pub labels: Option<Vec<Value>>,
    /// The harness whose rules apply.
    pub dialect: Dialect,
    /// The way in which fields are filled in.
    pub substitution: Substitution,
    /// True if doubled braces around a column's name stand for braces.
    pub unescapes: bool,
    /// True if what is surely a mistake in a template is an error.
    pub refuses_mistakes: bool,
    /// The layout of the output strings.
    pub layout: Layout,
    /// Names of the output columns.
    pub names: Names,
    /// Findings that are errors.
    pub refuse: Vec<Finding>,
    /// The limits on sizes.
    pub limits: Limits,
    /// The meta template's `eos_token_id`, which isn't part of a prompt.
    pub eos_token_id: Option<Value>,
}

impl Config {
    /// Read and check the constructor's arguments. `tokens` gives the text of a token id in a meta template.
    ///
    /// # Errors
    ///
    /// `TemplateError` with the path of the fault.
    pub fn new(s: &Settings, tokens: TokenTexts) -> Result<Self> {
        let limits = Limits::parse(&s.limits)?;
        limits.check_template(&[
            ("prompt_template", &s.prompt_template),
            ("ice_template", &s.ice_template),
            ("meta_template", &s.meta_template),
            ("retriever", &s.retriever),
            ("inferencer", &s.inferencer),
            ("labels", &s.labels),
        ])?;
        let dialect = Dialect::parse(word(&s.dialect, "dialect", Dialect::default().name())?)?;
        let template = |value: &Value, path, source| match value {
            Value::None => Ok(None),
            other => Template::parse(other, path, source, dialect).map(Some),
        };
        let mut prompt = template(&s.prompt_template, "prompt_template", Source::PromptTemplate)?;
        let ice = template(&s.ice_template, "ice_template", Source::IceTemplate)?;
        let inferencer = Inferencer::parse(&s.inferencer)?;
        let reader = reader(&s.reader)?;
        let serves = ice.as_ref().is_some_and(|ice| ice.ice_token().is_some());
        if prompt.is_none() && !serves && dialect.renders_without_template() {
            prompt = Some(Template::Columns(reader.input_columns.clone()));
        }
        if prompt.is_none() && ice.is_none() && !inferencer.chats {
            return Err(Error::template(
                Code::MissingTemplate,
                "prompt_template",
                "a prompt template, or an ICE template alone, is required",
            ));
        }
        let retriever = Retriever::parse(&s.retriever, dialect)?;
        // A chat uses no examples, and no ICE template replaces its prompt template.
        let (prompt, ice, retriever) = if inferencer.chats {
            (Some(chat(prompt, &reader, s, dialect)?), None, Retriever::parse(&Value::None, dialect)?)
        } else {
            (prompt, ice, retriever)
        };
        let mode = match word(&s.mode, "mode", "")? {
            "" if inferencer.scores => Mode::Ppl,
            "" => Mode::Gen,
            name => by_name("mode", name, &Mode::ALL)?,
        };
        let substitution = by_name(
            "substitution",
            word(&s.substitution, "substitution", s.default_substitution().name())?,
            &Substitution::ALL,
        )?;
        let is_raw = matches!(prompt.as_ref().or(ice.as_ref()), Some(Template::Raw(_)));
        let output = match word(&s.output, "output", "")? {
            "" => default_form(is_raw || speaks_api(&s.meta_template)),
            name => form(name)
                .ok_or_else(|| not_one_of("output", name, &FORMS.iter().map(|form| form.name).collect::<Vec<_>>()))?,
        };
        let roles = RoleNames::parse(&s.roles)?;
        if !roles.is_empty() && output.chat.is_none() {
            let message = format!(
                "they name the roles of output=\"openai\", and the output is {:?}; give the one, or leave out the other",
                output.name
            );
            return Err(Error::template(Code::UnsupportedMode, "roles", message));
        }
        let meta = MetaTemplate::parse(&s.meta_template, output.parser == Parser::Messages, dialect, tokens);
        // A prompt list doesn't use the meta template, so its form isn't checked.
        let meta = if output.parser == Parser::None { None } else { meta? };
        if let (true, Some(_), Some(Value::List(roles))) =
            (inferencer.chats, &meta, s.meta_template.get("reserved_roles"))
            && roles.iter().any(|role| role.as_str().is_some())
        {
            let message = "a chat has no place for a str without a role";
            return Err(Error::template(Code::StringWithoutRole, "meta_template.reserved_roles", message));
        }
        if !dialect.raw_messages() {
            let raw = |t: &Option<Template>| matches!(t, Some(Template::Raw(_)));
            let type_path =
                if raw(&prompt) { Some("prompt_template.type") } else { raw(&ice).then_some("ice_template.type") };
            if let Some(type_path) = type_path {
                return Err(Error::template(
                    Code::UnsupportedClass,
                    type_path,
                    "this dialect has no RawPromptTemplate",
                ));
            }
            if matches!(meta, Some(MetaTemplate::Messages(_))) {
                return Err(Error::template(
                    Code::WrongMetaTemplateForm,
                    "meta_template",
                    "expected a dict with a round, found a list",
                ));
            }
        }
        if matches!(prompt.as_ref().or(ice.as_ref()), Some(Template::Media(_))) && !dialect.speaks_parts() {
            let message = "only AISBench has MMPromptTemplate; give dialect=\"aisbench\"";
            return Err(Error::template(Code::UnsupportedClass, "prompt_template.type", message));
        }
        let labels = match &s.labels {
            Value::None => inferencer.labels,
            given => Some(label_list(given, "labels")?),
        };
        Ok(Self {
            prompt,
            ice,
            retriever,
            reader,
            gen_field_replace_token: inferencer.gen_field_replace_token,
            remain_sep: inferencer.remain_sep,
            meta,
            mode,
            output,
            roles,
            infer_mode: inferencer.infer_mode,
            labels,
            dialect,
            substitution,
            unescapes: substitution == Substitution::SinglePass,
            refuses_mistakes: by_name("unknown", word(&s.unknown, "unknown", UNKNOWN[1].0)?, &UNKNOWN)?,
            layout: by_name("strings", word(&s.strings, "strings", Layout::ALL[0].0)?, &Layout::ALL)?,
            names: names(&s.names)?,
            refuse: Finding::list(&s.refuse)?,
            limits,
            eos_token_id: s.meta_template.get("eos_token_id").cloned(),
        })
    }

    /// Return the template that renders the samples: the prompt template, or an ICE template alone.
    pub fn main(&self) -> &Template {
        match (&self.prompt, &self.ice) {
            (Some(t), _) | (None, Some(t)) => t,
            (None, None) => unreachable!("the constructor refuses a configuration without templates"),
        }
    }

    /// Return true if requests contain examples of raw messages. Otherwise such examples are dropped.
    pub fn shows_raw_examples(&self) -> bool {
        let Template::Raw(raw) = self.main() else { return false };
        let is_token = |item: &RawItem| matches!(item, RawItem::Str(text) if raw.ice_token.as_deref() == Some(text));
        self.mode == Mode::Gen && raw.items.iter().any(is_token)
    }

    /// Return the output column if it is masked: in gen mode, except for raw messages.
    pub fn masked(&self) -> Option<&str> {
        match self.main() {
            Template::Prompt(_) if self.mode == Mode::Gen => self.reader.output_column.as_deref(),
            _ => None,
        }
    }
}

/// Return the value that users give a name, from all values by their names.
fn by_name<T: Copy>(path: &str, name: &str, values: &[(&'static str, T)]) -> Result<T> {
    let value = values.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    value.ok_or_else(|| not_one_of(path, name, &values.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

fn not_one_of(path: &str, word: &str, allowed: &[&str]) -> Error {
    let mut message = format!("{} is not one of ", excerpt(word));
    for (n, name) in allowed.iter().enumerate() {
        let _ = write!(message, "{}{name:?}", if n > 0 { ", " } else { "" });
    }
    message.push_str(&did_you_mean(word, allowed.iter().copied()));
    Error::template(Code::UnknownName, path, message)
}

fn word<'a>(value: &'a Value, path: &str, default: &'a str) -> Result<&'a str> {
    match value {
        Value::None => Ok(default),
        Value::Str(s) => Ok(s),
        other => Err(Error::template(Code::WrongType, path, format!("expected a str, found {}", other.type_name()))),
    }
}

/// Return true if a meta template is for an API: the list form, or a role with `api_role`.
fn speaks_api(meta: &Value) -> bool {
    match meta {
        Value::List(items) => !items.is_empty(),
        Value::Dict(_) => ["round", "reserved_roles"].iter().any(|key| match meta.get(key) {
            Some(Value::List(items)) => items.iter().any(|item| item.get(keys::API_ROLE).is_some()),
            _ => false,
        }),
        _ => false,
    }
}

fn strings(value: &Value, path: &str) -> Result<Vec<String>> {
    match value {
        Value::None => Ok(Vec::new()),
        Value::Str(s) => Ok(s.split_whitespace().map(str::to_owned).collect()),
        Value::List(items) => items
            .iter()
            .enumerate()
            .map(|(n, v)| {
                v.as_str().map(str::to_owned).ok_or_else(|| {
                    Error::template(
                        Code::WrongType,
                        format!("{path}[{n}]"),
                        format!("expected a column name, found {}", v.type_name()),
                    )
                })
            })
            .collect(),
        other => {
            Err(Error::template(Code::WrongType, path, format!("expected column names, found {}", other.type_name())))
        }
    }
}

/// The keys of a reader that are read: here those of the columns, and in a harness those for loading a dataset.
pub const READER_KEYS: &[&str] = &[
    "input_columns",
    "output_column",
    "type",
    "input_template",
    "output_template",
    "train_split",
    "train_range",
    "test_split",
    "test_range",
];

fn reader(value: &Value) -> Result<Reader> {
    match value {
        Value::None => Ok(Reader::default()),
        Value::Dict(_) => Ok(Reader {
            input_columns: strings(value.get("input_columns").unwrap_or(&Value::None), "reader.input_columns")?,
            output_column: match value.get("output_column") {
                None => None,
                Some(v) if !v.truthy() => None,
                Some(Value::Str(s)) => Some(s.to_string()),
                Some(other) => {
                    return Err(Error::template(
                        Code::WrongType,
                        "reader.output_column",
                        format!("expected a column name or None, found {}", other.type_name()),
                    ));
                }
            },
        }),
        other => {
            Err(Error::template(Code::WrongType, "reader", format!("expected a dict, found {}", other.type_name())))
        }
    }
}

fn chat(prompt: Option<Template>, reader: &Reader, s: &Settings, dialect: Dialect) -> Result<Template> {
    if !dialect.chats() {
        return Err(Error::template(Code::UnsupportedClass, "inferencer.type", "this dialect has no ChatInferencer"));
    }
    if matches!(s.reader.get("input_columns"), None | Some(Value::None)) {
        return Err(Error::template(
            Code::MissingKey,
            "reader.input_columns",
            "a chat is made of the input columns; name them",
        ));
    }
    Template::chat(prompt, reader.input_columns.clone(), reader.output_column.clone())
}

struct Inferencer {
    scores: bool,
    chats: bool,
    gen_field_replace_token: Arc<str>,
    remain_sep: bool,
    infer_mode: InferMode,
    labels: Option<Vec<Value>>,
}

impl Inferencer {
    fn parse(value: &Value) -> Result<Self> {
        let family = match value {
            Value::None => String::new(),
            Value::Dict(_) => match value.get("type") {
                Some(t) => family_name(t, "inferencer.type")?,
                None => String::new(),
            },
            other => {
                return Err(Error::template(
                    Code::WrongType,
                    "inferencer",
                    format!("expected a dict, found {}", other.type_name()),
                ));
            }
        };
        let refused = match family.as_str() {
            "AgentInferencer" => Some("an agent makes its own prompts of a chat and of what its tools answer"),
            "ChatMLInferencer" | "ParallelChatMLInferencer" => Some("it makes a new template of each row's messages"),
            _ => None,
        };
        if let Some(why) = refused {
            return Err(Error::template(
                Code::UnsupportedClass,
                "inferencer.type",
                format!("{family} is not supported: {why}"),
            ));
        }
        let gen_field_replace_token = match value.get("gen_field_replace_token") {
            None => "".into(),
            Some(Value::Str(s)) => s.clone(),
            // The harness applies str() to it.
            Some(other) => other.to_string().into(),
        };
        let labels = match value.get("labels") {
            None | Some(Value::None) => None,
            Some(given) => Some(label_list(given, "inferencer.labels")?),
        };
        Ok(Self {
            scores: family == "PPLInferencer" || family == "LLInferencer",
            chats: is_chat(&family),
            gen_field_replace_token,
            remain_sep: value.get("normalizing_str").is_some_and(|v| *v != Value::None),
            infer_mode: infer_mode(&family, value.get("infer_mode"))?,
            labels,
        })
    }
}

fn is_chat(family: &str) -> bool {
    family == "ChatInferencer" || family == "ParallelChatInferencer"
}

fn infer_mode(family: &str, value: Option<&Value>) -> Result<InferMode> {
    let default = match family {
        "MultiTurnGenInferencer" => "every",
        family if is_chat(family) => "last",
        _ => return Ok(InferMode::Whole),
    };
    let path = "inferencer.infer_mode";
    by_name(path, word(value.unwrap_or(&Value::None), path, default)?, &InferMode::ALL)
}

fn label_list(value: &Value, path: &str) -> Result<Vec<Value>> {
    let Value::List(items) = value else {
        return Err(Error::template(
            Code::WrongType,
            path,
            format!("expected a list of labels, found {}", value.type_name()),
        ));
    };
    for (n, item) in items.iter().enumerate() {
        if matches!(item, Value::List(_) | Value::Dict(_) | Value::Other(_)) {
            return Err(Error::template(
                Code::WrongType,
                format!("{path}[{n}]"),
                format!("a label is None, a str, an int, a float or a bool; found {}", item.type_name()),
            ));
        }
    }
    Ok(items.clone())
}

fn names(value: &Value) -> Result<Names> {
    let mut names = Names { prompt: "prompt".into(), label: "label".into(), turn: "turn".into() };
    match value {
        Value::None => {}
        Value::Dict(items) => {
            for (key, name) in items {
                let (Some(key), Some(name)) = (key.as_str(), name.as_str()) else {
                    return Err(Error::template(Code::WrongType, "names", "expected a dict of names, str to str"));
                };
                match key {
                    "prompt" => name.clone_into(&mut names.prompt),
                    "label" => name.clone_into(&mut names.label),
                    "turn" => name.clone_into(&mut names.turn),
                    // These columns are added to the core's output.
                    "hash" | "spans" | "error" => {}
                    other => {
                        let allowed = ["prompt", "label", "turn", "hash", "spans", "error"];
                        return Err(not_one_of("names", other, &allowed));
                    }
                }
            }
        }
        other => {
            return Err(Error::template(
                Code::WrongType,
                "names",
                format!("expected a dict, found {}", other.type_name()),
            ));
        }
    }
    if names.prompt == names.label || names.prompt == names.turn || names.label == names.turn {
        return Err(Error::template(Code::DuplicateOutputColumn, "names", "two output columns have the same name"));
    }
    Ok(names)
}
