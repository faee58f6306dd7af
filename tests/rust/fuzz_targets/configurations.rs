//! Configurations as JSON, read and compiled, and rendered with their tables.

use std::convert::Infallible;

use promptpress::error::Result;
use promptpress::lints::{TableFacts, notes};
use promptpress::plan::{Config, Limits, Settings};
use promptpress::render::{self, CompiledConfig, NoPython, RenderRequest, Spans};
use promptpress::value::Value;
use serde_json::Value as Json;

use super::tables::{sound, table};

/// Read the arguments of a renderer: `{name: value}`.
pub fn construct(data: &[u8]) {
    if let Some((settings, tokens)) = serde_json::from_slice::<Json>(data).ok().as_ref().and_then(settings) {
        let _ = compiled(&settings, &tokens, &Json::Null);
    }
}

/// Render `{"settings": {...}, "samples": [[name, type, values], ...], "examples": ...}`, as in the files of
/// `tests/cases`.
pub fn render(data: &[u8]) {
    let Ok(case) = serde_json::from_slice::<Json>(data) else { return };
    let Some((settings, tokens)) = case.get("settings").and_then(settings) else { return };
    let Some(samples) = case.get("samples").and_then(table) else { return };
    let Ok(compiled) = compiled(&settings, &tokens, case.get("examples").unwrap_or(&Json::Null)) else { return };
    let _ = rendered(&compiled, &samples);
    let _ = render::findings(&compiled, std::slice::from_ref(&samples), &NoPython);
}

fn settings(json: &Json) -> Option<(Settings, Value)> {
    let entries = json.as_object()?;
    let get = |key: &str| entries.get(key).map(value).unwrap_or_default();
    let Ok(settings) = Settings::of(|key| Ok::<_, Infallible>(get(key)));
    Some((settings, get("tokens")))
}

/// Convert a value of a configuration; a dict whose keys aren't strings is `{"$dict": [[key, value], ...]}`.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => {
            number.as_i64().map(Value::Int).or_else(|| number.as_f64().map(Value::Float)).unwrap_or_default()
        }
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(entries) => match entries.get("$dict").and_then(Json::as_array) {
            Some(pairs) => Value::Dict(pairs.iter().map(|pair| (value(&pair[0]), value(&pair[1]))).collect()),
            None => Value::Dict(entries.iter().map(|(key, item)| (Value::from(key.as_str()), value(item))).collect()),
        },
    }
}

fn compiled(settings: &Settings, tokens: &Value, examples: &Json) -> Result<CompiledConfig> {
    let text_of = |id: i64| {
        let Value::Dict(texts) = tokens else { return Ok(None) };
        let entry = texts.iter().find(|(key, _)| *key == Value::Int(id));
        Ok(entry.and_then(|(_, text)| text.as_str()).map(str::to_owned))
    };
    let mut config = Config::new(settings, &text_of)?;
    config.limits = small();
    let _ = notes(settings, &config, &TableFacts::default());
    CompiledConfig::new(config, table(examples).as_ref(), &NoPython)
}

fn rendered(compiled: &CompiledConfig, samples: &arrow_array::RecordBatch) -> Result<()> {
    let labels = render::labels_of(compiled, std::slice::from_ref(samples))?;
    for spans in [Spans::None, Spans::Detailed] {
        let wanted = RenderRequest { spans, ..RenderRequest::default() };
        for rows in render::render(compiled, samples, 0, &labels, &mut None, wanted, &NoPython)? {
            sound(&rows.prompts);
            [rows.labels, rows.samples, rows.turns, rows.spans].into_iter().flatten().for_each(|array| sound(&array));
        }
    }
    if samples.num_rows() > 0 {
        let _ = render::explain(compiled, std::slice::from_ref(samples), 0, &labels, None, None, 0, &NoPython);
    }
    render::divergence(compiled, std::slice::from_ref(samples), &labels, &NoPython).map(|_| ())
}

/// Return limits below the defaults, so that a case that asks for much is refused quickly.
fn small() -> Limits {
    Limits { template_bytes: 1 << 16, nesting: 20, labels: 100, prompt_bytes: 1 << 16, batch_bytes: 1 << 22 }
}
