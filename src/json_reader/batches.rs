//! The rows of blocks as record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::columns::Names;
use super::fields::{Broken, fields};
use super::lines::{Fault, Part, for_each_line, parts};
use super::values::{Value, float, integer};
use crate::threads;

/// The Arrow type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Nulls only.
    Null,
    /// Texts.
    Text,
    /// true and false.
    Bool,
    /// Whole numbers of 64 bits.
    Integer,
    /// Floats of 64 bits.
    Float,
    /// The extension type `arrow.json`: each value as it stands in the file.
    Json,
}

impl ColumnType {
    fn field(self, name: &str) -> Field {
        let data_type = match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Json => DataType::Utf8,
        };
        let field = Field::new(name, data_type, true);
        if self != Self::Json {
            return field;
        }
        let extension = [("ARROW:extension:name", "arrow.json"), ("ARROW:extension:metadata", "")];
        field.with_metadata(HashMap::from(extension.map(|(key, value)| (key.to_owned(), value.to_owned()))))
    }
}

/// Return the schema of columns.
pub fn schema(columns: &[(String, ColumnType)]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|(name, kind)| kind.field(name)).collect::<Vec<_>>()))
}

/// Return the rows of blocks, which end where lines end, as record batches of at most `batch_rows` rows each. Fields that
/// are no columns are skipped.
///
/// # Errors
///
/// A [`Fault`] with the first line that is no row, or has a value that isn't of its column's type.
pub fn batches(
    blocks: &[&[u8]],
    columns: &[(String, ColumnType)],
    batch_rows: usize,
) -> Result<Vec<RecordBatch>, Fault> {
    let schema = schema(columns);
    let mut out = Vec::new();
    for part in threads::map(parts(blocks), |part| of_part(blocks, &part, columns, &schema, batch_rows)) {
        out.extend(part?);
    }
    Ok(out)
}

fn of_part(
    blocks: &[&[u8]],
    part: &Part,
    columns: &[(String, ColumnType)],
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Vec<RecordBatch>, Fault> {
    let mut names = Names::new(columns.iter().map(|(name, _)| name.clone()));
    let mut row: Vec<Option<Value>> = vec![None; columns.len()];
    let mut rows = Rows::new(columns, schema);
    let mut out = Vec::new();
    for_each_line(blocks, part, |line| {
        if rows.count == batch_rows || rows.bytes + line.len() > i32::MAX as usize {
            out.push(std::mem::replace(&mut rows, Rows::new(columns, schema)).finish()?);
        }
        let mut number = 0;
        fields(line, |field| {
            if let Some(column) = names.find(number, &field) {
                row[column] = Some(field.value);
            }
            number += 1;
            Ok(())
        })?;
        rows.push(line, &mut row)
    })?;
    if rows.count > 0 {
        let (block, range) = part[part.len() - 1].clone();
        out.push(rows.finish().map_err(|Broken| Fault { block, line: range })?);
    }
    Ok(out)
}

/// The next batch.
struct Rows<'a> {
    schema: &'a SchemaRef,
    columns: Vec<Column>,
    count: usize,
    /// The bytes of the lines so far.
    bytes: usize,
}

impl<'a> Rows<'a> {
    fn new(columns: &[(String, ColumnType)], schema: &'a SchemaRef) -> Self {
        Self { schema, columns: columns.iter().map(|(_, kind)| Column::new(*kind)).collect(), count: 0, bytes: 0 }
    }

    /// Append a row, and leave `row` empty.
    fn push(&mut self, line: &[u8], row: &mut [Option<Value>]) -> Result<(), Broken> {
        self.count += 1;
        self.bytes += line.len();
        for (column, value) in self.columns.iter_mut().zip(row) {
            let value = value.take().filter(|value| value.of(line) != b"null");
            column.push(line, value)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<RecordBatch, Broken> {
        let columns = self.columns.into_iter().map(Column::finish).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(|_| Broken)
    }
}

/// The values of a column.
struct Column {
    values: Values,
    nulls: NullBufferBuilder,
}

enum Values {
    Null,
    Text(Texts),
    Json(Texts),
    Bool(BooleanBufferBuilder),
    Integer(Vec<i64>),
    Float(Vec<f64>),
}

impl Column {
    fn new(kind: ColumnType) -> Self {
        let values = match kind {
            ColumnType::Null => Values::Null,
            ColumnType::Text => Values::Text(Texts::new()),
            ColumnType::Json => Values::Json(Texts::new()),
            ColumnType::Bool => Values::Bool(BooleanBufferBuilder::new(0)),
            ColumnType::Integer => Values::Integer(Vec::new()),
            ColumnType::Float => Values::Float(Vec::new()),
        };
        Self { values, nulls: NullBufferBuilder::new(0) }
    }

    /// Append a value; None is a null.
    fn push(&mut self, line: &[u8], value: Option<Value>) -> Result<(), Broken> {
        self.nulls.append(value.is_some());
        let bytes = value.map(|value| value.of(line));
        match &mut self.values {
            Values::Null => value.map_or(Ok(()), |_| Err(Broken))?,
            Values::Text(texts) => {
                if !value.is_none_or(|value| value.write_text(line, &mut texts.bytes)) {
                    return Err(Broken);
                }
                texts.end();
            }
            Values::Json(texts) => {
                texts.bytes.extend_from_slice(bytes.unwrap_or_default());
                texts.end();
            }
            Values::Bool(values) => values.append(match bytes {
                Some(b"true") => true,
                Some(b"false") | None => false,
                Some(_) => return Err(Broken),
            }),
            Values::Integer(values) => values.push(bytes.map_or(Some(0), integer).ok_or(Broken)?),
            Values::Float(values) => values.push(bytes.map_or(Some(0.0), float).ok_or(Broken)?),
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef, Broken> {
        let rows = self.nulls.len();
        let nulls = { self.nulls }.finish();
        Ok(match self.values {
            Values::Null => Arc::new(NullArray::new(rows)),
            Values::Text(texts) | Values::Json(texts) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(texts.offsets));
                Arc::new(StringArray::try_new(offsets, Buffer::from_vec(texts.bytes), nulls).map_err(|_| Broken)?)
            }
            Values::Bool(mut values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Integer(values) => Arc::new(Int64Array::new(values.into(), nulls)),
            Values::Float(values) => Arc::new(Float64Array::new(values.into(), nulls)),
        })
    }
}

/// Adjacent texts.
struct Texts {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
}

impl Texts {
    fn new() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }

    /// End the text that was appended. A batch has no more bytes than its lines, which are fewer than an offset can say.
    fn end(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }
}
