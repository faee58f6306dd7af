//! The Python module: thin classes over the core, without loops over rows.
//!
//! A call from Python passes these modules from top to bottom:
//!
//! | module | content |
//! |---|---|
//! | `compiled_renderer`, `single`, `notes`, `statistics` | the calls: batches, one text of one sample, notes on a configuration, statistics of requests |
//! | `shown_columns` | the columns that requests show |
//! | `jinja` | programs of compiled Jinja templates, run over tables |
//! | `json_lines` | rows as lines of JSON |
//! | `json_reader` | files of JSON objects as tables |
//! | `audit` | searches of an audit in whole columns |
//! | `prefix_order` | samples in the order of equal beginnings, and what requests share |
//! | `prompt_cache` | what a service's cache of prompts serves |
//! | `token_ids` | texts as token ids |
//! | `conversations` | columns of conversations, read for chat templates |
//! | `fewshot_sampling` | examples drawn with Python's random numbers |
//! | `tables` | the core's tables that Python reads too |
//! | `value` | the values of a configuration, from and to Python |
//! | `arrow`, `rendered_rows` | tables from Python, arrays to Python |
//! | `stream_state` | the state of a stream of tables |
//! | `detach` | work on threads, while other Python threads continue |
//! | `interpreter` | calls from the work into Python: for texts that only Python has, and for signals |
//! | `guard`, `errors` | panics and errors as exceptions |

mod arrow;
mod audit;
mod compiled_renderer;
mod conversations;
mod detach;
mod errors;
mod fewshot_sampling;
mod guard;
mod interpreter;
mod jinja;
mod json_lines;
mod json_reader;
mod notes;
mod prefix_order;
mod prompt_cache;
mod rendered_rows;
mod shown_columns;
mod single;
mod statistics;
mod stream_state;
mod tables;
mod token_ids;
mod value;

use pyo3::prelude::*;

/// The compiled core of promptpress. Use it through `promptpress`.
///
/// # Errors
///
/// The exception of Python, if something can't be added to the module.
#[pymodule]
#[pyo3(name = "_core")]
pub fn core_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    guard::install();
    let py = module.py();
    for (name, error) in [
        ("TemplateError", py.get_type::<errors::TemplateError>()),
        ("RenderError", py.get_type::<errors::RenderError>()),
    ] {
        // An error without a location has these attributes too.
        for attribute in ["path", "row", "column"] {
            error.setattr(attribute, py.None())?;
        }
        // An exception that was created elsewhere has no code.
        for text in ["code", "message"] {
            error.setattr(text, "")?;
        }
        module.add(name, error)?;
    }
    module.add("ERROR_CODES", errors::codes(py)?)?;
    module.add_class::<compiled_renderer::CompiledRenderer>()?;
    module.add_class::<stream_state::StreamState>()?;
    module.add_class::<rendered_rows::PyRenderedRows>()?;
    module.add_class::<notes::PyNote>()?;
    module.add_class::<statistics::Lengths>()?;
    module.add_class::<statistics::Duplicates>()?;
    module.add_class::<statistics::RequestsHash>()?;
    module.add_class::<jinja::JinjaProgram>()?;
    module.add_class::<json_lines::PyLineLayout>()?;
    module.add_class::<json_lines::PySeenIds>()?;
    module.add_class::<json_reader::PyJsonColumns>()?;
    module.add_class::<json_reader::PyJsonItems>()?;
    module.add_class::<conversations::ConversationShapes>()?;
    module.add_class::<audit::TextFinder>()?;
    module.add_class::<prefix_order::RowSource>()?;
    module.add_class::<prefix_order::SharedBytes>()?;
    module.add_class::<prompt_cache::PromptTree>()?;
    module.add_class::<token_ids::TextEncoder>()?;
    module.add_class::<token_ids::TokenRows>()?;
    module.add_class::<token_ids::TokenColumns>()?;
    module.add("ODD_KINDS", audit::odd_kinds())?;
    module.add_class::<tables::JinjaOperation>()?;
    module.add_class::<tables::PyOutputForm>()?;
    module.add_class::<tables::PySetting>()?;
    module.add("JINJA_OPERATIONS", tables::jinja_operations(py)?)?;
    module.add("OUTPUT_FORMS", tables::output_forms(py)?)?;
    module.add("DIALECTS", tables::dialects())?;
    module.add("SETTINGS", tables::settings(py)?)?;
    module.add("STRING_LAYOUTS", tables::string_layouts())?;
    module.add("TEMPLATE_KEYS", tables::template_keys(py)?)?;
    module.add_function(wrap_pyfunction!(detach::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(detach::threads, module)?)?;
    module.add_function(wrap_pyfunction!(detach::panicking, module)?)?;
    module.add_function(wrap_pyfunction!(set_printable, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::is_aligned, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::is_native, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::repeated_rows, module)?)?;
    module.add_function(wrap_pyfunction!(fewshot_sampling::drawn_rows, module)?)?;
    module.add_function(wrap_pyfunction!(fewshot_sampling::first_rows, module)?)?;
    module.add_function(wrap_pyfunction!(value::copied, module)?)?;
    module.add_function(wrap_pyfunction!(compiled_renderer::default_substitution, module)?)?;
    module.add_function(wrap_pyfunction!(single::fill, module)?)?;
    module.add_function(wrap_pyfunction!(json_lines::are_plain_chats, module)?)?;
    module.add_function(wrap_pyfunction!(json_lines::field_texts, module)?)?;
    module.add_function(wrap_pyfunction!(json_reader::json_schema, module)?)?;
    module.add_function(wrap_pyfunction!(json_reader::json_batches, module)?)?;
    module.add_function(wrap_pyfunction!(jinja::render_jinja, module)?)?;
    module.add_function(wrap_pyfunction!(jinja::jinja_spans, module)?)?;
    module.add_function(wrap_pyfunction!(jinja::jinja_keys, module)?)?;
    module.add_function(wrap_pyfunction!(notes::notes, module)?)?;
    module.add_function(wrap_pyfunction!(notes::closest_name, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::request_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::request_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::origin_totals, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::shown_columns, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::template_columns, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::example_columns, module)?)?;
    module.add_function(wrap_pyfunction!(prefix_order::prefix_order, module)?)?;
    module.add_function(wrap_pyfunction!(audit::find_texts, module)?)?;
    module.add_function(wrap_pyfunction!(audit::begin_with, module)?)?;
    module.add_function(wrap_pyfunction!(audit::find_row_texts, module)?)?;
    module.add_function(wrap_pyfunction!(audit::odd_characters, module)?)?;
    module.add_function(wrap_pyfunction!(audit::content_hashes, module)?)?;
    Ok(())
}

/// Set the characters that this interpreter prints without an escape: one bit for each code point, lowest first.
#[pyfunction]
fn set_printable(bitmap: &[u8]) -> bool {
    let words = bitmap.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    crate::python_text::set_printable(words.collect())
}
