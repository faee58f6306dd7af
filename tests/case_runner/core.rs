//! All that the runner calls of the core.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef};
use promptpress::error::{Error, Kind};
use promptpress::plan::{Config, Settings};
use promptpress::render::{self, CompiledConfig, NoHost, Outcome};
use promptpress::value::Value;
use serde_json::{Map, Value as Json, json};

use super::Case;
use super::json::{request, scalar};

/// The columns of the result, by name.
pub type Rendered = HashMap<&'static str, Vec<Json>>;

/// An error: its kind and place, and its text.
pub struct Failed {
    pub place: Map<String, Json>,
    pub message: String,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            Kind::Template => "template",
            Kind::Render => "render",
            Kind::Stopped => "stopped",
        };
        let place = error.place();
        let place = json!({"kind": kind, "path": place.path, "row": place.row, "column": place.column});
        let Json::Object(place) = place else { unreachable!("it is an object") };
        Self { place, message: error.to_string() }
    }
}

/// A case rendered in batches of `size` rows.
pub fn render(case: &Case, size: usize) -> Result<Rendered, Failed> {
    let get = |key: &str| case.settings.get(key).cloned().unwrap_or_default();
    let Ok(settings) = Settings::of(|key| Ok::<_, Infallible>(get(key)));
    let tokens = get("tokens");
    let text_of = |id: i64| {
        let Value::Dict(texts) = &tokens else { return Ok(None) };
        let found = texts.iter().find(|(key, _)| *key == Value::Int(id));
        Ok(found.and_then(|(_, text)| text.as_str()).map(str::to_owned))
    };
    let compiled = CompiledConfig::new(Config::new(&settings, &text_of)?, case.examples.as_ref(), &NoHost)?;
    let mut rendered = Rendered::new();
    if let Some(replies) = &case.replies {
        for turn in 0..=replies.iter().map(Vec::len).max().unwrap_or(0) {
            let said = lists(replies.iter().map(|own| &own[..turn.min(own.len())]));
            add(&mut rendered, render::render_turn(&compiled, &case.samples, turn, &said, &NoHost)?);
        }
        return Ok(rendered);
    }
    let labels = render::labels_of(&compiled, std::slice::from_ref(&case.samples))?;
    let (mut start, mut draws) = (0, None);
    while start == 0 || start < case.samples.num_rows() {
        let batch = case.samples.slice(start, size.min(case.samples.num_rows() - start));
        add(
            &mut rendered,
            render::render(&compiled, &batch, start, &labels, &mut draws, render::Wanted::default(), &NoHost)?,
        );
        start += size;
    }
    Ok(rendered)
}

fn add(rendered: &mut Rendered, outcomes: Vec<Outcome>) {
    for one in outcomes {
        let all =
            |array: &ArrayRef, of: fn(&dyn Array, usize) -> Json| (0..array.len()).map(|n| of(array, n)).collect();
        let mut put = |name, mut more: Vec<Json>| rendered.entry(name).or_default().append(&mut more);
        put("prompts", all(&one.prompts, request));
        for (name, array) in [("labels", one.labels), ("samples", one.samples), ("turns", one.turns)] {
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
