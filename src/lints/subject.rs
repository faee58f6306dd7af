//! The input of notes: a configuration and its tables.

use super::table_facts::TableFacts;
use crate::plan::{Choice, Config, Settings};
use crate::template::Template;
use crate::value::Value;

/// The input of notes.
pub(super) struct Subject<'a> {
    /// The configuration as it is written.
    pub settings: &'a Settings,
    /// The configuration after reading.
    pub config: &'a Config,
    /// The fields of a sample.
    pub fields: Vec<&'a str>,
    /// Facts about the tables.
    pub tables: &'a TableFacts<'a>,
}

impl<'a> Subject<'a> {
    /// Combine a configuration and its tables.
    pub fn new(settings: &'a Settings, config: &'a Config, tables: &'a TableFacts<'a>) -> Self {
        let index = if let Choice::Column(name) = &config.retriever.choice { Some(name.as_str()) } else { None };
        // The column with the row numbers of a sample's examples isn't one of its fields.
        let fields = tables.samples.iter().copied().filter(|name| Some(*name) != index).collect();
        Self { settings, config, fields, tables }
    }

    /// Return the given templates, each with its value and its path.
    pub fn templates(&self) -> impl Iterator<Item = (&'a Template, &'a Value, &'static str)> {
        let Settings { prompt_template, ice_template, .. } = self.settings;
        let prompt = self.config.prompt.as_ref().map(|template| (template, prompt_template, "prompt_template"));
        let ice = self.config.ice.as_ref().map(|template| (template, ice_template, "ice_template"));
        prompt.into_iter().chain(ice)
    }

    /// Return the template that renders the samples, with its value and its path.
    pub fn main(&self) -> (&'a Template, &'a Value, &'static str) {
        let (value, path) = match &self.config.prompt {
            Some(_) => (&self.settings.prompt_template, "prompt_template"),
            None => (&self.settings.ice_template, "ice_template"),
        };
        (self.config.main(), value, path)
    }

    /// Return true if a sample has this field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains(&name)
    }

    /// Return the ICE template, if it renders examples here.
    pub fn ice(&self) -> Option<&Template> {
        self.config.ice.as_ref().filter(|_| !self.config.retriever.choice.is_empty())
    }

    /// Return true if the output column's value is left out of prompts.
    pub fn masks(&self, name: &str) -> bool {
        self.config.masked() == Some(name)
    }
}
