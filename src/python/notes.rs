//! Notes on a configuration, for Python to show.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::compiled_renderer::{CompiledRenderer, settings};
use crate::notes::TableFacts;

/// One thing that is probably a mistake.
#[pyclass(frozen, name = "Note", module = "promptpress._core")]
pub(super) struct PyNote(crate::notes::Note);

#[pymethods]
impl PyNote {
    /// Which kind, by name.
    #[getter]
    fn code(&self) -> &'static str {
        self.0.code
    }

    /// `"warning"` or `"info"`.
    #[getter]
    fn severity(&self) -> &'static str {
        self.0.severity.name()
    }

    /// Path in the configuration.
    #[getter]
    fn place(&self) -> &str {
        &self.0.place
    }

    /// What is there, and what becomes of it.
    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    /// What would be right.
    #[getter]
    fn remedy(&self) -> &str {
        &self.0.remedy
    }
}

/// What is probably a mistake in a renderer's settings, for tables with these columns.
/// `texts`: which of the samples' columns are strings; `same`: the examples are the samples' table; `shared`: chosen examples that are samples too.
#[pyfunction]
#[pyo3(signature = (renderer, settings, samples, texts, examples, same, shared))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn notes(
    renderer: &CompiledRenderer,
    settings: &Bound<'_, PyDict>,
    samples: Vec<String>,
    texts: Vec<String>,
    examples: Option<Vec<String>>,
    same: bool,
    shared: Vec<i64>,
) -> PyResult<Vec<PyNote>> {
    fn borrowed(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }
    let settings = self::settings(settings)?;
    let tables = TableFacts {
        samples: borrowed(&samples),
        texts: borrowed(&texts),
        examples: examples.as_deref().map(borrowed),
        same,
        shared,
    };
    let found = crate::notes::notes(&settings, &renderer.core.config, &tables);
    Ok(found.into_iter().map(PyNote).collect())
}
