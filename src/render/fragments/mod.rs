//! Texts that are rendered before the requests that show them: parts of examples, pairs of a conversation, messages.
//!
//! A `store` holds the texts, and `row_fragments` names those of each row. `length_tables` and `runs` are made from a
//! store for many rows: the lengths of fragments, and fragments joined with the literals between them.

mod length_tables;
mod row_fragments;
mod run_cache;
mod runs;
mod store;

pub use length_tables::{LengthTables, Table};
pub use row_fragments::RowFragments;
pub use runs::Runs;
pub use store::{FragmentStore, FragmentStores};
