//! Plans run over record batches.

mod asked;
mod batch;
mod borrowed;
mod chat;
mod copy;
mod engine;
mod examples;
mod expansion;
mod explain;
mod fill;
mod findings;
mod infer;
mod json;
mod lists;
mod media;
mod message_type;
mod nest;
mod outcome;
mod pages;
mod plain;
mod planner;
mod ready;
mod renderer;
mod scalar;
mod schema;
mod shots;
mod strings;
mod text_json;
mod turns;
mod zipped;

pub use batch::{Host, NoHost};
pub use explain::{Divergence, Span};
pub use fill::replaced;
pub use findings::Found;
pub use outcome::Outcome;
pub use renderer::Renderer;
