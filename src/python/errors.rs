//! The crate's errors as Python exceptions. No other module converts between the two.

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

/// Return the exception for an error. `stopped` is the exception of the caller, for [`Kind::Stopped`].
pub(super) fn to_python(py: Python<'_>, error: &Error, stopped: Option<PyErr>) -> PyErr {
    let message = error.to_string();
    let out = match error.kind() {
        Kind::Template => TemplateError::new_err(message),
        Kind::Render => RenderError::new_err(message),
        Kind::Stopped => return stopped.unwrap_or_else(|| RenderError::new_err(message)),
    };
    let location = error.location();
    let value = out.value(py);
    // An exception object accepts any attribute. If it didn't, the message would still have all facts.
    let _ = value.setattr("code", error.code().as_str());
    let _ = value.setattr("message", error.message());
    let _ = value.setattr("path", location.path.as_deref());
    let _ = value.setattr("row", location.row);
    let _ = value.setattr("column", location.column.as_deref());
    out
}

/// Return the core's error for an exception that Python code raised for a value. Return None if it isn't a
/// `RenderError`.
pub(super) fn of_python(py: Python<'_>, raised: &PyErr) -> Option<Error> {
    if !raised.is_instance_of::<RenderError>(py) {
        return None;
    }
    let value = raised.value(py);
    let text = |name: &str| value.getattr(name).ok()?.extract::<Option<String>>().ok()?;
    let code = text("code")?;
    let code = Code::ALL.into_iter().find(|candidate| candidate.as_str() == code)?;
    let mut error = Error::render(code, text("message")?);
    if let Some(column) = text("column") {
        error = error.in_column(column);
    }
    Some(error)
}

/// Return a result of the core, if the work didn't call Python.
pub(super) fn plain<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error, None))
}

/// Return all codes of errors with their meanings, for Python.
pub(super) fn codes(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let codes = PyDict::new(py);
    for code in Code::ALL {
        codes.set_item(code.as_str(), code.meaning())?;
    }
    Ok(codes)
}
