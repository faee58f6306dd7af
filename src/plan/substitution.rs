//! How fields are filled in.

/// How fields are filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Substitution {
    /// One column after the other over the whole string, as the references do.
    #[default]
    Harness,
    /// Each placeholder of a template once, and nothing else.
    SinglePass,
}
