//! The row loop: programs bound to a batch (`bound_program`, `label_group`), how long their texts are (`lengths`), and all
//! of them written into memory of exactly the right size.
//!
//! `engine` is the loop. It leaves batches without anything to decide to `plain` (rows bound as `plain_rows`, their columns as
//! `unread`). `fragments` renders by it what other requests will show.

mod bound_program;
mod engine;
mod fragments;
mod label_group;
mod lengths;
mod plain;
mod plain_rows;
mod sizes;
mod unread;

pub use bound_program::BoundProgram;
pub use engine::{any_may_need_substitution, any_needs_substitution, texts};
pub use fragments::{fragments_of_forms, fragments_of_programs, fragments_of_rows};
pub use plain::texts_of_parts;
pub use unread::Unread;
