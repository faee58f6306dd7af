//! The core's tables that Python reads too, so that each fact stands in one place.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dialect::Dialect;
use crate::jinja::Operation;
use crate::output::{FORMS, Parser};
use crate::plan::{Layout, SETTINGS};
use crate::template::{PROMPT_KEYS, RAW_KEYS};

/// An operation of compiled Jinja templates.
#[pyclass(frozen, get_all, module = "promptpress._core")]
pub(super) struct JinjaOperation {
    /// The minimum number of operands.
    least: usize,
    /// The maximum number of operands; None for any number.
    most: Option<usize>,
    /// The type of all results, if it is always the same.
    result: Option<&'static str>,
    /// The types of operands for which Python never raises.
    certain: Option<Vec<Vec<&'static str>>>,
}

/// Return the operations of compiled Jinja templates by their names.
pub(super) fn jinja_operations(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let operations = PyDict::new(py);
    for signature in Operation::ALL {
        let certain = signature.certain.map(|certain| certain.iter().map(|types| types.to_vec()).collect());
        let (least, most, result) = (signature.least, signature.most, signature.result);
        operations.set_item(signature.name, Bound::new(py, JinjaOperation { least, most, result, certain })?)?;
    }
    Ok(operations)
}

/// A setting of a renderer.
#[pyclass(frozen, get_all, module = "promptpress._core", name = "Setting")]
pub(super) struct PySetting {
    /// The subject.
    group: &'static str,
    /// True if a configuration file may hold it.
    in_files: bool,
    /// The option of the command without its dashes, if there is one.
    option: Option<&'static str>,
    /// True if it is a dict whose keys have no order.
    is_unordered: bool,
}

/// Return the settings of a renderer by their names, in the order of its arguments.
pub(super) fn settings(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let settings = PyDict::new(py);
    for setting in SETTINGS {
        let python = PySetting {
            group: setting.group.name(),
            in_files: setting.in_files,
            option: setting.option,
            is_unordered: setting.is_unordered,
        };
        settings.set_item(setting.name, Bound::new(py, python)?)?;
    }
    Ok(settings)
}

/// An output form.
#[pyclass(frozen, get_all, module = "promptpress._core", name = "OutputForm")]
pub(super) struct PyOutputForm {
    /// True if requests are messages, as an API's parser writes them.
    writes_messages: bool,
    /// True if each request is written as a JSON string.
    writes_json: bool,
    /// The roles of its chat API.
    roles: Vec<&'static str>,
    /// Other names of these roles, in lower case, each with the API's name.
    aliases: Vec<(&'static str, &'static str)>,
}

/// Return the output forms by their names.
pub(super) fn output_forms(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let forms = PyDict::new(py);
    for form in FORMS {
        let python = PyOutputForm {
            writes_messages: form.parser == Parser::Messages,
            writes_json: form.json,
            roles: form.chat.map(|chat| chat.roles.to_vec()).unwrap_or_default(),
            aliases: form.chat.map(|chat| chat.aliases.to_vec()).unwrap_or_default(),
        };
        forms.set_item(form.name, Bound::new(py, python)?)?;
    }
    Ok(forms)
}

/// Return the names of the dialects. The first one is the default.
pub(super) fn dialects() -> Vec<&'static str> {
    Dialect::ALL.iter().map(|(name, _)| *name).collect()
}

/// Return the names of the string layouts. The first one is the default.
pub(super) fn string_layouts() -> Vec<&'static str> {
    Layout::ALL.iter().map(|(name, _)| *name).collect()
}

/// Return the keys by which a template's dict without a `type` is known, by the class that it is read as.
pub(super) fn template_keys(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let keys = PyDict::new(py);
    keys.set_item("PromptTemplate", PROMPT_KEYS)?;
    keys.set_item("RawPromptTemplate", RAW_KEYS)?;
    Ok(keys)
}
