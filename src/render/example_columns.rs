//! Which columns of the examples requests show, and which columns of the samples any request may show by its template:
//! what the configuration and the schema decide, before there are samples.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::Schema;

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::fragment_traces::FragmentTraces;
use super::input::{Host, is_list};
use super::request_origins::expanded;
use super::values::SaidColumn;
use crate::error::Result;
use crate::plan::{ExampleForm, Mode, Plan, Seg, build_request};
use crate::role::Request;
use crate::template::{FragmentSet, Source};
use crate::threads;
use crate::value::Value;

/// Examples that one thread takes at a time.
const CHUNK_EXAMPLES: usize = 1024;

impl CompiledConfig {
    /// The requests of one kind of examples, one a label or a body, that the configuration allows.
    fn requests_with(&self, examples: &[ExampleForm], labels: &[Option<Value>]) -> Vec<Request> {
        let by_body = self.config.mode == Mode::Gen && self.selector().is_some();
        let bodies: Vec<Option<Value>> = self.config.main().labels().iter().cloned().map(Some).collect();
        let labels = if by_body { &bodies } else { labels };
        // A request that is refused shows nothing.
        labels.iter().filter_map(|label| build_request(&self.config, label.as_ref(), examples).ok()).collect()
    }
}

/// The samples' columns that requests of samples with this schema show by their templates, in the schema's order. What a
/// value brings in isn't known yet, and neither is what conversations and media show.
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
    // A column of texts brings no messages.
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

/// The columns of the examples that requests show, each with the rows of the examples' table whose value is shown where
/// the row is chosen; rows that are never chosen aren't among them.
///
/// # Errors
///
/// `RenderError` for a value without text, and for a schema that lacks what the configuration reads.
pub fn example_columns(
    compiled: &CompiledConfig,
    schema: &Arc<Schema>,
    labels: &[Option<Value>],
    host: &dyn Host,
) -> Result<Vec<(Arc<str>, BooleanBuffer)>> {
    let (Some(ice), Some(examples)) = (&compiled.ice, &compiled.examples) else { return Ok(Vec::new()) };
    let bound = BoundConfig::new(compiled, schema)?;
    // The parts of an example that requests show, by its kind.
    let shown_parts = |kind: usize| -> Vec<u32> {
        let Some(form) = ice.open(kind, 0) else { return Vec::new() };
        let mut parts = Vec::new();
        for request in compiled.requests_with(&[form], labels) {
            let plan = Plan::new(request, bound.columns());
            let segs = plan.programs.iter().flat_map(|program| &program.units).flat_map(|unit| &unit.segs);
            parts.extend(segs.filter_map(|seg| match seg {
                Seg::Fragment(place) if place.set == FragmentSet::Renderer => Some(place.part),
                _ => None,
            }));
        }
        parts
    };
    let parts: Vec<Vec<u32>> = (0..ice.kinds.len()).map(shown_parts).collect();
    let traces = FragmentTraces::of_examples(compiled, host);
    let look = |chunk: std::ops::Range<usize>| -> Result<Vec<(u32, usize)>> {
        let mut out = Vec::new();
        for example in chunk {
            // An example without a kind is an error of the row that chooses it.
            let Ok(kind) = examples.kind(example as u32) else { continue };
            for part in &parts[kind] {
                let own = traces.part(example as u32, *part)?;
                out.extend(own.bytes.iter().map(|(origin, _)| (example as u32, *origin)));
            }
        }
        Ok(out)
    };
    let found = threads::try_map(threads::chunks(0..examples.count(), CHUNK_EXAMPLES), look)?.concat();
    let origins = traces.origins();
    let mut out: Vec<(Arc<str>, BooleanBufferBuilder)> = Vec::new();
    let mut add = |name: &Arc<str>, example: usize| {
        let at = out.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            let mut rows = BooleanBufferBuilder::new(examples.total);
            rows.append_n(examples.total, false);
            out.push((name.clone(), rows));
            out.len() - 1
        });
        out[at].1.set_bit(examples.row(example), true);
    };
    for (example, origin) in found {
        if let (Source::Field, Some(name)) = (origins[origin].source, &origins[origin].column) {
            add(name, example as usize);
        }
    }
    if compiled.config.shows_raw_examples() {
        for name in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()).flat_map(ExampleForm::expands) {
            let Some(column) = examples.column(name) else { continue };
            let said = SaidColumn::new(column).map_err(|error| error.in_column(name).in_examples())?;
            let speaking = (0..examples.count()).filter(|example| said.message_length(*example, None).0 > 0);
            speaking.for_each(|example| add(&Arc::from(name), example));
        }
    }
    Ok(out.into_iter().map(|(name, mut rows)| (name, rows.finish())).collect())
}
