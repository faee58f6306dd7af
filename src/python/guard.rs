//! The border's guard: a panic becomes an exception that says where it was and asks for a report.
//!
//! Nothing here should ever run. The rows that were asked for are not rendered, the process and its other work go on.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use pyo3::prelude::*;

use super::errors::to_python;
use crate::error::{Code, Error};

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic that was caught, as it is passed from the thread on which it happened.
pub(super) struct Panic(String);

/// Let panics be remembered instead of printed. This library has a Rust runtime, and so a hook, of its own.
pub(super) fn install() {
    set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        // The thread's memory may be gone while it ends: then the place isn't known.
        let _ = PLACE.try_with(|last| *last.borrow_mut() = place);
    }));
}

/// What `work` gives, or the panic in it.
///
/// # Errors
///
/// A [`Panic`], to be raised by [`raise`].
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let what = payload.downcast_ref::<&str>().map(|what| (*what).to_owned());
        let what = what.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        let place = PLACE.try_with(|last| last.borrow_mut().take()).ok().flatten();
        Panic(format!("{what} ({})", place.as_deref().unwrap_or("on another thread")))
    })
}

/// The exception for a panic.
pub(super) fn raise(panic: &Panic) -> PyErr {
    let Panic(what) = panic;
    let message = format!(
        "internal error: {what}. This is a bug of promptpress, which gave up on these rows; please report it with the \
         configuration and, if you can, the data"
    );
    Python::attach(|py| to_python(py, &Error::render(Code::InternalError, message), None))
}
