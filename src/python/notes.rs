//! Notes on a configuration, for Python to show.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::renderer::{Renderer, settings};
use crate::notes::TableFacts;

type NoteParts = (&'static str, &'static str, String, String, String);

/// What is probably a mistake in a renderer's settings, for tables with these columns: (code, severity, place, message,
/// remedy) of each note. `texts`: which of the samples' columns are strings; `same`: the examples are the samples' table; `shared`: chosen examples that are samples too.
#[pyfunction]
#[pyo3(signature = (renderer, settings, samples, texts, examples, same, shared))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn notes(
    renderer: &Renderer,
    settings: &Bound<'_, PyDict>,
    samples: Vec<String>,
    texts: Vec<String>,
    examples: Option<Vec<String>>,
    same: bool,
    shared: Vec<i64>,
) -> PyResult<Vec<NoteParts>> {
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
    Ok(found.into_iter().map(|n| (n.code, n.severity.name(), n.place, n.message, n.remedy)).collect())
}
