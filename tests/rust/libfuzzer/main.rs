//! One target under libFuzzer, the one that `FUZZ_TARGET` names.
#![no_main]

#[path = "../fuzz_targets/mod.rs"]
mod fuzz_targets;

use std::sync::LazyLock;

use fuzz_targets::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    fuzz_targets::target(&name).unwrap_or_else(|| panic!("there is no target {name:?}"))
});

fuzz_target!(|data: &[u8]| (TARGET.1)(data));
