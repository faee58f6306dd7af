//! The Python module: thin classes over the core, no loops over rows.
//!
//! What Python asks for passes the files in this order:
//!
//! | file | what it does |
//! |---|---|
//! | `compiled_renderer`, `single`, `notes`, `statistics` | what Python calls: batches, one text of one sample, notes on a configuration, statistics of requests |
//! | `jinja` | programs that Jinja templates were compiled to, run over tables |
//! | `json_lines` | rows as lines of JSON |
//! | `audit` | what an audit looks for in whole columns |
//! | `conversations` | columns of conversations, read for chat templates |
//! | `draws` | examples drawn by Python's random numbers |
//! | `value` | a configuration's values, in and out |
//! | `arrow`, `outcome` | tables in, arrays out |
//! | `position` | how far a stream of tables has come |
//! | `detach` | work on threads, while other Python threads go on |
//! | `interpreter` | what the work asks Python for: texts that only it has, and whether to stop |
//! | `guard`, `errors` | panics and errors as exceptions |

mod arrow;
mod audit;
mod compiled_renderer;
mod conversations;
mod detach;
mod draws;
mod errors;
mod guard;
mod interpreter;
mod jinja;
mod json_lines;
mod notes;
mod outcome;
mod position;
mod shown_columns;
mod single;
mod statistics;
mod value;

use pyo3::prelude::*;

/// The compiled core of promptpress. Use it through `promptpress`.
///
/// # Errors
///
/// Python's own, if the module can't be filled.
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
        // An error that knows no place says so.
        for place in ["path", "row", "column"] {
            error.setattr(place, py.None())?;
        }
        // Those that are made by nobody here have no kind.
        for text in ["code", "message"] {
            error.setattr(text, "")?;
        }
        module.add(name, error)?;
    }
    module.add("ERROR_CODES", errors::codes(py)?)?;
    module.add_class::<compiled_renderer::CompiledRenderer>()?;
    module.add_class::<position::Position>()?;
    module.add_class::<outcome::PyOutcome>()?;
    module.add_class::<notes::PyNote>()?;
    module.add_class::<statistics::Lengths>()?;
    module.add_class::<statistics::Duplicates>()?;
    module.add_class::<jinja::JinjaProgram>()?;
    module.add_class::<json_lines::PyLineLayout>()?;
    module.add_class::<json_lines::PySeenIds>()?;
    module.add_class::<conversations::ConversationShapes>()?;
    module.add_class::<audit::TextFinder>()?;
    module.add("ODD_KINDS", audit::odd_kinds())?;
    module.add_function(wrap_pyfunction!(detach::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(detach::threads, module)?)?;
    module.add_function(wrap_pyfunction!(detach::panicking, module)?)?;
    module.add_function(wrap_pyfunction!(set_printable, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::is_aligned, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::repeated_rows, module)?)?;
    module.add_function(wrap_pyfunction!(draws::drawn_rows, module)?)?;
    module.add_function(wrap_pyfunction!(draws::first_rows, module)?)?;
    module.add_function(wrap_pyfunction!(value::copied, module)?)?;
    module.add_function(wrap_pyfunction!(single::fill, module)?)?;
    module.add_function(wrap_pyfunction!(json_lines::are_plain_chats, module)?)?;
    module.add_function(wrap_pyfunction!(jinja::render_jinja, module)?)?;
    module.add_function(wrap_pyfunction!(jinja::jinja_keys, module)?)?;
    module.add_function(wrap_pyfunction!(notes::notes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::request_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::request_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::origin_totals, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::shown_columns, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::template_columns, module)?)?;
    module.add_function(wrap_pyfunction!(shown_columns::example_columns, module)?)?;
    module.add_function(wrap_pyfunction!(audit::find_texts, module)?)?;
    module.add_function(wrap_pyfunction!(audit::begin_with, module)?)?;
    module.add_function(wrap_pyfunction!(audit::find_own, module)?)?;
    module.add_function(wrap_pyfunction!(audit::odd_characters, module)?)?;
    module.add_function(wrap_pyfunction!(audit::content_hashes, module)?)?;
    Ok(())
}

/// Tell the core which characters this interpreter prints as they are: one bit for each code point, lowest first.
#[pyfunction]
fn set_printable(bitmap: &[u8]) -> bool {
    let words = bitmap.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    crate::pytext::set_printable(words.collect())
}
