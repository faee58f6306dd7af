//! Runs the kept inputs of `tests/rust/libfuzzer/` through their targets: inputs that once failed, and inputs that reach much of
//! the core. A failure names its file.

use std::path::Path;

use super::fuzz_targets::TARGETS;

#[test]
fn every_kept_input_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    for (name, run) in TARGETS {
        let mut files: Vec<_> = corpus
            .join(name)
            .read_dir()
            .expect("a folder for each target")
            .map(|entry| entry.expect("a name").path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no inputs");
        for file in files {
            let data = std::fs::read(&file).expect("an input can be read");
            if let Err(panic) = std::panic::catch_unwind(|| run(&data)) {
                eprintln!("{name}: {}", file.display());
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn each_target_takes_any_bytes() {
    for (_, run) in TARGETS {
        run(b"");
        for byte in 0..=255 {
            run(&[byte; 40]);
        }
    }
}
