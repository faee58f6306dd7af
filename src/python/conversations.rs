//! Columns of conversations, for Python.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::detach::detached_rows;
use super::errors::to_python;
use crate::conversations::{Argument, OpenedTexts, Opening, Shapes, read};
use crate::error::{Code, Error};

/// The shapes of conversations so far, shared by all batches.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct ConversationShapes(Shapes);

/// The ids of some rows' shapes, the rows' slots, and the number of rows with each id.
type Read<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<(u32, usize)>);

#[pymethods]
impl ConversationShapes {
    /// Start without shapes. At most `limit` of them are kept, with skeletons of at most `max_bytes` bytes. Contents of
    /// messages with one of `call_roles` are opened, and with `opens_arguments` those of calls of tools.
    #[new]
    #[pyo3(signature = (limit, max_bytes, call_roles=Vec::new(), opens_arguments=false))]
    fn new(limit: usize, max_bytes: usize, call_roles: Vec<String>, opens_arguments: bool) -> Self {
        let mut shapes = Shapes::new(limit, max_bytes);
        shapes.opened = OpenedTexts { call_roles, arguments: opens_arguments };
        Self(shapes)
    }

    /// Read `rows` rows of a column from row `start` on. Return the ids of their shapes as uint32, their slots as lists
    /// of strings, and the ids that occur with the number of rows of each. The id is 4294967295 if the shape isn't kept
    /// or the row can't be read. Columns of `arguments`, each with its argument's name, and true if its texts are JSON, belong to the rows.
    /// `opening`: 1 if no tool is a single slot, 2 if no list or dict is. Errors count rows from the column's first one,
    /// which is row `first_row`.
    #[pyo3(signature = (column, start, rows, first_row, opening, arguments = Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "Python's arguments")]
    fn read<'py>(
        &self,
        py: Python<'py>,
        column: Imported<ArrayRef>,
        start: usize,
        rows: usize,
        first_row: usize,
        opening: u8,
        arguments: Vec<(String, bool, Imported<ArrayRef>)>,
    ) -> PyResult<Read<'py>> {
        let column = column.0;
        let is_long_enough = |len: usize| start.checked_add(rows).is_some_and(|end| end <= len);
        if !(is_long_enough(column.len()) && arguments.iter().all(|(_, _, column)| is_long_enough(column.0.len()))) {
            let message = format!("rows {start} to {start} + {rows} of {}", column.len());
            return Err(to_python(py, &Error::render(Code::RowOutOfRange, message), None));
        }
        let opening = match opening {
            0 => Opening::Messages,
            1 => Opening::Tools,
            _ => Opening::All,
        };
        let work = || {
            let of_rows = |(name, is_json, column): (String, bool, Imported<ArrayRef>)| {
                Argument::new(name, &column.0.slice(start, rows), is_json)
            };
            let arguments = arguments.into_iter().map(of_rows).collect::<Result<Vec<_>, _>>()?;
            read(&column.slice(start, rows), &arguments, &self.0, opening)
        };
        let conversations = detached_rows(py, None, rows, work)?;
        let conversations = conversations.map_err(|error| to_python(py, &error.shifted(first_row + start), None))?;
        Ok((
            export(py, Arc::new(conversations.ids))?,
            export(py, Arc::new(conversations.slots))?,
            conversations.rows.into_iter().collect(),
        ))
    }

    /// Return the skeleton of a shape, as JSON.
    fn skeleton(&self, shape: u32) -> PyResult<String> {
        match self.0.skeleton(shape) {
            Some(skeleton) => Ok(skeleton.to_string()),
            None => Err(PyIndexError::new_err(format!("there is no shape {shape}"))),
        }
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
