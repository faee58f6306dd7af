//! Rendering of a single text for a single sample, for the drop-in classes.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::render::replaced;

/// Replace the fields of a sample in a text: one field after the other, `{name}` by `str(value)` in the whole text.
///
/// Return None if one of the texts has a lone surrogate, which UTF-8 can't represent. The caller uses `str.replace`
/// then.
///
/// # Errors
///
/// The exception of a value's `__str__`, even if the text doesn't have the value's placeholder, as in the harnesses.
#[pyfunction]
pub(super) fn fill<'py>(
    text: &Bound<'py, PyString>,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    let Ok(template) = text.to_cow() else { return Ok(None) };
    let mut filled: Cow<'_, str> = Cow::Borrowed(&template);
    let mut token = String::new();
    for (name, value) in fields.iter() {
        let value = value.str()?;
        // A text without a brace has no placeholder. The value of an earlier field may contain a brace.
        if !filled.contains('{') {
            continue;
        }
        let (Ok(name), Ok(value)) = (name.str()?.to_cow().map(Cow::into_owned), value.to_cow()) else {
            return Ok(None);
        };
        token.clear();
        token.extend(["{", &name, "}"]);
        if let Some(next) = replaced(&filled, &token, &value) {
            filled = Cow::Owned(next);
        }
    }
    Ok(Some(match filled {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(filled) => PyString::new(text.py(), &filled),
    }))
}
