//! Reads a column of conversations, of any supported type, on all threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, LargeStringArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::arguments::Argument;
use super::arrow::Lists;
use super::json;
use super::location::{Location, Opening};
use super::plain::Plain;
use super::reading::Reading;
use super::shapes::{NO_SHAPE, Shapes};
use crate::error::{Code, Error, Result};
use crate::python_text::TextColumn;
use crate::render::{element_type, is_list, is_text};
use crate::threads;

/// So many rows are read by one thread at a time.
const CHUNK_ROWS: usize = 4096;

/// Conversations after reading.
pub struct Conversations {
    /// The number of each conversation's shape, or [`NO_SHAPE`].
    pub ids: UInt32Array,
    /// The texts of each conversation's slots. If a conversation has no shape, its texts are meaningless.
    pub slots: LargeListArray,
    /// The shapes that occur, and the number of rows of each.
    pub rows: BTreeMap<u32, usize>,
}

/// Read a column of conversations: lists of structs, or texts that hold them as JSON.
///
/// Columns of `arguments` belong to the rows. `opening` says which lists and dicts the template looks into.
///
/// # Errors
///
/// `RenderError` for a column of another type; with the row, for a conversation whose array isn't sound.
pub fn read(column: &ArrayRef, arguments: &[Argument], shapes: &Shapes, opening: Opening) -> Result<Conversations> {
    match column.data_type() {
        data_type if is_text(data_type) => {
            let texts = TextColumn::new(column)?;
            of_rows(column.len(), arguments, (shapes, opening), |row, reading| {
                // The texts have been checked.
                let text = if texts.is_null(row) { "" } else { str::from_utf8(texts.bytes(row)).unwrap_or_default() };
                json::conversation(text, reading)
            })
        }
        data_type if is_list(data_type) && is_message(element_type(data_type).as_ref()) => {
            of_lists(column, arguments, (shapes, opening))
        }
        data_type => {
            let message = format!(
                "expected conversations: lists of structs with a role and a content (or from and value), or texts that \
                 hold such lists as JSON; found {data_type}"
            );
            Err(Error::render(Code::WrongColumnType, message))
        }
    }
}

fn is_message(items: Option<&DataType>) -> bool {
    matches!(items, Some(DataType::Struct(_) | DataType::Null))
}

/// Read rows one by one; `read` writes a conversation, or returns None if it can't be read here.
fn of_rows<'s>(
    rows: usize,
    arguments: &[Argument],
    settings: (&'s Shapes, Opening),
    read: impl Fn(usize, &mut Reading<'s>) -> Option<()> + Send + Sync,
) -> Result<Conversations> {
    let parts = read_parts(rows, settings, |rows, reading| {
        for row in rows {
            if arguments.is_empty() {
                reading.row(|reading| read(row, reading));
                continue;
            }
            reading.row(|reading| {
                reading.json("{\"messages\":");
                read(row, reading)?;
                reading.json(",\"arguments\":");
                Argument::write_all(arguments, row, reading)?;
                reading.json("}");
                Some(())
            });
        }
    });
    join(&parts)
}

fn of_lists(column: &ArrayRef, arguments: &[Argument], settings: (&Shapes, Opening)) -> Result<Conversations> {
    let lists = Lists::new(column)?;
    let plain = match lists.items.as_struct_opt() {
        Some(items) if arguments.is_empty() => Plain::new(items).map_err(|error| lists.located(error))?,
        _ => None,
    };
    let Some(plain) = plain else { return of_structs(lists, arguments, settings) };
    let parts = read_parts(lists.len(), settings, |rows, reading| plain.read(rows.map(|row| lists.row(row)), reading));
    if parts.iter().any(|part| part.has_unopened) {
        return of_structs(lists, arguments, settings);
    }
    let ends = OffsetBuffer::new(lists.ends().iter().map(|end| *end as i64).collect());
    let items = Arc::new(Field::new_list_field(plain.contents.data_type().clone(), true));
    let slots = LargeListArray::try_new(items, ends, plain.contents, None).map_err(|e| malformed(&e))?;
    Ok(Conversations { ids: ids(&parts), rows: rows_by_shape(&parts), slots })
}

fn of_structs(lists: Lists, arguments: &[Argument], settings: (&Shapes, Opening)) -> Result<Conversations> {
    let lists = lists.opened(false)?;
    of_rows(lists.len(), arguments, settings, |row, reading| {
        lists.row(row).and_then(|_| lists.write(row, Location::Message, reading))
    })
}

fn read_parts<'s>(
    rows: usize,
    (shapes, opening): (&'s Shapes, Opening),
    read: impl Fn(Range<usize>, &mut Reading<'s>) + Send + Sync,
) -> Vec<Reading<'s>> {
    threads::map(threads::chunks(0..rows, CHUNK_ROWS), |rows| {
        let mut reading = Reading::new(shapes, opening);
        read(rows, &mut reading);
        reading
    })
}

fn ids(parts: &[Reading]) -> UInt32Array {
    parts.iter().map(|part| &part.ids[..]).collect::<Vec<_>>().concat().into()
}

fn rows_by_shape(parts: &[Reading]) -> BTreeMap<u32, usize> {
    let mut rows = BTreeMap::new();
    for part in parts {
        for run in part.ids.chunk_by(|a, b| a == b).filter(|run| run[0] != NO_SHAPE) {
            *rows.entry(run[0]).or_default() += run.len();
        }
    }
    rows
}

/// Join the rows of all parts, with the texts that were copied.
fn join(parts: &[Reading]) -> Result<Conversations> {
    let (mut rows, mut ends) = (vec![0_i64], vec![0_i64]);
    let mut texts = Vec::with_capacity(parts.iter().map(|part| part.texts.len()).sum());
    for part in parts {
        let (slots, bytes) = (ends.len() as i64 - 1, texts.len() as i64);
        rows.extend(part.rows.iter().map(|row| slots + *row as i64));
        ends.extend(part.ends.iter().map(|end| bytes + *end as i64));
        texts.extend_from_slice(&part.texts);
    }
    let texts = LargeStringArray::try_new(OffsetBuffer::new(ends.into()), texts.into(), None);
    let items = Arc::new(Field::new_list_field(DataType::LargeUtf8, true));
    let texts = Arc::new(texts.map_err(|e| malformed(&e))?);
    let slots = LargeListArray::try_new(items, OffsetBuffer::new(rows.into()), texts, None);
    Ok(Conversations { ids: ids(parts), rows: rows_by_shape(parts), slots: slots.map_err(|e| malformed(&e))? })
}

fn malformed(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::MalformedArray, error.to_string())
}
