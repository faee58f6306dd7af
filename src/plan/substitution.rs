//! The rules by which fields are filled in, each with its decisions.

/// A rule by which fields are filled in. Whatever depends on the rule asks one of its methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substitution {
    /// One column after the other over the whole string, as the harnesses do.
    Harness,
    /// Each placeholder of a template once, and nothing else.
    SinglePass,
}

impl Substitution {
    /// All rules, by the names that users give them.
    pub const ALL: [(&'static str, Self); 2] = [("harness", Self::Harness), ("single_pass", Self::SinglePass)];

    /// Return the name of the rule.
    pub fn name(self) -> &'static str {
        if self == Self::Harness { "harness" } else { "single_pass" }
    }

    /// Return the rule that requests are compared with, to tell in which of them the rule makes a difference.
    pub fn opposite(self) -> Self {
        match self {
            Self::Harness => Self::SinglePass,
            Self::SinglePass => Self::Harness,
        }
    }

    /// Return true if the columns are filled in one after the other; otherwise all placeholders are looked for at once.
    pub fn is_by_column(self) -> bool {
        self == Self::Harness
    }

    /// Return true if placeholders are looked for in what was filled in too: values, the mask of a column, tokens that
    /// came in with an example's values.
    pub fn searches_values(self) -> bool {
        self == Self::Harness
    }

    /// Return true if the template's own text in an example is searched again, for the columns of the sample.
    pub fn searches_examples(self) -> bool {
        self == Self::Harness
    }

    /// Return true if the text of a template and a separator next to it can form a placeholder together.
    pub fn joins_separators(self) -> bool {
        self == Self::Harness
    }
}
