//! The table of a renderer's settings: whatever lists their names is a filter of it.

use SettingGroup::{Budget, Harness, Object, Rendering, Short, Template};

/// The subject of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingGroup {
    /// The template, which every configuration has.
    Template,
    /// A part of a harness's configuration.
    Harness,
    /// The form, the rules and the limits of what is rendered.
    Rendering,
    /// A word of the short form, which stands for parts of a harness's configuration.
    Short,
    /// A part of a budget of tokens, by which examples are left out.
    Budget,
    /// An object that is given next to a configuration: examples, a tokenizer, a chat template.
    Object,
}

impl SettingGroup {
    /// Return the name that Python has for the group.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Harness => "harness",
            Self::Rendering => "rendering",
            Self::Short => "short",
            Self::Budget => "budget",
            Self::Object => "object",
        }
    }
}

/// A setting: an argument of a renderer, by the name that it has in Python, in files and, with dashes, on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The argument's name.
    pub name: &'static str,
    /// The subject.
    pub group: SettingGroup,
    /// True if a configuration file may hold it.
    pub in_files: bool,
    /// The option of the command without its dashes, if there is one.
    pub option: Option<&'static str>,
    /// True if it is a dict whose keys have no order.
    pub is_unordered: bool,
}

impl Setting {
    const fn new(name: &'static str, group: SettingGroup) -> Self {
        let in_files = !matches!(group, SettingGroup::Object);
        Self { name, group, in_files, option: None, is_unordered: false }
    }

    const fn option(self, option: &'static str) -> Self {
        Self { option: Some(option), ..self }
    }

    const fn unordered(self) -> Self {
        Self { is_unordered: true, ..self }
    }
}

/// All settings of a renderer, in the order of its arguments.
pub const SETTINGS: [Setting; 30] = [
    Setting::new("prompt_template", Template),
    Setting::new("ice_template", Harness),
    Setting::new("retriever", Harness).unordered(),
    Setting::new("examples", Object).option("examples"),
    Setting::new("reader", Harness).unordered(),
    Setting::new("inferencer", Harness).unordered(),
    Setting::new("meta_template", Harness),
    Setting::new("mode", Rendering).option("mode"),
    Setting::new("output", Rendering).option("output"),
    Setting::new("labels", Rendering).option("labels"),
    Setting::new("dialect", Rendering).option("dialect"),
    Setting::new("substitution", Rendering).option("substitution"),
    Setting::new("strings", Rendering).option("strings"),
    Setting::new("tokens", Rendering),
    Setting::new("names", Rendering).unordered(),
    Setting::new("refuse", Rendering),
    Setting::new("roles", Rendering).option("roles").unordered(),
    Setting::new("chat_template", Object).option("chat-template"),
    Setting::new("limits", Rendering).option("limits").unordered(),
    Setting::new("unknown", Rendering).option("unknown"),
    Setting::new("system", Short).option("system"),
    Setting::new("optional_system", Short).option("optional-system"),
    Setting::new("shots", Short).option("shots"),
    Setting::new("output_column", Short).option("answer"),
    Setting::new("seed", Short).option("shots-seed"),
    Setting::new("tokenizer", Object).option("tokenizer"),
    Setting::new("max_seq_len", Budget).option("max-seq-len"),
    Setting::new("fit", Budget).option("fit"),
    Setting::new("reserve", Budget).option("reserve"),
    Setting::new("fit_labels", Budget).option("fit-labels"),
];

#[cfg(test)]
mod tests {
    use super::SETTINGS;
    use crate::plan::Settings;

    #[test]
    fn what_the_core_reads_is_in_the_table() {
        assert!(Settings::NAMES.iter().all(|name| SETTINGS.iter().any(|setting| setting.name == *name)));
    }
}
