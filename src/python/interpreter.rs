//! The calls from rendering into the Python interpreter.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::{errors, value};
use crate::error::{Code, Error, Kind, Result};
use crate::plan::Limits;
use crate::render::PythonCallbacks;
use crate::value::Value;

/// The metadata key of a column of row numbers. Its value tells if they are rows of the samples or of the examples.
const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";

/// Calls the Python interpreter for rendering.
///
/// `python_text(column, row numbers) -> texts` returns the texts of a column of which the core has only the row
/// numbers. With True as a further argument, it returns the Python values. The samples and the examples each have such
/// a callback. The column's metadata selects the callback.
pub(super) struct Interpreter<'r> {
    samples: Option<Py<PyAny>>,
    examples: Option<&'r Py<PyAny>>,
    /// The exception that stopped the work.
    failure: Mutex<Option<PyErr>>,
    /// True if the work has to stop at its next check.
    interrupted: AtomicBool,
    /// True if a text was filled in column by column.
    substituted: AtomicBool,
    /// The shapes for which plans were made.
    shapes: Mutex<HashSet<Vec<u32>>>,
    /// The calling thread. If it does the work itself, no other thread checks for signals.
    thread: ThreadId,
    /// The time of its last check for signals.
    looked: Mutex<Instant>,
    limits: Limits,
}

/// The interval at which the calling thread checks for signals.
pub(super) const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

impl<'r> Interpreter<'r> {
    pub(super) fn new(samples: Option<Py<PyAny>>, examples: Option<&'r Py<PyAny>>) -> Self {
        Self {
            samples,
            examples,
            failure: Mutex::new(None),
            interrupted: AtomicBool::new(false),
            substituted: AtomicBool::new(false),
            shapes: Mutex::default(),
            thread: std::thread::current().id(),
            looked: Mutex::new(Instant::now()),
            limits: Limits::default(),
        }
    }

    /// Return the same interpreter with the limits of a configuration.
    pub(super) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn failure(&self) -> Option<PyErr> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// Return true if something stopped the work that isn't the fault of a value, such as a signal.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Return true if a text was filled in column by column since the last call.
    pub(super) fn take_substituted(&self) -> bool {
        self.substituted.swap(false, Ordering::Relaxed)
    }

    /// Return the shapes for which plans were made since the last call.
    pub(super) fn take_shapes(&self) -> HashSet<Vec<u32>> {
        std::mem::take(&mut *self.shapes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Stop the work with an exception.
    pub(super) fn interrupt(&self, error: PyErr) {
        self.stop(error);
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn stop(&self, error: PyErr) -> Error {
        // Ctrl-C stops all work. An exception of a value stops only the work that needs this value.
        if !Python::attach(|py| error.is_instance_of::<PyException>(py)) {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        *self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        Error::stopped()
    }
}

impl Interpreter<'_> {
    /// Return the callback for the texts and values of a column of row numbers.
    fn python_text_of(&self, field: &Field) -> Result<&Py<PyAny>> {
        let of_examples = field.metadata().get(EXTENSION_METADATA_KEY).is_some_and(|of| of == "examples");
        let python_text = if of_examples { self.examples } else { self.samples.as_ref() };
        python_text.ok_or_else(|| {
            Error::render(Code::InternalError, "the column's values are not at hand").in_column(field.name())
        })
    }
}

impl PythonCallbacks for Interpreter<'_> {
    fn python_text(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef> {
        let python_text = self.python_text_of(field)?;
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let texts = python_text.bind(py).call1((field.name(), rows))?;
            Ok(texts.extract::<Imported<ArrayRef>>()?.0)
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn values(&self, field: &Field, array: &ArrayRef) -> Result<Vec<Value>> {
        let python_text = self.python_text_of(field)?;
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let values = python_text.bind(py).call1((field.name(), rows, true))?;
            values.try_iter()?.map(|value| value::from_python(&value?)).collect::<PyResult<Vec<_>>>()
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn row_error(&self, error: Error) -> Result<Error> {
        if error.kind() != Kind::Stopped || self.interrupted.load(Ordering::Relaxed) {
            return if error.kind() == Kind::Stopped { Err(error) } else { Ok(error) };
        }
        let row = error.location().row;
        let mut failure = self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let raised = failure.as_ref().and_then(|raised| Python::attach(|py| errors::of_python(py, raised)));
        let Some(raised) = raised else { return Err(error) };
        *failure = None;
        Ok(match row {
            Some(row) => raised.at_row(row),
            None => raised,
        })
    }

    fn has_substituted(&self) {
        self.substituted.store(true, Ordering::Relaxed);
    }

    fn has_shape(&self, shape: &[u32]) {
        self.shapes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(shape.to_vec());
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::stopped());
        }
        if std::thread::current().id() == self.thread {
            let mut looked = self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if looked.elapsed() >= SIGNAL_CHECK_INTERVAL {
                *looked = Instant::now();
                Python::attach(|py| py.check_signals()).map_err(|e| {
                    self.interrupt(e);
                    Error::stopped()
                })?;
            }
        }
        Ok(())
    }
}
