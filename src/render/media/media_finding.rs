//! A finding about a sample's media.

use std::sync::Arc;

use crate::plan::Finding;

/// A finding about a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaFinding {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: Arc<str>,
    /// The kind of finding.
    pub finding: Finding,
    /// The beginning of the text that the finding is about.
    pub excerpt: String,
}
