//! Turns a panic into an exception that names the location of the panic and asks for a report.
//!
//! A panic is always a bug. The requested rows aren't rendered, but the process and its other work continue.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use pyo3::prelude::*;

use super::errors::to_python;
use crate::error::{Code, Error};

thread_local! {
    /// The location of this thread's last panic.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The message of a panic that was caught. It can be sent to another thread.
pub(super) struct Panic(String);

/// Record panics instead of printing them. This library has its own Rust runtime, so the hook affects no other library.
pub(super) fn install() {
    set_hook(Box::new(|panic| {
        let location = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
        // While a thread ends, its memory may be gone. The location stays unknown then.
        let _ = LOCATION.try_with(|last| *last.borrow_mut() = location);
    }));
}

/// Return the result of `work`, or a panic in it.
///
/// # Errors
///
/// A [`Panic`], for [`raise`].
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    let (mut work, mut result) = (Some(work), None);
    run_caught(&mut || result = work.take().map(|work| work()))?;
    result.ok_or_else(|| Panic("the work was lost".to_owned()))
}

/// Run `work`, and catch a panic in it. It isn't generic, because it would be compiled for each caller.
pub(super) fn run_caught(work: &mut dyn FnMut()) -> Result<(), Panic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let what = payload.downcast_ref::<&str>().map(|what| (*what).to_owned());
        let what = what.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        let location = LOCATION.try_with(|last| last.borrow_mut().take()).ok().flatten();
        Panic(format!("{what} ({})", location.as_deref().unwrap_or("on another thread")))
    })
}

/// Return the exception for a panic.
pub(super) fn raise(panic: &Panic) -> PyErr {
    let Panic(what) = panic;
    let message = format!(
        "internal error: {what}. This is a bug of promptpress, which gave up on these rows; please report it with the \
         configuration and, if you can, the data"
    );
    Python::attach(|py| to_python(py, &Error::render(Code::InternalError, message), None))
}
