//! Copies the pieces of texts: `pieces` are bound to their bytes, `words` are values joined with the literals around
//! them, `put` copies both, and the `writer` writes a whole row.

mod pieces;
mod put;
mod words;
mod writer;

pub use pieces::{Pairs, Step};
pub use put::put;
pub use writer::{TextLookup, TextSources, Writer};
