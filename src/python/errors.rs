//! The crate's errors as Python exceptions: the only place where one becomes the other.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Code, Error, Kind, Result};

pyo3::create_exception!(
    promptpress,
    TemplateError,
    PyValueError,
    "The configuration is wrong: its path, what was found there, and what would be right."
);
pyo3::create_exception!(
    promptpress,
    RenderError,
    PyValueError,
    "A value, a row or a table can't be rendered: the row, the column, and the value's start."
);

/// The exception for an error. `stopped` is the caller's own exception, for [`Kind::Stopped`].
pub(super) fn to_python(py: Python<'_>, error: &Error, stopped: Option<PyErr>) -> PyErr {
    let message = error.to_string();
    let out = match error.kind() {
        Kind::Template => TemplateError::new_err(message),
        Kind::Render => RenderError::new_err(message),
        Kind::Stopped => return stopped.unwrap_or_else(|| RenderError::new_err(message)),
    };
    let place = error.place();
    let value = out.value(py);
    // A plain exception object takes any attribute; if it ever doesn't, the message still says it all.
    let _ = value.setattr("code", error.code().as_str());
    let _ = value.setattr("message", error.message());
    let _ = value.setattr("path", place.path.as_deref());
    let _ = value.setattr("row", place.row);
    let _ = value.setattr("column", place.column.as_deref());
    out
}

/// A result of the core, of work that Python has no part in.
pub(super) fn plain<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error, None))
}

/// All codes of errors and what they mean, for Python.
pub(super) fn codes(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let codes = PyDict::new(py);
    for code in Code::ALL {
        codes.set_item(code.as_str(), code.meaning())?;
    }
    Ok(codes)
}
