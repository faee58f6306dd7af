//! A note, and a way to list names in it.

/// The severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Surely a mistake, which nobody wants rendered.
    Error,
    /// Very likely a mistake.
    Warning,
    /// Worth knowing, but right in some configurations.
    Info,
}

impl Severity {
    /// Return the severity's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// A probable mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The name of the note's kind.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// Path in the configuration.
    pub path: String,
    /// The fault, and its effect.
    pub message: String,
    /// A way to correct the fault.
    pub remedy: String,
    /// The column that a placeholder without one probably names.
    pub column: Option<String>,
    /// True if a placeholder without a column is all that a text has.
    pub is_whole: bool,
}

impl Note {
    /// Make a note on a very likely mistake.
    pub(super) fn warning(code: &'static str, path: &str, message: String, remedy: String) -> Self {
        Self {
            code,
            severity: Severity::Warning,
            path: path.to_owned(),
            message,
            remedy,
            column: None,
            is_whole: false,
        }
    }

    /// Make a note on something that is worth knowing.
    pub(super) fn info(code: &'static str, path: &str, message: String, remedy: String) -> Self {
        Self { severity: Severity::Info, ..Self::warning(code, path, message, remedy) }
    }
}

/// A note lists at most so many names, and counts the others.
const MAX_LISTED_NAMES: usize = 12;

/// Return a list such as `'a', 'b' and 3 more`.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let quoted: Vec<String> = names.iter().take(MAX_LISTED_NAMES).map(|name| format!("'{name}'")).collect();
    match names.len().saturating_sub(quoted.len()) {
        0 if names.is_empty() => "none".to_owned(),
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}
