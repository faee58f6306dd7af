//! What can go wrong, and where.
//!
//! Two kinds reach users: a fault of the configuration ([`Kind::Template`]) and a fault of the data
//! ([`Kind::Render`]). Both name a place, what was found there, and what would be right.

mod code;

use std::fmt;

pub use code::Code;

/// Whose fault it is; decides the Python exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The configuration is wrong: `TemplateError`.
    Template,
    /// A value, a row or a table is wrong: `RenderError`.
    Render,
    /// The caller's own exception stopped the work (Ctrl-C, or a conversion that only the interpreter can do).
    Stopped,
}

/// Where the fault is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
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
    place: Place,
    /// Whether the place is in the train split, and not among the samples.
    in_examples: bool,
}

/// The crate's error: one pointer wide, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A fault of the configuration at `path`.
    pub fn template(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        let place = Place { path: Some(path.into()), ..Place::default() };
        Self(Box::new(Inner { kind: Kind::Template, code, message: message.into(), place, in_examples: false }))
    }

    /// A fault of the data.
    pub fn render(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind: Kind::Render,
            code,
            message: message.into(),
            place: Place::default(),
            in_examples: false,
        }))
    }

    /// The work was stopped by the caller, who knows why.
    pub fn stopped() -> Self {
        // The caller's own exception is raised; should there be none, that is a bug.
        let code = Code::InternalError;
        Self(Box::new(Inner {
            kind: Kind::Stopped,
            code,
            message: "stopped".into(),
            place: Place::default(),
            in_examples: false,
        }))
    }

    /// The same error at row `row` (rows count from 0). One in the examples keeps the row that it has there.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        if self.0.in_examples && self.0.place.row.is_some() { self } else { self.at_example(row) }
    }

    /// The same error at row `row`, which is one of the examples where the error is in them.
    #[must_use]
    pub fn at_example(mut self, row: usize) -> Self {
        self.0.place.row = Some(row);
        self
    }

    /// The same error at row `row`, unless it says a row itself.
    #[must_use]
    pub fn or_at_row(self, row: usize) -> Self {
        if self.0.place.row.is_some() { self } else { self.at_row(row) }
    }

    /// The same error in column `column`.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.place.column = Some(column.into());
        self
    }

    /// The same error in the train split: its row, if any, is one of that.
    #[must_use]
    pub fn in_examples(mut self) -> Self {
        let column = self.0.place.column.take();
        self.0.in_examples = true;
        self.in_column(column.map_or_else(|| "examples".into(), |column| format!("examples.{column}")))
    }

    /// The same error with its row number moved by `rows`: a batch's rows as rows of the table. Those of examples stay.
    #[must_use]
    pub fn shifted(mut self, rows: usize) -> Self {
        if let Some(row) = self.0.place.row.as_mut().filter(|_| !self.0.in_examples) {
            *row += rows;
        }
        self
    }

    /// The same fault, found while rendering: what the configuration does with this row's data.
    #[must_use]
    pub fn into_render(mut self) -> Self {
        if self.0.kind == Kind::Template {
            self.0.kind = Kind::Render;
        }
        self
    }

    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What kind of fault it is.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What was found and what would be right, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.0.place;
        match (place.row, &place.column) {
            (Some(row), Some(column)) => write!(f, "row {row}, column {column:?}: ")?,
            (Some(row), None) => write!(f, "row {row}: ")?,
            (None, Some(column)) => write!(f, "column {column:?}: ")?,
            (None, None) => {}
        }
        if let Some(path) = &place.path
            && !path.is_empty()
        {
            write!(f, "{path}: ")?;
        }
        // A NUL byte ends a C string: an exported stream's message would be cut there, or worse.
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

/// The start of a value for a message: at most 40 characters, on one line, quoted.
///
/// ```
/// assert_eq!(promptpress::error::excerpt("short"), "'short'");
/// assert!(promptpress::error::excerpt(&"x".repeat(100)).ends_with("…'"));
/// ```
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
