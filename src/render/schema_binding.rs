//! What is known once the samples' schema is, kept for the next batch.

use std::sync::{Arc, OnceLock};

use arrow_schema::Schema;

use super::fragments::FragmentStore;
use super::messages::MessageType;
use crate::error::Result;
use crate::plan::{Columns, Plan};

/// What follows from a schema; each made when it is first asked for.
pub(super) struct SchemaBinding {
    pub(super) schema: Arc<Schema>,
    pub(super) columns: Columns,
    /// The plans of all rows, one a label, where no row decides them.
    pub(super) plans: OnceLock<Vec<Arc<Plan>>>,
    /// The examples' fragments.
    pub(super) examples: OnceLock<Result<FragmentStore>>,
    pub(super) message_type: OnceLock<Result<Option<MessageType>>>,
}

impl SchemaBinding {
    /// Nothing yet but the columns.
    pub(super) fn new(schema: Arc<Schema>, columns: Columns) -> Self {
        let (plans, examples, message_type) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { schema, columns, plans, examples, message_type }
    }
}
