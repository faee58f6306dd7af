//! Errors, with the location of the fault.
//!
//! Two kinds reach users: a fault of the configuration ([`Kind::Template`]) and a fault of the data ([`Kind::Render`]).
//! Both name the location, what is there, and what would be right.

mod code;

use std::fmt;

pub use code::Code;

/// The source of the fault, which decides the Python exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The configuration is wrong: `TemplateError`.
    Template,
    /// A value, a row or a table is wrong: `RenderError`.
    Render,
    /// An exception of the caller stopped the work (Ctrl-C, or a conversion that only the interpreter can do).
    Stopped,
}

/// The location of the fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Path in the configuration, such as `prompt_template.begin[0]`.
    pub path: Option<String>,
    /// Row of the samples, from 0.
    pub row: Option<usize>,
    /// Column of the samples or of the examples.
    pub column: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    code: Code,
    message: String,
    location: Location,
    /// True if the location is in the train split, and not among the samples.
    in_examples: bool,
}

/// The crate's error: one pointer wide, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Make an error of the configuration at `path`.
    pub fn template(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        let location = Location { path: Some(path.into()), ..Location::default() };
        Self(Box::new(Inner { kind: Kind::Template, code, message: message.into(), location, in_examples: false }))
    }

    /// Make an error of the data.
    pub fn render(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind: Kind::Render,
            code,
            message: message.into(),
            location: Location::default(),
            in_examples: false,
        }))
    }

    /// Make an error for work that the caller stopped.
    pub fn stopped() -> Self {
        // The caller's own exception is raised. If there is none, that is a bug.
        let code = Code::InternalError;
        Self(Box::new(Inner {
            kind: Kind::Stopped,
            code,
            message: "stopped".into(),
            location: Location::default(),
            in_examples: false,
        }))
    }

    /// Return the same error at row `row` (rows count from 0). An error in the examples keeps the row that it has
    /// there.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        if self.0.in_examples && self.0.location.row.is_some() { self } else { self.at_example(row) }
    }

    /// Return the same error at row `row`. If the error is in the examples, the row is one of them.
    #[must_use]
    pub fn at_example(mut self, row: usize) -> Self {
        self.0.location.row = Some(row);
        self
    }

    /// Return the same error at row `row`, unless it has a row already.
    #[must_use]
    pub fn or_at_row(self, row: usize) -> Self {
        if self.0.location.row.is_some() { self } else { self.at_row(row) }
    }

    /// Return the same error in column `column`.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.location.column = Some(column.into());
        self
    }

    /// Return the same error in the train split; its row, if any, is a row of the train split.
    #[must_use]
    pub fn in_examples(mut self) -> Self {
        let column = self.0.location.column.take();
        self.0.in_examples = true;
        self.in_column(column.map_or_else(|| "examples".into(), |column| format!("examples.{column}")))
    }

    /// Return the same error with its row moved by `rows`, which turns a row of a batch into a row of the table. A row
    /// of the examples stays.
    #[must_use]
    pub fn shifted(mut self, rows: usize) -> Self {
        if let Some(row) = self.0.location.row.as_mut().filter(|_| !self.0.in_examples) {
            *row += rows;
        }
        self
    }

    /// Return the same fault as an error of rendering, because the configuration fails with this row's data.
    #[must_use]
    pub fn into_render(mut self) -> Self {
        if self.0.kind == Kind::Template {
            self.0.kind = Kind::Render;
        }
        self
    }

    /// Return the source of the fault.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Return the error's code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Return the location of the fault.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// Return the message, without the location.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = &self.0.location;
        match (location.row, &location.column) {
            (Some(row), Some(column)) => write!(f, "row {row}, column {column:?}: ")?,
            (Some(row), None) => write!(f, "row {row}: ")?,
            (None, Some(column)) => write!(f, "column {column:?}: ")?,
            (None, None) => {}
        }
        if let Some(path) = &location.path
            && !path.is_empty()
        {
            write!(f, "{path}: ")?;
        }
        // A NUL byte ends a C string, so the message of an exported stream would be cut there, or worse.
        for part in self.0.message.split_inclusive('\0') {
            match part.strip_suffix('\0') {
                Some(head) => write!(f, "{head}\\x00")?,
                None => f.write_str(part)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Return the start of a value for a message: at most 40 characters, on one line, quoted.
pub fn excerpt(value: &str) -> String {
    let mut out = String::from("'");
    for (n, c) in value.chars().enumerate() {
        if n == 40 {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_value_is_quoted() {
        assert_eq!(excerpt("short"), "'short'");
        assert!(excerpt(&"x".repeat(100)).ends_with("…'"));
    }
}
