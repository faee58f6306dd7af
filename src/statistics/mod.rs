//! Statistics of rendered requests: how long they are, and which are the same.
//!
//! A column of requests is opened once (`request_column`), whatever its Arrow type; `sizes` and `hashes` go over its rows
//! on all threads. `lengths` and `duplicates` add up what batch after batch brings.

mod duplicates;
mod hashes;
mod lengths;
mod request_column;
mod sizes;

pub use duplicates::{DuplicateGroup, DuplicateSummary, Duplicates};
pub use hashes::{HASH_BYTES, RequestHash, hashes};
pub(crate) use hashes::{as_it_is, write};
pub use lengths::{Bin, LengthSummary, Lengths};
pub use request_column::RequestColumn;
pub use sizes::{Sizes, sizes};
