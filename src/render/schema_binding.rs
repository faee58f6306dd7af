//! What is known once the samples' schema is, kept for the next batch.

use std::sync::{Arc, OnceLock};

use arrow_schema::Schema;

use super::fragments::FragmentStore;
use super::messages::{MessageType, RepeatedColumns};
use crate::error::{Kind, Result};
use crate::plan::{Columns, Plan};
use crate::threads;

/// What follows from a schema; each made when it is first asked for.
pub(super) struct SchemaBinding {
    pub(super) schema: Arc<Schema>,
    pub(super) columns: Columns,
    /// The plans of all rows, one a label, where no row decides them.
    pub(super) plans: OnceLock<Vec<Arc<Plan>>>,
    /// The examples' fragments.
    pub(super) examples: OnceLock<Result<FragmentStore>>,
    /// The same as they stand within JSON strings.
    pub(super) escaped_examples: OnceLock<Result<FragmentStore>>,
    pub(super) message_type: OnceLock<Result<Option<MessageType>>>,
    /// What the messages of all rows have.
    pub(super) constants: RepeatedColumns,
}

impl SchemaBinding {
    /// Nothing yet but the columns.
    pub(super) fn new(schema: Arc<Schema>, columns: Columns) -> Self {
        Self {
            schema,
            columns,
            plans: OnceLock::new(),
            examples: OnceLock::new(),
            escaped_examples: OnceLock::new(),
            message_type: OnceLock::new(),
            constants: RepeatedColumns::default(),
        }
    }
}

/// Return the value that a cell holds, and make it first if the cell is empty.
///
/// # Errors
///
/// The error of `make`. The cell keeps it too, unless it is [`Kind::Stopped`]: the exception behind that is known to the
/// call that was stopped, and to no later one.
pub(super) fn made_or_stopped<T>(cell: &OnceLock<Result<T>>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(made) = cell.get() {
        return made.as_ref().map_err(Clone::clone);
    }
    match make() {
        Err(error) if error.kind() == Kind::Stopped => Err(error),
        made => threads::made(cell, || made).as_ref().map_err(Clone::clone),
    }
}
