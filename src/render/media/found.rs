//! What is noticed about a sample's media.

use std::sync::Arc;

use crate::plan::Finding;

/// Something noticed about a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: Arc<str>,
    /// What.
    pub finding: Finding,
    /// The beginning of what it is about.
    pub excerpt: String,
}
