//! Token ids of whole columns of texts.
//!
//! A tokenizer looks for its added tokens first, and encodes what stands between two of them alone. So a text can be
//! encoded in pieces, and a piece that comes again needn't be encoded again. Two sources of equal pieces are used, and
//! neither needs to know the template:
//!
//! - the text before: most of a prompt with examples is what the prompt before begins with, too;
//! - a memory of pieces that came twice: examples in another order, system prompts, what a template writes.
//!
//! | module | content |
//! |---|---|
//! | `engine` | what encodes a piece |
//! | `hub` | the engine of the crates of `tokenizers` 1.0 |
//! | `loading` | [`load`] makes an engine from a `tokenizer.json` |
//! | `added_tokens` | the added tokens of a tokenizer, found in texts |
//! | `common_characters` | characters that all engines have in their tables |
//! | `cuts` | where a piece can be cut further, between two known characters |
//! | `memory` | pieces with their ids |
//! | `encoder` | texts as ids: the loop over rows |
//! | `offsets` | which bytes a token is of |
//! | `token_rows` | the tokens of some rows, and their Arrow columns |

mod added_tokens;
mod common_characters;
mod cuts;
mod encoder;
mod engine;
#[cfg(feature = "tokenizers")]
mod hub;
mod loading;
mod memory;
mod offsets;
mod token_rows;

pub use added_tokens::{AddedToken, AddedTokens, TokenKind};
pub use cuts::Cuts;
pub use encoder::{Encoder, Parts};
pub use engine::Engine;
pub use loading::load;
pub use token_rows::{Columns, Cut, TokenRows};
