//! Finds the columns of the examples that requests show, and the columns of the samples that the template of any
//! request may show. The configuration and the schema decide this before there are samples.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::Schema;

use super::request_origins::expanded;
use crate::error::Result;
use crate::plan::{ExampleForm, Mode, Plan, Seg, build_request};
use crate::render::compiled::{BoundConfig, CompiledConfig};
use crate::render::input::{PythonCallbacks, is_list};
use crate::render::traces::FragmentTraces;
use crate::render::values::MessageColumn;
use crate::role::Request;
use crate::template::FragmentSet;
use crate::threads;
use crate::value::Value;

/// The number of examples that a thread takes at a time.
const CHUNK_EXAMPLES: usize = 1024;

impl CompiledConfig {
    /// Return the requests with examples of one kind that the configuration allows: one for each label or body.
    fn requests_with(&self, examples: &[ExampleForm], labels: &[Option<Value>]) -> Vec<Request> {
        let by_body = self.config.mode == Mode::Gen && self.selector().is_some();
        let bodies: Vec<Option<Value>> = self.config.main().labels().iter().cloned().map(Some).collect();
        let labels = if by_body { &bodies } else { labels };
        // A request that is refused shows nothing.
        labels.iter().filter_map(|label| build_request(&self.config, label.as_ref(), examples).ok()).collect()
    }
}

/// Return the samples' columns that requests show by their templates, for samples with this schema and in its order.
/// The columns that values bring in, and those that conversations and media show, aren't known yet.
///
/// # Errors
///
/// `RenderError` for a schema that lacks what the configuration reads.
pub fn template_columns(
    compiled: &CompiledConfig,
    schema: &Arc<Schema>,
    labels: &[Option<Value>],
) -> Result<Vec<Arc<str>>> {
    let bound = BoundConfig::new(compiled, schema)?;
    let mut names: Vec<Arc<str>> = Vec::new();
    let requests = match &compiled.constant_requests {
        Some(requests) => requests.clone(),
        None => {
            let shapes = compiled.example_shapes();
            let shapes = if shapes.is_empty() { vec![Vec::new()] } else { shapes };
            shapes.iter().flat_map(|examples| compiled.requests_with(examples, labels)).collect()
        }
    };
    // A column of texts adds no messages.
    let brings_messages = |name: &&Arc<str>| schema.field_with_name(name).is_ok_and(|field| is_list(field.data_type()));
    for request in requests {
        names.extend(expanded(&request).filter(brings_messages).cloned());
        let plan = Plan::new(request, bound.columns());
        let fields = plan.programs.iter().flat_map(|program| &program.fields);
        names.extend(fields.map(|column| bound.columns().names[*column].clone()));
    }
    let all = schema.fields().iter().map(|field| Arc::from(field.name().as_str()));
    Ok(all.filter(|name| names.contains(name)).collect())
}

/// Return the columns of the examples that requests show. Each has the rows of the examples' table whose value is shown
/// if the row is chosen, without rows that are never chosen.
///
/// # Errors
///
/// `RenderError` for a value without text, and for a schema that lacks what the configuration reads.
pub fn example_columns(
    compiled: &CompiledConfig,
    schema: &Arc<Schema>,
    labels: &[Option<Value>],
    host: &dyn PythonCallbacks,
) -> Result<Vec<(Arc<str>, BooleanBuffer)>> {
    let (Some(ice), Some(examples)) = (&compiled.ice, &compiled.examples) else { return Ok(Vec::new()) };
    let bound = BoundConfig::new(compiled, schema)?;
    // The parts of an example that requests show, for each kind of example.
    let shown_parts = |kind: usize| -> Vec<u32> {
        let Some(form) = ice.open(kind, 0) else { return Vec::new() };
        let mut parts = Vec::new();
        for request in compiled.requests_with(&[form], labels) {
            let plan = Plan::new(request, bound.columns());
            let segs = plan.programs.iter().flat_map(|program| &program.units).flat_map(|unit| &unit.segs);
            parts.extend(segs.filter_map(|seg| match seg {
                Seg::Fragment(fragment) if fragment.set == FragmentSet::Renderer => Some(fragment.part),
                _ => None,
            }));
        }
        parts
    };
    let parts: Vec<Vec<u32>> = (0..ice.kinds.len()).map(shown_parts).collect();
    let traces = FragmentTraces::of_examples(compiled, host);
    let traced_origins = |chunk: std::ops::Range<usize>| -> Result<Vec<(u32, usize)>> {
        let mut out = Vec::new();
        for example in chunk {
            // An example without a kind is an error of the row that chooses it.
            let Ok(kind) = examples.kind(example as u32) else { continue };
            for part in &parts[kind] {
                let trace = traces.part(example as u32, *part)?;
                out.extend(trace.bytes.iter().map(|(origin, _)| (example as u32, *origin)));
            }
        }
        Ok(out)
    };
    let shown_origins =
        threads::try_map(threads::chunks(0..examples.count(), CHUNK_EXAMPLES), traced_origins)?.concat();
    let origins = traces.origins();
    let mut out: Vec<(Arc<str>, BooleanBufferBuilder)> = Vec::new();
    let mut add = |name: &Arc<str>, example: usize| {
        let index = out.iter().position(|(column, _)| column == name).unwrap_or_else(|| {
            let mut rows = BooleanBufferBuilder::new(examples.total);
            rows.append_n(examples.total, false);
            out.push((name.clone(), rows));
            out.len() - 1
        });
        out[index].1.set_bit(examples.row(example), true);
    };
    for (example, origin) in shown_origins {
        if let (true, Some(name)) = (origins[origin].source.is_field(), &origins[origin].column) {
            add(name, example as usize);
        }
    }
    if compiled.config.shows_raw_examples() {
        for name in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()).flat_map(ExampleForm::expands) {
            let Some(column) = examples.column(name) else { continue };
            let messages = MessageColumn::new(column).map_err(|error| error.in_column(name).in_examples())?;
            let speaking = (0..examples.count()).filter(|example| messages.message_length(*example, None).0 > 0);
            speaking.for_each(|example| add(&Arc::from(name), example));
        }
    }
    Ok(out.into_iter().map(|(name, mut rows)| (name, rows.finish())).collect())
}
