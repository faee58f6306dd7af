//! Notes on a configuration, for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::compiled_renderer::{CompiledRenderer, settings};
use crate::lints::TableFacts;
use crate::suggest::closest;

/// A probable mistake in a configuration.
#[pyclass(frozen, name = "Note", module = "promptpress._core")]
pub(super) struct PyNote(crate::lints::Note);

#[pymethods]
impl PyNote {
    /// The kind of the note.
    #[getter]
    fn code(&self) -> &'static str {
        self.0.code
    }

    /// The severity: `"warning"` or `"info"`.
    #[getter]
    fn severity(&self) -> &'static str {
        self.0.severity.name()
    }

    /// The path in the configuration.
    #[getter]
    #[pyo3(name = "place")]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The setting, and its effect.
    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    /// A correction.
    #[getter]
    fn remedy(&self) -> &str {
        &self.0.remedy
    }

    /// The column that a placeholder without one probably names.
    #[getter]
    fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// True if a placeholder without a column is all that a text has.
    #[getter]
    fn is_whole(&self) -> bool {
        self.0.is_whole
    }
}

/// Return the name that a misspelt one is probably meant as.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn closest_name(name: &str, names: Vec<String>) -> Option<String> {
    closest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Return notes on probable mistakes in a renderer's settings, for tables with these columns.
///
/// `samples` are the names of the samples' columns with what they hold: `texts`, `messages`, or something else. `same` is true if the examples are the samples' table. `shared` are
/// chosen examples that are samples too.
#[pyfunction]
#[pyo3(signature = (renderer, settings, samples, examples, same, shared))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn notes(
    renderer: &CompiledRenderer,
    settings: &Bound<'_, PyDict>,
    samples: Vec<(String, String)>,
    examples: Option<Vec<String>>,
    same: bool,
    shared: Vec<i64>,
) -> PyResult<Vec<PyNote>> {
    fn borrowed(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }
    let settings = self::settings(settings)?;
    let of_kind =
        |kind: &str| samples.iter().filter(|column| column.1 == kind).map(|column| column.0.as_str()).collect();
    let tables = TableFacts {
        samples: samples.iter().map(|column| column.0.as_str()).collect(),
        texts: of_kind("texts"),
        conversations: of_kind("messages"),
        examples: examples.as_deref().map(borrowed),
        same,
        shared,
    };
    let notes = crate::lints::notes(&settings, &renderer.core.config, &tables);
    Ok(notes.into_iter().map(PyNote).collect())
}
