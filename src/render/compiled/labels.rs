//! The labels of ppl: their values for some samples, and their column.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::bound::BoundConfig;
use super::config::CompiledConfig;
use crate::error::{Code, Error, Result};
use crate::plan::{Labels, Mode};
use crate::python_text::float_text;
use crate::render::input::{is_row_numbers, readable, repeated};
use crate::render::messages::SliceCache;
use crate::render::values::{build, distinct, string_type, type_of};
use crate::value::Value;

/// Return the text of a label in the label column, for labels without a common type.
pub(in crate::render) fn label_text(label: &Value) -> String {
    match label {
        Value::Float(f) => float_text(*f),
        other => other.python_str(),
    }
}

/// Return the labels of ppl for these samples; `[None]` for gen.
///
/// # Errors
///
/// `RenderError` if the labels are a column's values and the samples lack this column.
pub fn labels_of(compiled: &CompiledConfig, samples: &[RecordBatch]) -> Result<Vec<Option<Value>>> {
    Ok(match &compiled.labels {
        Labels::None => vec![None],
        Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
        Labels::Column(column) => {
            let arrays = samples
                .iter()
                .map(|batch| {
                    batch.column_by_name(column).cloned().ok_or_else(|| {
                        Error::render(
                            Code::MissingColumn,
                            "the labels are this column's values, and the table lacks it; give labels=",
                        )
                        .in_column(column)
                    })
                })
                .collect::<Result<Vec<ArrayRef>>>()?;
            for (batch, array) in samples.iter().zip(&arrays) {
                readable(
                    batch
                        .schema_ref()
                        .field_with_name(column)
                        .map_err(|e| Error::render(Code::InternalError, e.to_string()))?,
                    array,
                )?;
            }
            let all: Vec<Option<Value>> = distinct(&arrays).into_iter().map(Some).collect();
            let error = |message| Error::render(Code::LimitExceeded, message).in_column(column);
            compiled.config.limits.check_labels(all.len(), error)?;
            all
        }
    })
}

/// Return the label column that a sample of this schema is rendered with; None in gen mode.
///
/// # Errors
///
/// `RenderError` if the schema lacks the column of labels, or the labels don't fit one array.
pub fn label_column(
    compiled: &CompiledConfig,
    schema: &Arc<Schema>,
    labels: &[Option<Value>],
) -> Result<Option<ArrayRef>> {
    let bound = BoundConfig::new(compiled, schema)?;
    bound.label_array(labels, 1, &SliceCache::new(&bound.binding.constants))
}

impl BoundConfig<'_> {
    pub(in crate::render) fn label_array(
        &self,
        labels: &[Option<Value>],
        rows: usize,
        shared: &SliceCache,
    ) -> Result<Option<ArrayRef>> {
        if self.compiled.config.mode == Mode::Gen {
            return Ok(None);
        }
        let requests = rows * labels.len();
        if let Some(cached) = shared.labels.borrow().as_ref().filter(|cached| cached.len() >= requests) {
            return Ok(Some(cached.slice(0, requests)));
        }
        let data_type = self.label_type()?;
        let given: Vec<Value> = labels.iter().map(|l| l.clone().unwrap_or_default()).collect();
        let refs: Vec<&Value> = given.iter().collect();
        let row_labels = build(&refs, &data_type).or_else(|_| {
            // The labels have no common type, so the column holds their texts.
            let texts: Vec<Value> = given.iter().map(|label| label_text(label).as_str().into()).collect();
            build(&texts.iter().collect::<Vec<_>>(), &data_type)
        })?;
        let too_large =
            || Error::render(Code::OffsetOverflow, "the labels don't fit one array; render fewer rows at once");
        let all = repeated(&row_labels, rows).ok_or_else(too_large)?;
        shared.labels.replace(Some(all.clone()));
        Ok(Some(all))
    }

    pub(in crate::render) fn label_type(&self) -> Result<DataType> {
        let text = string_type(self.compiled.config.layout);
        Ok(match &self.compiled.labels {
            Labels::None => DataType::Null,
            Labels::Given(labels) => match type_of(labels, self.compiled.config.layout) {
                Some(DataType::Null) | None => text,
                Some(label_type) => label_type,
            },
            Labels::Column(column) => {
                let field = self.binding.schema.field_with_name(column).map_err(|_| {
                    Error::render(
                        Code::MissingColumn,
                        "the labels are this column's values, and the table lacks it; give labels=",
                    )
                    .in_column(column)
                })?;
                if is_row_numbers(field) {
                    return Ok(text);
                }
                let values = match field.data_type() {
                    DataType::Dictionary(_, values) => values,
                    DataType::RunEndEncoded(_, values) => values.data_type(),
                    other => other,
                };
                match values {
                    nested if nested.is_nested() => {
                        let message =
                            format!("its values would be the labels, which can't be of type {nested}; give labels=");
                        return Err(Error::render(Code::WrongColumnType, message).in_column(column));
                    }
                    DataType::Boolean => DataType::Boolean,
                    // An unsigned integer that exceeds the signed type is a label too.
                    DataType::UInt64 => DataType::UInt64,
                    t if t.is_integer() => DataType::Int64,
                    t if t.is_floating() => DataType::Float64,
                    _ => text,
                }
            }
        })
    }
}
