//! Texts that were rendered before the requests that show them: parts of examples, pairs of a conversation, messages.
//!
//! A `store` holds them, `fragment_refs` say which a row shows. `length_tables` and `runs` are made of a store for
//! many rows at once: how long fragments are, and fragments joined by what stands between them.

mod fragment_refs;
mod length_tables;
mod run_cache;
mod runs;
mod store;

pub use fragment_refs::Shots;
pub use length_tables::{Table, Tables};
pub use runs::Runs;
pub use store::Parts;
