//! One text of one sample, for the drop-in classes.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::render::replaced;

/// Put the fields of one sample into a text: one field after the other over the whole of it, `{name}` by `str(value)`.
///
/// None where a text that takes part has no UTF-8 (a lone surrogate): Python's own `str.replace` is asked then.
///
/// # Errors
///
/// Whatever a value's own `__str__` raises, whether its placeholder is there or not, as in the harnesses.
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
        // Without a brace nothing stands for a field. What an earlier field brought in may hold one.
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
