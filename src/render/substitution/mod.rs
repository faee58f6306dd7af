//! Filling in fields where copying isn't enough, exactly as the harness does.
//!
//! `fill` renders a row that needs it: by `recursive_fill`, which looks values up in a `placeholder_index`, where
//! that is certain, and column by column (`replace`) elsewhere. `trace` does the same and keeps origins.

mod fill;
mod placeholder_index;
mod recursive_fill;
mod replace;
mod room;
mod trace;

pub use fill::Filler;
pub use replace::replaced;
pub use room::Room;
pub use trace::{InvolvedColumns, Traced, traced};
