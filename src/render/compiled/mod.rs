//! Configurations compiled for the row loop.
//!
//! A `config` is compiled once and `bound` to the schema of a table; `schema_binding` keeps the result. `examples` are
//! rendered once for all requests, `message_type` gives the Arrow type of messages, `labels` gives those of ppl mode,
//! `row_plans` chooses the plan of each row, and `conversation_requests` unfolds conversations into requests.

mod bound;
mod config;
mod conversation_requests;
mod examples;
mod labels;
mod message_type;
mod row_plans;
mod schema_binding;

pub(in crate::render) use bound::BoundConfig;
pub use config::CompiledConfig;
pub(in crate::render) use conversation_requests::{conversation_programs, conversations};
pub(in crate::render) use examples::Examples;
pub(in crate::render) use labels::label_text;
pub use labels::{label_column, labels_of};
pub(in crate::render) use row_plans::RowPlans;
pub(in crate::render) use schema_binding::made_or_stopped;
