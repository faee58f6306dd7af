//! The fuzz targets of the core. Each target takes any bytes, and passes if it gives a result or one of our errors. It
//! fails with a panic, with an access to foreign memory, and with arrays that break Arrow's rules.
//!
//! `tests/rust/libfuzzer/` runs them under libFuzzer with an address sanitizer, and `tests/rust/fuzz_corpus.rs` over the kept corpus.

mod arrow;
mod configurations;
mod conversations;
mod cursor;
mod jinja;
mod tables;

/// A target: its name, and its function for an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a folder of its name in `tests/fuzz/corpus`.
pub const TARGETS: [Target; 5] = [
    ("configurations", configurations::construct),
    ("render", configurations::render),
    ("arrow", arrow::render),
    ("conversations", conversations::read),
    ("jinja", jinja::run),
];

/// Return the target of a name.
#[allow(dead_code, reason = "the runner of the corpus takes them all")]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|(target_name, _)| *target_name == name)
}
