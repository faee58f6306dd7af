//! The decisions that follow from the samples' schema, kept for the next batch.

use std::sync::{Arc, OnceLock};

use arrow_schema::Schema;

use crate::error::{Kind, Result};
use crate::plan::{Columns, Plan};
use crate::render::fragments::FragmentStore;
use crate::render::messages::{MessageType, RepeatedColumns};
use crate::threads;

/// The decisions that follow from a schema. Each is made when it is first needed.
pub(in crate::render) struct SchemaBinding {
    pub(in crate::render) schema: Arc<Schema>,
    pub(in crate::render) columns: Columns,
    /// The plans of all rows, one for each label, if they are the same for all rows.
    pub(in crate::render) plans: OnceLock<Vec<Arc<Plan>>>,
    /// The examples' fragments.
    pub(in crate::render) examples: OnceLock<Result<FragmentStore>>,
    /// The examples' fragments, escaped for JSON strings.
    pub(in crate::render) escaped_examples: OnceLock<Result<FragmentStore>>,
    pub(in crate::render) message_type: OnceLock<Result<Option<MessageType>>>,
    /// The repeated columns of constants that the messages of all rows share.
    pub(in crate::render) constants: RepeatedColumns,
}

impl SchemaBinding {
    /// Make a binding that holds the columns only.
    pub(in crate::render) fn new(schema: Arc<Schema>, columns: Columns) -> Self {
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
/// The error of `make`. The cell keeps the error too, unless it is [`Kind::Stopped`]: only the call that was stopped
/// can raise the exception that caused it.
pub(in crate::render) fn made_or_stopped<T>(
    cell: &OnceLock<Result<T>>,
    make: impl FnOnce() -> Result<T>,
) -> Result<&T> {
    if let Some(result) = cell.get() {
        return result.as_ref().map_err(Clone::clone);
    }
    match make() {
        Err(error) if error.kind() == Kind::Stopped => Err(error),
        result => threads::get_or_make(cell, || result).as_ref().map_err(Clone::clone),
    }
}
