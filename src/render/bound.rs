//! What is known once the samples' schema is.

use std::sync::{Arc, OnceLock};

use arrow_schema::Schema;

use super::fragments::FragmentStore;
use super::messages::MessageType;
use crate::error::Result;
use crate::plan::{Columns, Plan};

/// What is known once the samples' schema is.
pub(super) struct Bound {
    pub(super) schema: Arc<Schema>,
    pub(super) columns: Columns,
    pub(super) plans: OnceLock<Vec<Arc<Plan>>>,
    pub(super) parts: OnceLock<Result<FragmentStore>>,
    pub(super) message_type: OnceLock<Result<Option<MessageType>>>,
}
