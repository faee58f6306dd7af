//! Runs every case of `tests/cases/` through the core, without Python. `tests/cases/README.md` describes case files,
//! and `tests/rendering/test_cases.py` runs the same files through the Python API.

use super::case_runner::{self, Case, case_files, failures_of, read_cases};

#[test]
fn every_case_gives_what_its_file_says() {
    let files = case_files();
    let cases: Vec<Case> = files.iter().flat_map(|file| read_cases(file)).collect();
    assert!(!cases.is_empty(), "no case was found");
    let failures: Vec<String> = cases.iter().flat_map(failures_of).collect();
    assert!(
        failures.is_empty(),
        "{} failures in {} cases of {} files:\n\n{}",
        failures.len(),
        cases.len(),
        files.len(),
        failures.join("\n\n")
    );
}

/// Return the case of a file with one case and this expectation.
fn expecting(expected: &str) -> Case {
    let text = format!(
        r#"{{"settings": {{"prompt_template": "Q: {{q}}"}}, "samples": [["q", "string", ["a", "b"]]],
            "cases": {{"one": {{"expected": {expected}}}}}}}"#
    );
    case_runner::cases_of("made up", &text).remove(0)
}

#[test]
fn a_difference_is_reported_with_its_location() {
    assert_eq!(failures_of(&expecting(r#"{"prompts": ["Q: a", "Q: b"]}"#)), Vec::<String>::new());
    let failures = failures_of(&expecting(r#"{"prompts": ["Q: a", "Q: c"]}"#));
    for (failure, splits) in failures.iter().zip(["as one batch", "row by row"]) {
        assert_eq!(*failure, format!("made up: one, {splits}: prompts[1]\n  expected \"Q: c\"\n  found    \"Q: b\""));
    }
    assert_eq!(failures.len(), 2);
}

#[test]
fn too_few_requests_and_a_missing_error_are_failures() {
    let failure = |expected| failures_of(&expecting(expected)).remove(0);
    assert!(failure(r#"{"prompts": ["Q: a"]}"#).contains("prompts: expected 1, found 2"));
    assert!(failure(r#"{"error": {"kind": "render"}}"#).contains("expected {\"kind\":\"render\"}"));
    assert!(failure(r#"{"prompts": ["Q: a", "Q: b"], "labels": ["A", "B"]}"#).contains("labels: expected 2, found 0"));
}
