//! promptpress: whole Arrow tables of samples into prompts, byte for byte what an evaluation harness would have built
//! one sample at a time.
//!
//! A sample travels one way: configuration → template and role → output → plan → render → Arrow. Each module uses only
//! modules named to its left: `error · near · json_text · value · threads · dialect · template · role · output · plan · pytext · render · conversations · jinja · json_lines · notes · statistics · audit · python`.
//!
//! Read [`plan::Settings`] into a [`plan::Config`], compile it with its examples to a [`render::CompiledConfig`], and
//! [`render::render`] batches with it. The Python package is a thin layer over these.

pub mod audit;
pub mod conversations;
mod dialect;
pub mod error;
pub mod jinja;
pub mod json_lines;
mod json_text;
mod near;
pub mod notes;
mod output;
pub mod plan;
pub mod pytext;
#[cfg(feature = "python")]
mod python;
pub mod render;
mod role;
pub mod statistics;
mod template;
mod threads;
pub mod value;

#[cfg(feature = "python")]
pub use python::core_module;
