//! promptpress: whole Arrow tables of samples into prompts, byte for byte what an evaluation harness would have built
//! one sample at a time.
//!
//! A sample travels one way: configuration → template and role → plan → render → Arrow. Each module uses only modules
//! named to its left: `error · near · value · threads · dialect · template · role · output · plan · pytext · render · notes · python`.

pub mod dialect;
pub mod error;
pub mod near;
pub mod notes;
pub mod output;
pub mod plan;
pub mod pytext;
#[cfg(feature = "python")]
mod python;
pub mod render;
pub mod role;
pub mod template;
pub mod threads;
pub mod value;

#[cfg(feature = "python")]
pub use python::core_module;
