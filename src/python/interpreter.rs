//! The interpreter, as rendering asks it for things.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use super::arrow::{Imported, export};
use super::value;
use crate::error::{Code, Error, Result};
use crate::plan::Limits;
use crate::render::Host;
use crate::value::Value;

/// Metadata of a column of row numbers: whose rows they are.
const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";

/// The interpreter, as rendering asks it for things.
///
/// `lower(column, row numbers) -> texts` gives the texts of columns that the core only has the row numbers of, and with
/// True behind them their values as Python has them. The samples and the examples have one each, and a column says whose
/// it is, whichever of them is being rendered.
pub(super) struct Interpreter<'r> {
    samples: Option<Py<PyAny>>,
    examples: Option<&'r Py<PyAny>>,
    /// The exception that stopped the work.
    failure: Mutex<Option<PyErr>>,
    /// Whether to stop at the next look.
    interrupted: AtomicBool,
    /// The thread that asked for the work, which nobody looks at signals for while it does the work itself.
    thread: ThreadId,
    /// When it looked last.
    looked: Mutex<Instant>,
    limits: Limits,
}

/// How often the thread that asked for the work looks at signals.
pub(super) const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

impl<'r> Interpreter<'r> {
    pub(super) fn new(samples: Option<Py<PyAny>>, examples: Option<&'r Py<PyAny>>) -> Self {
        Self {
            samples,
            examples,
            failure: Mutex::new(None),
            interrupted: AtomicBool::new(false),
            thread: std::thread::current().id(),
            looked: Mutex::new(Instant::now()),
            limits: Limits::default(),
        }
    }

    /// The same within a configuration's limits.
    pub(super) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn failure(&self) -> Option<PyErr> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }

    /// Let the work stop with this exception.
    pub(super) fn interrupt(&self, error: PyErr) {
        self.stop(error);
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn stop(&self, error: PyErr) -> Error {
        // Ctrl-C stops all work, and an exception that is a value's own only what needs that value.
        if !Python::attach(|py| error.is_instance_of::<PyException>(py)) {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        *self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        Error::stopped()
    }
}

impl Interpreter<'_> {
    /// What gives the texts and values of a column of row numbers.
    fn lower_of(&self, field: &Field) -> Result<&Py<PyAny>> {
        let of_examples = field.metadata().get(EXTENSION_METADATA_KEY).is_some_and(|of| of == "examples");
        let lower = if of_examples { self.examples } else { self.samples.as_ref() };
        lower.ok_or_else(|| {
            Error::render(Code::InternalError, "the column's values are not at hand").in_column(field.name())
        })
    }
}

impl Host for Interpreter<'_> {
    fn lower(&self, field: &Field, array: &ArrayRef) -> Result<ArrayRef> {
        let lower = self.lower_of(field)?;
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let texts = lower.bind(py).call1((field.name(), rows))?;
            Ok(texts.extract::<Imported<ArrayRef>>()?.0)
        })
        .map_err(|e: PyErr| self.stop(e))
    }

    fn values(&self, field: &Field, array: &ArrayRef) -> Result<Vec<Value>> {
        let lower = self.lower_of(field)?;
        Python::attach(|py| {
            let rows = export(py, array.clone())?;
            let values = lower.bind(py).call1((field.name(), rows, true))?;
            values.try_iter()?.map(|value| value::from_python(&value?)).collect::<PyResult<Vec<_>>>()
        })
        .map_err(|e: PyErr| self.stop(e))
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
