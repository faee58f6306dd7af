//! Copying what a text is made of: `pieces` bound to where their bytes are, `put`, which copies them, and the `writer` of a
//! whole row.

mod pieces;
mod put;
mod writer;

pub use pieces::{Pairs, Step};
pub use put::put;
pub use writer::{TextLookup, TextSources, Writer};
