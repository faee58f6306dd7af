//! Writes the lines of a batch.

use std::ops::Range;

use arrow_array::{Array, LargeBinaryArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};

use super::line_bytes::LineBytes;
use super::line_layout::{LineLayout, Segment};
use super::requests::Requests;
use super::seen_ids::{Ids, Keys};
use crate::error::{Code, Error, Result};
use crate::json_text;
use crate::python_text::JsonColumn;
use crate::render::PythonCallbacks;
use crate::threads;

/// So many rows are one unit of work, and one array of lines.
const ROWS_AT_ONCE: usize = 512;

/// At most so much memory is reserved in advance.
const MAX_RESERVED_BYTES: usize = 4 << 20;

/// A segment with its column.
enum Bound<'a> {
    Literal(&'a [u8]),
    Value(JsonColumn<'a>),
    Request(Requests<'a>),
    Items(Requests<'a>),
    Member(&'a [u8], JsonColumn<'a>),
    Json(JsonColumn<'a>),
    Text(JsonColumn<'a>),
    Plain(JsonColumn<'a>),
    Row,
}

impl Bound<'_> {
    fn write(&self, row: usize, first_row: usize, out: &mut Vec<u8>, text: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Value(column) => column.write(row, out)?,
            Self::Request(requests) => requests.write(row, out)?,
            Self::Items(requests) => requests.write_items(row, out)?,
            Self::Member(_, column) if column.is_null(row) => {}
            Self::Member(before, column) => {
                out.extend_from_slice(before);
                column.write(row, out)?;
            }
            Self::Json(column) => {
                let start = out.len();
                column.write_text(row, out)?;
                if memchr::memchr(b'\n', &out[start..]).is_some() {
                    let message = "the JSON text has a line break, and a line can't; write it on one line";
                    return Err(Error::render(Code::NoJsonForm, message));
                }
            }
            Self::Text(column) => {
                text.clear();
                column.write_text(row, text)?;
                json_text::inside(&String::from_utf8_lossy(text), out);
            }
            Self::Plain(column) => column.write_text(row, out)?,
            Self::Row => out.extend_from_slice(itoa::Buffer::new().format(first_row + row).as_bytes()),
        }
        Ok(())
    }
}

/// Write the lines of a batch, in arrays of at most 512, which don't depend on the number of threads. With `keys`,
/// collect and hash the ids of the lines too.
///
/// `first_row` is the number of the batch's first row. [`Segment::Row`] and errors count from it.
///
/// # Errors
///
/// `RenderError` for a value that Python can't have, and for an array that contradicts its type; errors of `host`.
pub fn write<'a>(
    batch: &RecordBatch,
    layout: &LineLayout,
    first_row: usize,
    keys: Option<&'a Keys>,
    host: &(dyn PythonCallbacks + Sync),
) -> Result<(Vec<LargeBinaryArray>, Vec<Ids<'a>>)> {
    let schema = batch.schema();
    let mut bound = Vec::with_capacity(layout.segments.len());
    for segment in &layout.segments {
        let column = |index: usize| -> Result<&dyn Array> {
            let column = batch.columns().get(index).map(|column| &**column);
            column.ok_or_else(|| Error::render(Code::MissingColumn, format!("the table has no column {index}")))
        };
        let json = |index: usize| {
            let new = column(index).and_then(|array| JsonColumn::of_field(schema.field(index), array));
            new.map_err(|e| if index < batch.num_columns() { e.in_column(schema.field(index).name()) } else { e })
        };
        let requests = |index: usize| {
            let new = column(index).and_then(|array| Requests::new(schema.field(index), array));
            new.map_err(|e| if index < batch.num_columns() { e.in_column(schema.field(index).name()) } else { e })
        };
        let (column, segment) = match segment {
            Segment::Literal(text) => (None, Bound::Literal(text.as_bytes())),
            Segment::Value(index) => (Some(*index), Bound::Value(json(*index)?)),
            Segment::Request(index) => (Some(*index), Bound::Request(requests(*index)?)),
            Segment::Items(index) => (Some(*index), Bound::Items(requests(*index)?)),
            Segment::Member(before, index) => (Some(*index), Bound::Member(before.as_bytes(), json(*index)?)),
            Segment::Json(index) => (Some(*index), Bound::Json(json(*index)?)),
            // Digits are the same within a JSON string.
            Segment::Text(index) if column(*index)?.data_type().is_integer() => {
                (Some(*index), Bound::Plain(json(*index)?))
            }
            Segment::Text(index) => (Some(*index), Bound::Text(json(*index)?)),
            Segment::Plain(index) => (Some(*index), Bound::Plain(json(*index)?)),
            Segment::Row => (None, Bound::Row),
        };
        bound.push((column, segment));
    }
    let piece = |rows: Range<usize>| -> Result<(LargeBinaryArray, Option<Ids>)> {
        host.check()?;
        let (mut lines, mut text) = (LineBytes::new(), Vec::new());
        let out = &mut lines.0;
        let mut ids = keys.map(|keys| Ids::new(keys, rows.len()));
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        for row in rows.clone() {
            let mut id = 0;
            for (position, (column, segment)) in bound.iter().enumerate() {
                if position == layout.id.start {
                    id = out.len();
                }
                segment.write(row, first_row, out, &mut text).map_err(|error| {
                    let error = error.at_row(first_row + row);
                    match column {
                        Some(index) => error.in_column(schema.field(*index).name()),
                        None => error,
                    }
                })?;
                if let Some(ids) = &mut ids
                    && position + 1 == layout.id.end
                {
                    ids.push(&out[id..]);
                }
            }
            offsets.push(out.len() as i64);
            if row == rows.start {
                // The other lines are likely about as long as this one.
                out.reserve((out.len() * rows.len()).min(MAX_RESERVED_BYTES));
            }
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let lines = LargeBinaryArray::try_new(offsets, lines.into_buffer(), None)
            .map_err(|error| Error::render(Code::InternalError, error.to_string()))?;
        Ok((lines, ids))
    };
    let done = threads::try_map(threads::chunks(0..batch.num_rows(), ROWS_AT_ONCE), piece)?;
    let (lines, ids): (_, Vec<_>) = done.into_iter().unzip();
    Ok((lines, ids.into_iter().flatten().collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::json_lines::{IdFacts, SeenIds};
    use crate::render::NoPython;

    #[test]
    fn lines_are_the_same_on_any_number_of_threads() {
        let count = 3 * ROWS_AT_ONCE + 1;
        let text: StringArray = (0..count).map(|n| (n % 7 > 0).then(|| format!("\"{n}\"\n"))).collect();
        let number: Int64Array = (0..count as i64).map(|n| (n % 3 > 0).then_some(n)).collect();
        let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(text)), ("number", Arc::new(number))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let segments = vec![
            Segment::Literal("{\"id\": \"".into()),
            Segment::Row,
            Segment::Literal("-".into()),
            Segment::Text(0),
            Segment::Literal("\", \"text\": ".into()),
            Segment::Value(0),
            Segment::Member(", \"number\": ".into(), 1),
            Segment::Literal("}\n".into()),
        ];
        let layout = LineLayout { segments, id: 1..4 };
        let mut seen = SeenIds::default();
        let keys = seen.keys();
        let (here, ids) = write(&batch, &layout, 10, Some(&keys), &NoPython).unwrap();
        assert_eq!(seen.add(&ids), IdFacts { shortest: 7, longest: 15, repeated: None });
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let (there, ids) = pool.install(|| write(&batch, &layout, 10, Some(&keys), &NoPython)).unwrap();
        assert_eq!(there, here);
        assert_eq!(seen.add(&ids).repeated, Some((count, 0)));
        assert_eq!(here.len(), 4);
        assert_eq!(here[0].value(0), b"{\"id\": \"10-None\", \"text\": null}\n");
        assert_eq!(here[0].value(1), br#"{"id": "11-\"1\"\n", "text": "\"1\"\n", "number": 1}"#.iter().chain(b"\n").copied().collect::<Vec<u8>>());
        for line in here.iter().flat_map(|lines| lines.iter().flatten()) {
            serde_json::from_slice::<serde_json::Value>(line).unwrap();
        }
    }
}
