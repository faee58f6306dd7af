//! Copying what a text is made of: `pieces` bound to where their bytes are, and the `writer` of a whole row.

mod pieces;
mod writer;

pub use pieces::{Pairs, Step, put};
pub use writer::{TextLookup, TextSources, Writer};
