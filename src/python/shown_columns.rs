//! The columns that requests show, for Python.

use std::sync::{Arc, PoisonError};

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arrow::{Imported, Table, export, one_batch};
use super::compiled_renderer::{CompiledRenderer, labels, raised};
use super::detach::{detached, detached_rows};
use super::stream_state::StreamState;
use crate::error::Result;
use crate::render::{self, RowMask, ShownColumns};

type Exported<'py> = Bound<'py, PyAny>;

/// The columns with the rows that show each, the rows that show examples, the literals of each plan, and the plan of
/// each request.
type ExportedShown<'py> =
    (Vec<(String, Option<Exported<'py>>)>, Option<Exported<'py>>, Vec<String>, Option<Exported<'py>>);

fn mask(py: Python<'_>, rows: RowMask) -> PyResult<Option<Exported<'_>>> {
    rows.map(|rows| export(py, Arc::new(BooleanArray::new(rows, None)))).transpose()
}

/// Return the columns that the requests of a table of one batch show, from `position` on. `copies` is true if no value
/// contains another column's placeholder.
#[pyfunction]
#[pyo3(signature = (renderer, samples, labels, position, copies, python_text))]
pub(super) fn shown_columns<'py>(
    py: Python<'py>,
    renderer: &CompiledRenderer,
    samples: Imported<Table>,
    labels: Option<&Bound<'_, PyList>>,
    position: &StreamState,
    copies: bool,
    python_text: Py<PyAny>,
) -> PyResult<ExportedShown<'py>> {
    let host = renderer.host(python_text);
    let samples: RecordBatch = one_batch(py, samples)?;
    let labels = self::labels(labels)?;
    let rows = samples.num_rows().max(renderer.core.pending_examples());
    let _work = renderer.work();
    let result = detached_rows(py, Some(&host), rows, || -> Result<ShownColumns> {
        let mut position = position.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, draws) = &mut *position;
        let result = render::shown_columns(&renderer.core, &samples, *start, &labels, draws, copies, &host);
        *start += samples.num_rows();
        result
    })?;
    let result = raised(py, &host, result)?;
    let columns = result.columns.into_iter().map(|(name, rows)| Ok((name.to_string(), mask(py, rows)?)));
    let plans = result.plans.map(|plans| export(py, Arc::new(UInt32Array::from(plans)))).transpose()?;
    Ok((columns.collect::<PyResult<_>>()?, mask(py, result.examples)?, result.literals, plans))
}

/// Return the samples' columns that requests of samples with a schema show by their templates.
#[pyfunction]
#[pyo3(signature = (renderer, schema, labels, python_text))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn template_columns(
    py: Python<'_>,
    renderer: &CompiledRenderer,
    schema: Imported<SchemaRef>,
    labels: Option<&Bound<'_, PyList>>,
    python_text: Py<PyAny>,
) -> PyResult<Vec<String>> {
    let host = renderer.host(python_text);
    let labels = self::labels(labels)?;
    let _work = renderer.work();
    let names = detached(py, Some(&host), || render::template_columns(&renderer.core, &schema.0, &labels))?;
    Ok(raised(py, &host, names)?.iter().map(ToString::to_string).collect())
}

/// Return the columns of the examples that requests show, with the rows of the examples whose value is shown.
#[pyfunction]
#[pyo3(signature = (renderer, schema, labels, python_text))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn example_columns<'py>(
    py: Python<'py>,
    renderer: &CompiledRenderer,
    schema: Imported<SchemaRef>,
    labels: Option<&Bound<'_, PyList>>,
    python_text: Py<PyAny>,
) -> PyResult<Vec<(String, Exported<'py>)>> {
    let host = renderer.host(python_text);
    let labels = self::labels(labels)?;
    let _work = renderer.work();
    let columns = detached(py, Some(&host), || render::example_columns(&renderer.core, &schema.0, &labels, &host))?;
    let column = |(name, rows): (Arc<str>, arrow_buffer::BooleanBuffer)| {
        Ok((name.to_string(), export(py, Arc::new(BooleanArray::new(rows, None)))?))
    };
    raised(py, &host, columns)?.into_iter().map(column).collect()
}
