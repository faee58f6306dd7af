//! Statistics of rendered requests: their lengths, and duplicates.
//!
//! A column of requests is opened once (`request_column`), whatever its Arrow type. `sizes` and `hashes` go over its
//! rows on all threads. `lengths`, `duplicates` and `stream_hash` accumulate the results of all batches.

mod duplicates;
mod hashes;
mod lengths;
mod request_column;
mod sizes;
mod stream_hash;

pub use duplicates::{DuplicateGroup, DuplicateSummary, Duplicates};
pub use hashes::{HASH_BYTES, RequestHash, hash_array};
pub(crate) use hashes::{unchanged, write};
pub use lengths::{Bin, LengthSummary, Lengths};
pub use request_column::RequestColumn;
pub use sizes::{Sizes, sizes};
pub use stream_hash::StreamHash;
