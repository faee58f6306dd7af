//! Texts that were rendered before the requests that show them: parts of examples, pairs of a conversation, messages.
//!
//! A `store` holds them, `row_fragments` say which a row shows. `length_tables` and `runs` are made of a store for
//! many rows at once: how long fragments are, and fragments joined by what stands between them.

mod length_tables;
mod row_fragments;
mod run_cache;
mod runs;
mod store;

pub use length_tables::{LengthTables, Table};
pub use row_fragments::RowFragments;
pub use runs::Runs;
pub use store::{FragmentStore, FragmentStores};
