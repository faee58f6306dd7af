//! The output of a renderer for a schema: labels, names and types.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use crate::error::Result;
use crate::plan::Mode;
use crate::render::compiled::{BoundConfig, CompiledConfig};
use crate::render::traces::{SpanType, Spans};
use crate::render::values::string_type;

/// Return the names and types of the label, turn and prompt columns for samples with this schema.
///
/// # Errors
///
/// `RenderError` for messages that no Arrow type holds.
pub fn output_fields(compiled: &CompiledConfig, schema: &Arc<Schema>) -> Result<Vec<Field>> {
    let (bound, config) = (BoundConfig::new(compiled, schema)?, &compiled.config);
    let mut out = Vec::new();
    if config.mode == Mode::Ppl {
        out.push(Field::new(&config.names.label, bound.label_type()?, true));
    }
    if compiled.has_turns() {
        out.push(Field::new(&config.names.turn, DataType::Int64, true));
    }
    let prompt = match bound.message_type()? {
        Some(of) if !config.output.json => of.data_type(),
        _ => string_type(config.layout),
    };
    out.push(Field::new(&config.names.prompt, prompt, true));
    Ok(out)
}

/// Return the field of requests' spans for samples with this schema.
///
/// # Errors
///
/// The errors of [`output_fields`].
pub fn spans_field(compiled: &CompiledConfig, schema: &Arc<Schema>, spans: Spans) -> Result<Field> {
    let of = BoundConfig::new(compiled, schema)?.span_type(spans)?;
    Ok(Field::new("spans", of.map_or(DataType::Null, SpanType::data_type), true))
}
