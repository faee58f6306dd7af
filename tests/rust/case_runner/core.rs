//! The runner's calls of the core.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef};
use promptpress::error::{Error, Kind};
use promptpress::plan::{Config, Settings};
use promptpress::render::{self, CompiledConfig, NoPython, RenderedRows};
use promptpress::value::Value;
use serde_json::{Map, Value as Json, json};

use super::Case;
use super::json::{request, scalar};

/// The columns of the result, by name.
pub type Rendered = HashMap<&'static str, Vec<Json>>;

/// An error: its kind and location, and its text.
pub struct Failed {
    pub location: Map<String, Json>,
    pub message: String,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            Kind::Template => "template",
            Kind::Render => "render",
            Kind::Stopped => "stopped",
        };
        let location = error.location();
        let location = json!({"kind": kind, "path": location.path, "row": location.row, "column": location.column});
        let Json::Object(location) = location else { unreachable!("it is an object") };
        Self { location, message: error.to_string() }
    }
}

/// Render a case in batches of `size` rows.
pub fn render(case: &Case, size: usize) -> Result<Rendered, Failed> {
    let get = |key: &str| case.settings.get(key).cloned().unwrap_or_default();
    let Ok(settings) = Settings::of(|key| Ok::<_, Infallible>(get(key)));
    let tokens = get("tokens");
    let text_of = |id: i64| {
        let Value::Dict(texts) = &tokens else { return Ok(None) };
        let entry = texts.iter().find(|(key, _)| *key == Value::Int(id));
        Ok(entry.and_then(|(_, text)| text.as_str()).map(str::to_owned))
    };
    let compiled = CompiledConfig::new(Config::new(&settings, &text_of)?, case.examples.as_ref(), &NoPython)?;
    let mut rendered = Rendered::new();
    if let Some(replies) = &case.replies {
        for turn in 0..=replies.iter().map(Vec::len).max().unwrap_or(0) {
            let earlier_replies = lists(replies.iter().map(|texts| &texts[..turn.min(texts.len())]));
            add(&mut rendered, render::render_turn(&compiled, &case.samples, turn, &earlier_replies, &NoPython)?);
        }
        return Ok(rendered);
    }
    let labels = render::labels_of(&compiled, std::slice::from_ref(&case.samples))?;
    let (mut start, mut draws) = (0, None);
    while start == 0 || start < case.samples.num_rows() {
        let batch = case.samples.slice(start, size.min(case.samples.num_rows() - start));
        add(
            &mut rendered,
            render::render(&compiled, &batch, start, &labels, &mut draws, render::RenderRequest::default(), &NoPython)?,
        );
        start += size;
    }
    Ok(rendered)
}

fn add(rendered: &mut Rendered, outcomes: Vec<RenderedRows>) {
    for rows in outcomes {
        let all =
            |array: &ArrayRef, of: fn(&dyn Array, usize) -> Json| (0..array.len()).map(|n| of(array, n)).collect();
        let mut put = |name, mut more: Vec<Json>| rendered.entry(name).or_default().append(&mut more);
        put("prompts", all(&rows.prompts, request));
        for (name, array) in [("labels", rows.labels), ("samples", rows.samples), ("turns", rows.turns)] {
            if let Some(array) = array {
                put(name, all(&array, scalar));
            }
        }
    }
}

fn lists<'a>(each: impl Iterator<Item = &'a [String]>) -> ArrayRef {
    let mut lists = LargeListBuilder::new(LargeStringBuilder::new());
    for texts in each {
        for text in texts {
            lists.values().append_value(text);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}
