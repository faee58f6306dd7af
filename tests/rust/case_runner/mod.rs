//! Finds, reads, runs and compares case files.

mod arrays;
mod core;
mod json;

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use promptpress::value::Value;
use serde_json::{Map, Value as Json};

use self::core::{Failed, Rendered};

/// A case: its input, and the expected result.
pub struct Case {
    name: String,
    /// The arguments of the renderer, except for `examples`.
    pub settings: Value,
    pub samples: RecordBatch,
    pub examples: Option<RecordBatch>,
    /// The replies of the model in each turn of each sample's conversation.
    pub replies: Option<Vec<Vec<String>>>,
    expected: Json,
}

/// The columns of a result that a case may hold.
const COLUMNS: [&str; 4] = ["prompts", "labels", "samples", "turns"];

/// Return all files with cases, in order.
pub fn case_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("the folder of cases can be read") {
            let path = entry.expect("it has a name").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

pub fn read_cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file);
    cases_of(&name.display().to_string(), &text)
}

/// Read the cases of a file with this text.
pub fn cases_of(name: &str, text: &str) -> Vec<Case> {
    let read = || Ok::<(Json, Value), serde_json::Error>((serde_json::from_str(text)?, json::to_value(text)?));
    let (file, values) = read().unwrap_or_else(|error| panic!("{name}: {error}"));
    let cases = file["cases"].as_object().unwrap_or_else(|| panic!("{name} has no cases"));
    let case_of = |(case, entry): (&String, &Json)| {
        let values = [values.get("cases").and_then(|cases| cases.get(case)), Some(&values)];
        read_case(format!("{name}: {case}"), &file, entry, values)
    };
    cases.iter().map(case_of).collect()
}

/// Read a case. `values` are the case and its file once more, with dicts whose order is that of the text.
fn read_case(name: String, file: &Json, entry: &Json, values: [Option<&Value>; 2]) -> Case {
    // A case's settings come before those of its file, and its tables replace those of the file.
    let entries = |value: Option<&Value>| match value.and_then(|value| value.get("settings")) {
        Some(Value::Dict(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let table = |key| entry.get(key).or(file.get(key)).filter(|table| !table.is_null()).map(arrays::table);
    Case {
        name,
        settings: Value::Dict(values.into_iter().flat_map(entries).collect()),
        samples: table("samples").expect("a case has samples"),
        examples: table("examples"),
        replies: entry.get("replies").map(json::lists_of_texts),
        expected: entry["expected"].clone(),
    }
}

/// Return a text for each failure of a case.
pub fn failures_of(case: &Case) -> Vec<String> {
    let fail = |how: &str, what: String| format!("{}, {how}: {what}", case.name);
    let rows = case.samples.num_rows();
    let whole = core::render(case, rows.max(1));
    if let Some(error) = case.expected.get("error") {
        return compare_error(error, whole).map(|what| fail("as one batch", what)).into_iter().collect();
    }
    let mut ways = vec![("as one batch", whole)];
    if rows > 1 && case.replies.is_none() {
        ways.push(("row by row", core::render(case, 1)));
    }
    let compared = ways.into_iter().filter_map(|(how, rendered)| Some(fail(how, compare(&case.expected, rendered)?)));
    compared.collect()
}

fn compare(expected: &Json, rendered: Result<Rendered, Failed>) -> Option<String> {
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(failed) => return Some(format!("refused: {}", failed.message)),
    };
    COLUMNS.iter().find_map(|column| {
        let none = Vec::new();
        let want = expected.get(column).and_then(Json::as_array);
        let values = match (rendered.get(column), want) {
            // Except in a conversation, the sample of a request is obvious.
            (Some(_), None) if *column == "samples" => return None,
            (values, _) => values.unwrap_or(&none),
        };
        let want = want.unwrap_or(&none);
        if want.len() != values.len() {
            return Some(format!("{column}: expected {}, found {}", want.len(), values.len()));
        }
        let index = want.iter().zip(values).position(|(wanted, other)| wanted != other)?;
        Some(format!("{column}[{index}]\n  expected {}\n  found    {}", want[index], values[index]))
    })
}

/// Compare an error. It has to have the kind and the location that its case names, and may have more.
fn compare_error(expected: &Json, rendered: Result<Rendered, Failed>) -> Option<String> {
    match rendered {
        Ok(rendered) => {
            Some(format!("\n  expected {expected}\n  found    {}", Json::from(rendered["prompts"].clone())))
        }
        Err(failed) => {
            let none = Map::new();
            let same =
                expected.as_object().unwrap_or(&none).iter().all(|(key, want)| failed.location.get(key) == Some(want));
            (!same).then(|| {
                format!("\n  expected {expected}\n  found    {} {}", Json::Object(failed.location), failed.message)
            })
        }
    }
}
