//! What notes are made of.

use super::table_facts::TableFacts;
use crate::plan::{Choice, Config, Settings};
use crate::template::Template;
use crate::value::Value;

/// What notes are made of.
pub(super) struct Subject<'a> {
    /// The configuration as it is written.
    pub settings: &'a Settings,
    /// The configuration as it was read.
    pub config: &'a Config,
    /// The fields of a sample.
    pub fields: Vec<&'a str>,
    /// What is known of the tables.
    pub tables: &'a TableFacts<'a>,
}

impl<'a> Subject<'a> {
    /// A configuration and its tables.
    pub fn new(settings: &'a Settings, config: &'a Config, tables: &'a TableFacts<'a>) -> Self {
        let index = if let Choice::Column(name) = &config.retriever.choice { Some(name.as_str()) } else { None };
        // The column that says which examples a sample uses is none of its fields.
        let fields = tables.samples.iter().copied().filter(|name| Some(*name) != index).collect();
        Self { settings, config, fields, tables }
    }

    /// The templates that are given, each with its value and its path.
    pub fn templates(&self) -> impl Iterator<Item = (&'a Template, &'a Value, &'static str)> {
        let Settings { prompt_template, ice_template, .. } = self.settings;
        let prompt = self.config.prompt.as_ref().map(|template| (template, prompt_template, "prompt_template"));
        let ice = self.config.ice.as_ref().map(|template| (template, ice_template, "ice_template"));
        prompt.into_iter().chain(ice)
    }

    /// The template that renders the samples, with its value and its path.
    pub fn main(&self) -> (&'a Template, &'a Value, &'static str) {
        let (value, path) = match &self.config.prompt {
            Some(_) => (&self.settings.prompt_template, "prompt_template"),
            None => (&self.settings.ice_template, "ice_template"),
        };
        (self.config.main(), value, path)
    }

    /// Whether a sample has this field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains(&name)
    }

    /// The ICE template, if it renders examples here.
    pub fn ice(&self) -> Option<&Template> {
        self.config.ice.as_ref().filter(|_| !self.config.retriever.choice.is_empty())
    }

    /// Whether the output column's value is left out of prompts.
    pub fn masks(&self, name: &str) -> bool {
        self.config.masked() == Some(name)
    }
}
