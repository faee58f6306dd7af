//! Copying what a text is made of: `pieces` bound to where their bytes are, `words` that are put together with what stands
//! beside them, `put`, which copies both, and the `writer` of a whole row.

mod pieces;
mod put;
mod words;
mod writer;

pub use pieces::{Pairs, Step};
pub use put::put;
pub use writer::{TextLookup, TextSources, Writer};
