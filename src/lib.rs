//! promptpress: renders whole Arrow tables of samples as prompts, byte for byte as an evaluation harness builds them
//! one sample at a time.
//!
//! A sample takes one path: configuration → template and role → output → plan → render → Arrow. Each module uses only
//! modules to its left: `error · suggest · json_text · json_value · value · threads · json_reader · dialect · template ·
//! role · output · plan · python_text · render · conversations · fewshot_sampling · jinja · json_lines · lints · statistics ·
//! audit · prefix_order · prompt_cache · token_ids · python`.
//!
//! Read [`plan::Settings`] into a [`plan::Config`], compile it with its examples to a [`render::CompiledConfig`], and
//! [`render::render`] batches with it. The Python package is a thin layer over these.

pub mod audit;
pub mod conversations;
mod dialect;
pub mod error;
pub mod fewshot_sampling;
pub mod jinja;
pub mod json_lines;
pub mod json_reader;
mod json_text;
mod json_value;
pub mod lints;
mod output;
pub mod plan;
pub mod prefix_order;
pub mod prompt_cache;
#[cfg(feature = "python")]
mod python;
pub mod python_text;
pub mod render;
mod role;
pub mod statistics;
mod suggest;
mod template;
mod threads;
pub mod token_ids;
pub mod value;

#[cfg(feature = "python")]
pub use python::core_module;

// The tests of `tests/rust` are compiled with those of the modules. As programs of their own, which see public names
// alone, they would need the core compiled once more.
#[cfg(test)]
extern crate self as promptpress;

#[cfg(test)]
#[path = "../tests/rust"]
mod tests {
    mod case_runner;
    mod cases;
    mod fuzz_corpus;
    mod fuzz_targets;
    mod python_text;
}
