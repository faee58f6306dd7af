//! The order of samples in which requests with equal beginnings follow each other, and how much the requests share.
//!
//! A request begins with parts that its plan names: the examples of its sample, then the values of columns, or the
//! messages of a conversation. `parts` hashes those values. `order` groups the samples by their first part, each group
//! by the second part, and so on; no text is rendered or compared for that. `take` returns the samples in this order.
//!
//! `requests` reads rendered requests as bytes. `shared` counts the bytes that a request has in common with the request
//! before it.

mod order;
mod parts;
mod requests;
mod shared;
mod take;

pub use order::{PrefixOrder, prefix_order};
pub use parts::Part;
pub use requests::Requests;
pub use shared::SharedBytes;
pub use take::take;
