//! Fills in fields exactly as the harness does, if copying isn't enough.
//!
//! `fill` renders a row in which copying isn't enough: by `recursive_fill`, which finds placeholders of values with a
//! `placeholder_index`, if its result is certain, and else column by column (`replace`). `trace` gives the same text
//! and keeps origins.

mod fill;
mod placeholder_index;
mod recursive_fill;
mod replace;
mod room;
mod trace;

pub use fill::Filler;
pub use replace::replaced;
pub use room::Room;
pub use trace::{InvolvedColumns, Traced, traced, without_empty};
