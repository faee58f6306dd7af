//! What is fuzzed of the core: each target takes any bytes, and passes by a result or an error of ours. It fails by a
//! panic, by memory that it may not touch, and by arrays that aren't what Arrow promises.
//!
//! `libfuzzer/` runs them under libFuzzer with an address sanitizer, `tests/fuzz_corpus.rs` over the kept corpus.

mod arrow;
mod configurations;
mod conversations;
mod cursor;
mod jinja;
mod tables;

/// A target: what it is called, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All of them. Each has a folder of its name in `tests/fuzz/corpus`.
pub const TARGETS: [Target; 5] = [
    ("configurations", configurations::construct),
    ("render", configurations::render),
    ("arrow", arrow::render),
    ("conversations", conversations::read),
    ("jinja", jinja::run),
];

/// The target of a name.
#[allow(dead_code, reason = "the runner of the corpus takes them all")]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|(own, _)| *own == name)
}
