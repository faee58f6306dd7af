//! The caches of services, which keep the beginnings of requests: which beginnings requests share, where a request marks them, and how many
//! of its tokens are read from the cache, or written to it.
//!
//! `tree` holds the requests by what they begin with: a node for each beginning, which has the number of requests that
//! begin so. The steps of one tree are messages, at whose ends requests can have marks; the steps of another are blocks
//! of tokens, for services that find equal beginnings themselves. `requests` fills both from rendered requests, whose
//! texts Python encodes. `serving` places the marks, and goes through the requests in some order.

mod requests;
mod serving;
mod tree;

pub use requests::{Blocks, PromptTree};
pub use serving::{Marks, Served};
