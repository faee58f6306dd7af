//! Explains the origin of each byte of a prompt.

use arrow_array::RecordBatch;

use super::batches::render;
use super::compiled::{BoundConfig, CompiledConfig, label_text};
use super::input::PythonCallbacks;
use super::rendered::RenderRequest;
use super::spans::{OriginSpan, spans_of};
use super::substitution::InvolvedColumns;
use super::traces::TracedMessage;
use crate::error::{Code, Error, Result};
use crate::plan::{InferMode, Mode};
use crate::template::Template;
use crate::value::Value;

/// Return the spans of the request of row `row` of `samples`. Their first row is the sample at `start`, because a
/// retriever may depend on the position. `label` is one of `labels`, or the text of one; None means the label None if
/// there is one, else the first label. `turn` is a turn that the conversation requests; None means the first.
///
/// # Errors
///
/// `RenderError` for a row, label or turn that doesn't exist, and the errors of rendering the row.
#[allow(clippy::too_many_arguments, reason = "which request, and of what")]
pub fn explain(
    compiled: &CompiledConfig,
    samples: &[RecordBatch],
    row: usize,
    labels: &[Option<Value>],
    label: Option<&Value>,
    turn: Option<usize>,
    start: usize,
    host: &dyn PythonCallbacks,
) -> Result<Vec<OriginSpan>> {
    let mut row_in_batch = row;
    let batch_of_row = samples.iter().find(|batch| {
        let here = row_in_batch < batch.num_rows();
        row_in_batch -= if here { 0 } else { batch.num_rows() };
        here
    });
    let Some(batch) = batch_of_row else {
        let total: usize = samples.iter().map(RecordBatch::num_rows).sum();
        return Err(
            Error::render(Code::RowOutOfRange, format!("there is no such row: the table has {total}")).at_row(row)
        );
    };
    check_turn(compiled, turn).map_err(|e| e.at_row(row))?;
    let bound = BoundConfig::new(compiled, &batch.schema())?;
    let (row_batch, mut involved) = (batch.slice(row_in_batch, 1), InvolvedColumns::new());
    let traced = match compiled.config.main() {
        Template::Turns(_) | Template::Chat(_) => bound
            .traced_turn(&row_batch, turn, &mut involved, host)
            .and_then(|texts| texts.ok_or_else(|| no_turn(turn))),
        _ => {
            let label = self::label(compiled, labels, label)?;
            let ids = bound.example_ids(batch, row_in_batch, start + row).map_err(|e| e.shifted(row))?;
            bound.traced_sample(&row_batch, &ids, label, &mut involved, host)
        }
    };
    let limit = compiled.config.limits.prompt_bytes;
    let is_too_long = match &traced {
        Ok(messages) => {
            messages.iter().flat_map(TracedMessage::texts).flatten().map(|(s, _)| s.len()).sum::<usize>() > limit
        }
        Err(error) => error.code() == Code::LimitExceeded,
    };
    if is_too_long {
        refuse_as_rendered(compiled, &row_batch, start + row, labels, host)?;
    }
    Ok(spans_of(&traced.map_err(|e| e.into_render().at_row(row))?))
}

/// Refuse a request that is too long with the error that rendering its sample raises; `position` is the sample's
/// number.
fn refuse_as_rendered(
    compiled: &CompiledConfig,
    sample: &RecordBatch,
    position: usize,
    labels: &[Option<Value>],
    host: &dyn PythonCallbacks,
) -> Result<()> {
    let mut draws = None;
    compiled.choose_examples(0, position, &mut draws)?;
    match render(compiled, sample, position, labels, &mut draws, RenderRequest::default(), host) {
        Err(error) if error.code() == Code::LimitExceeded => Err(error),
        _ => Ok(()),
    }
}

/// Check that requests are turns if a turn is named, and that the table holds the whole turn.
fn check_turn(compiled: &CompiledConfig, turn: Option<usize>) -> Result<()> {
    let message = match turn {
        None => return Ok(()),
        Some(_) if !compiled.has_turns() => "turn: this configuration has no turns",
        Some(1..) if compiled.config.infer_mode == InferMode::Every => {
            "turn: later turns hold the model's own replies, which the table lacks; explain covers turn 0 here, and \
             infer_mode=\"every_with_gt\" has the true answers in their place"
        }
        Some(_) => return Ok(()),
    };
    Err(Error::render(Code::UnsupportedMode, message))
}

fn no_turn(turn: Option<usize>) -> Error {
    let message = match turn {
        Some(turn) => format!("turn: {turn} isn't among the turns that the conversation asks for"),
        None => "the conversation asks for nothing: it has no turns".to_owned(),
    };
    Error::render(Code::TurnOutOfRange, message)
}

/// Return the wanted label: the identical label, else an equal label, else the label with this text in the label
/// column.
fn label<'l>(
    compiled: &CompiledConfig,
    labels: &'l [Option<Value>],
    wanted: Option<&Value>,
) -> Result<Option<&'l Value>> {
    if compiled.config.mode != Mode::Ppl {
        return Ok(None);
    }
    let Some(wanted) = wanted else {
        let none = labels.iter().find(|label| matches!(label, Some(Value::None)));
        let first_label =
            none.or(labels.first()).ok_or_else(|| Error::render(Code::UnknownLabel, "there are no labels"))?;
        return Ok(first_label.as_ref());
    };
    let find = |is: &dyn Fn(&Value) -> bool| labels.iter().flatten().find(|label| is(label));
    let text = label_text(wanted);
    find(&|label| label == wanted)
        .or_else(|| find(&|label| label.equals(wanted)))
        .or_else(|| find(&|label| label_text(label) == text))
        .map(Some)
        .ok_or_else(|| Error::render(Code::UnknownLabel, format!("there is no label {wanted}; {}", label_list(labels))))
}

/// List the first labels for a message.
fn label_list(labels: &[Option<Value>]) -> String {
    const MAX_SHOWN_LABELS: usize = 5;
    let names: Vec<String> = labels.iter().flatten().take(MAX_SHOWN_LABELS).map(ToString::to_string).collect();
    format!("there are {}{}", names.join(", "), if labels.len() > MAX_SHOWN_LABELS { ", ..." } else { "" })
}
