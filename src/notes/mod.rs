//! What is probably a mistake, from the configuration and the schema alone.
//!
//! A harness renders a misspelt placeholder as it stands and a turn under a misspelt key as an empty one. So does this
//! crate; but it says so. A note argues from what is written down: which names are columns, which keys somebody reads,
//! which texts are filled. That no configuration that is right gets a warning weighs more than that every mistake gets
//! one.

mod braces;
mod columns;
mod inferencer;
mod keys;
mod placeholders;
mod structure;
mod texts;
mod turns;

use std::collections::BTreeSet;

use crate::plan::{Choice, Config, Settings};
use crate::template::Template;

/// How sure a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Very likely a mistake.
    Warning,
    /// Worth knowing, and right in some configurations.
    Info,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// One thing that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which kind, by name.
    pub code: &'static str,
    /// How sure it is.
    pub severity: Severity,
    /// Path in the configuration.
    pub place: String,
    /// What is there, and what becomes of it.
    pub message: String,
    /// What would be right.
    pub remedy: String,
}

impl Note {
    fn warning(code: &'static str, place: &str, message: String, remedy: String) -> Self {
        Self { code, severity: Severity::Warning, place: place.to_owned(), message, remedy }
    }

    fn info(code: &'static str, place: &str, message: String, remedy: String) -> Self {
        Self { severity: Severity::Info, ..Self::warning(code, place, message, remedy) }
    }
}

/// What is known of the tables.
#[derive(Clone, Debug, Default)]
pub struct Tables<'a> {
    /// Columns of the samples, in order.
    pub samples: Vec<&'a str>,
    /// Those columns of the samples that hold texts, where the types are known.
    pub texts: Vec<&'a str>,
    /// Columns of the examples, where there are any.
    pub examples: Option<Vec<&'a str>>,
    /// Whether examples and samples are the same table.
    pub same: bool,
    /// Chosen examples that are samples too, by their row numbers.
    pub shared: Vec<i64>,
}

/// All notes on a configuration and its tables, in the order of its parts.
pub fn notes(settings: &Settings, config: &Config, tables: &Tables) -> Vec<Note> {
    let mut out = Vec::new();
    let index = if let Choice::Column(name) = &config.retriever.choice { Some(name.as_str()) } else { None };
    // The column that says which examples a sample uses is none of its fields.
    let fields: Vec<&str> = tables.samples.iter().copied().filter(|name| Some(*name) != index).collect();
    let subject = Subject { settings, config, fields, tables };
    keys::notes(&subject, &mut out);
    structure::notes(&subject, &mut out);
    inferencer::notes(&subject, &mut out);
    turns::notes(&subject, &mut out);
    placeholders::notes(&subject, &mut out);
    columns::notes(&subject, &mut out);
    // A label map says the same of each of its labels' shared parts.
    let mut seen = BTreeSet::new();
    out.retain(|note| seen.insert((note.code, note.place.clone(), note.message.clone())));
    out
}

/// What notes are made of.
struct Subject<'a> {
    settings: &'a Settings,
    config: &'a Config,
    /// The fields of a sample.
    fields: Vec<&'a str>,
    tables: &'a Tables<'a>,
}

impl Subject<'_> {
    /// Whether a sample has this field.
    fn has(&self, name: &str) -> bool {
        self.fields.contains(&name)
    }

    /// The ICE template, if it renders examples here.
    fn ice(&self) -> Option<&Template> {
        let none = match &self.config.retriever.choice {
            Choice::Zero => true,
            Choice::Fixed(ids) => ids.is_empty(),
            Choice::Random { count, .. } => *count == 0,
            Choice::Window { k } => *k == 0,
            Choice::Column(_) => false,
        };
        self.config.ice.as_ref().filter(|_| !none)
    }

    /// Whether the output column's value is left out of prompts.
    fn masks(&self, name: &str) -> bool {
        self.config.masked() == Some(name)
    }
}

/// `'a', 'b' and 3 more`.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("'{name}'")).collect();
    match names.len().saturating_sub(shown.len()) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
