//! The row loop: programs are bound to a batch (`bound_program`, `label_group`), the lengths of their texts are
//! computed (`lengths`), and the texts are written into memory of exactly the right size.
//!
//! `engine` is the loop. It leaves batches in which no row needs a decision to `plain`, which binds rows as
//! `plain_rows` and their columns as `unread`. `fragments` uses the loop to render texts that other requests show.

mod bound_program;
mod engine;
mod fragments;
mod label_group;
mod lengths;
mod plain;
mod plain_rows;
mod rows_apart;
mod sizes;
mod unread;

pub use bound_program::BoundProgram;
pub use engine::{any_may_need_substitution, any_needs_substitution, rows_that_need_substitution, texts};
pub use fragments::{fragments_of_forms, fragments_of_programs, fragments_of_rows};
pub use plain::{Part, texts_of_parts};
pub use rows_apart::FilledRows;
pub use unread::Unread;
