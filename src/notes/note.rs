//! One note, and how it names things.

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
    /// A note on what is very likely a mistake.
    pub(super) fn warning(code: &'static str, place: &str, message: String, remedy: String) -> Self {
        Self { code, severity: Severity::Warning, place: place.to_owned(), message, remedy }
    }

    /// A note on what is worth knowing.
    pub(super) fn info(code: &'static str, place: &str, message: String, remedy: String) -> Self {
        Self { severity: Severity::Info, ..Self::warning(code, place, message, remedy) }
    }
}

/// How many names a note lists; it counts the others.
const MAX_LISTED_NAMES: usize = 12;

/// `'a', 'b' and 3 more`.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(MAX_LISTED_NAMES).map(|name| format!("'{name}'")).collect();
    match names.len().saturating_sub(shown.len()) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
