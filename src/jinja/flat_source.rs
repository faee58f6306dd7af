//! Columns that are copied, and where the texts of some rows lie in them.

use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::column::is_foreign;
use super::ends::Ends;
use super::row_limit::BYTES_OF_VALUE;
use super::text;
use super::value::Value;
use crate::error::{Error, Result};
use crate::pytext::{Offsets, TextColumn};

/// A column whose values are copied.
pub(super) struct Source<'a> {
    array: &'a dyn Array,
    name: &'a str,
    pub(super) texts: TextColumn,
    /// Where the texts are items of lists: the lists, and which of these are null.
    lists: Option<(Ends, Option<NullBuffer>)>,
    /// Whether the texts are yet to be checked.
    pub(super) unread: bool,
    /// Whether all values are texts, none of them null.
    pub(super) only_texts: bool,
}

/// A value of a source: of a column, or one of a list's items; stripped or as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) source: usize,
    pub(super) item: Option<usize>,
    pub(super) strip: Option<text::Ends>,
}

/// Where a text is: what it is part of, its first byte and the byte after its last.
pub(super) type Place<'s> = (&'s [u8], usize, usize);

pub(super) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl<'a> Source<'a> {
    /// A column of a batch, or the items of its lists; None if it has to be looked at more closely.
    ///
    /// # Errors
    ///
    /// If the column is malformed.
    pub(super) fn new(name: &'a str, in_lists: bool, batch: &'a RecordBatch) -> Result<Option<Self>> {
        let schema = batch.schema_ref();
        let Ok(at) = schema.index_of(name) else { return Ok(None) };
        let (field, array) = (schema.field(at), batch.column(at));
        let named = |error: Error| error.in_column(name);
        if is_foreign(field) {
            return Ok(None);
        }
        if !in_lists {
            if let Some(texts) = TextColumn::unread(array).filter(|texts| !texts.has_nulls()) {
                return Ok(Some(Self { array, name, texts, lists: None, unread: true, only_texts: true }));
            }
            // Values that can't be printed are found out row by row.
            let texts = if is_string(array.data_type()) {
                TextColumn::new(array).map_err(named)?
            } else {
                match TextColumn::new(array) {
                    Ok(texts) => texts,
                    Err(_) => return Ok(None),
                }
            };
            let only_texts = is_string(array.data_type()) && !texts.has_nulls();
            return Ok(Some(Self { array, name, texts, lists: None, unread: false, only_texts }));
        }
        let (DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)) = array.data_type()
        else {
            return Ok(None);
        };
        if is_foreign(item) || !is_string(item.data_type()) {
            return Ok(None);
        }
        let (ends, items) = Ends::of(array).map_err(named)?;
        // Rows of these layouts that follow each other have items that do.
        let in_order = matches!(ends, Ends::Narrow(_) | Ends::Wide(_)) && array.null_count() == 0;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let (texts, unread) = match TextColumn::unread(items).filter(|texts| in_order && !texts.has_nulls()) {
            Some(texts) => (texts, true),
            None => match TextColumn::new(items) {
                Ok(texts) => (texts, false),
                // What is wrong may be nobody's.
                Err(_) => return Ok(None),
            },
        };
        let only_texts = !texts.has_nulls();
        Ok(Some(Self { array: items, name, texts, lists: Some((ends, nulls)), unread, only_texts }))
    }

    /// How many bytes a row's texts have, and some more for each text.
    pub(super) fn input_bytes(&self, row: usize) -> usize {
        let bytes = |at: usize| BYTES_OF_VALUE + if self.texts.is_null(at) { 0 } else { self.texts.length(at) };
        match &self.lists {
            None => bytes(row),
            Some((ends, _)) => ends.at(row).map(bytes).sum(),
        }
    }

    /// Whether its texts are items of lists.
    pub(super) fn is_listed(&self) -> bool {
        self.lists.is_some()
    }

    /// Whether a row's list has so many items.
    #[inline]
    pub(super) fn has_items(&self, row: usize, least: usize) -> bool {
        self.lists.as_ref().is_none_or(|(ends, nulls)| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && ends.at(row).len() >= least
        })
    }

    /// Whether the list of each of some rows has so many items.
    pub(super) fn all_have_items(&self, rows: Range<usize>, least: usize) -> bool {
        match &self.lists {
            None => true,
            Some((Ends::Narrow(ends), None)) => all_as_long(&ends[rows.start..=rows.end], least),
            Some((Ends::Wide(ends), None)) => all_as_long(&ends[rows.start..=rows.end], least),
            Some(_) => rows.into_iter().all(|row| self.has_items(row, least)),
        }
    }

    /// Whether rows that have at least so many items each have no more; of a column that is unread.
    pub(super) fn has_no_more(&self, rows: Range<usize>, items: usize) -> bool {
        let all = self.lists.as_ref().map(|_| self.range(rows.clone()).len());
        all.is_none_or(|all| all == rows.len() * items)
    }

    /// The texts that rows have; of a column that is unread.
    fn range(&self, rows: Range<usize>) -> Range<usize> {
        match &self.lists {
            _ if rows.is_empty() => 0..0,
            None => rows,
            Some((ends, _)) => ends.at(rows.start).start..ends.at(rows.end - 1).end,
        }
    }

    /// Tell where the value of each row is, which has the cell's item if it is one: the how manieth row, and the place.
    #[inline]
    pub(super) fn each<'s>(&'s self, cell: Cell, rows: Range<usize>, see: impl FnMut(usize, Place<'s>)) {
        match (cell.item, &self.lists) {
            (Some(item), Some((Ends::Narrow(ends), _))) => {
                self.each_of(cell, rows, |row| ends[row] as usize + item, see);
            }
            (Some(item), Some((Ends::Wide(ends), _))) => {
                self.each_of(cell, rows, |row| ends[row] as usize + item, see);
            }
            (Some(item), Some((ends, _))) => self.each_of(cell, rows, |row| ends.at(row).start + item, see),
            _ => self.each_of(cell, rows, |row| row, see),
        }
    }

    /// The same, by what says where a row's value stands among the texts.
    #[inline]
    fn each_of<'s>(
        &'s self,
        cell: Cell,
        rows: Range<usize>,
        index: impl Fn(usize) -> usize,
        see: impl FnMut(usize, Place<'s>),
    ) {
        match self.texts.plain() {
            Some((Offsets::Narrow(offsets), data)) => {
                let place = |at: usize| (data, offsets[at] as usize, offsets[at + 1] as usize);
                each_place(rows, |row| place(index(row)), cell.strip, see);
            }
            Some((Offsets::Wide(offsets), data)) => {
                let place = |at: usize| (data, offsets[at] as usize, offsets[at + 1] as usize);
                each_place(rows, |row| place(index(row)), cell.strip, see);
            }
            None => each_place(rows, |row| self.texts.place(index(row)), cell.strip, see),
        }
    }

    /// Whether the bytes of rows are texts.
    pub(super) fn is_sound(&self, rows: Range<usize>) -> bool {
        !self.unread || self.texts.checked(self.range(rows)).is_some()
    }

    /// What is wrong with the texts, at the row that shows it.
    pub(super) fn fault(&self) -> Option<Error> {
        let error = TextColumn::new(self.array).err()?.in_column(self.name);
        let place = error.place().row;
        let Some((ends, _)) = &self.lists else { return Some(error) };
        let rows = match ends {
            Ends::Narrow(offsets) => offsets.len(),
            Ends::Wide(offsets) => offsets.len(),
            _ => 0,
        };
        match (0..rows.saturating_sub(1)).find(|row| place.is_some_and(|at| ends.at(*row).contains(&at))) {
            Some(row) => Some(error.at_row(row)),
            None => Some(error),
        }
    }
}

fn all_as_long<O: Copy + Into<i64>>(ends: &[O], least: usize) -> bool {
    ends.windows(2).all(|ends| (ends[1].into() - ends[0].into()) as usize >= least)
}

/// Tell where the value of each row is.
#[inline]
fn each_place<'s>(
    rows: Range<usize>,
    place: impl Fn(usize) -> Place<'s>,
    strip: Option<text::Ends>,
    mut see: impl FnMut(usize, Place<'s>),
) {
    let Some(ends) = strip else {
        return rows.enumerate().for_each(|(n, row)| see(n, place(row)));
    };
    for (n, row) in rows.enumerate() {
        let (from, start, end) = place(row);
        let (start, end) = stripped(from, start, end, ends);
        see(n, (from, start, end));
    }
}

/// What `strip` and its like leave of bytes `start..end`. Bytes that are no text end it: whoever checks them finds them.
#[inline]
fn stripped(from: &[u8], mut start: usize, mut end: usize, ends: text::Ends) -> (usize, usize) {
    if ends != text::Ends::Right {
        while start < end && text::is_ascii_space(from[start]) {
            start += 1;
        }
    }
    if ends != text::Ends::Left {
        while start < end && text::is_ascii_space(from[end - 1]) {
            end -= 1;
        }
    }
    if start < end && (!from[start].is_ascii() || !from[end - 1].is_ascii()) {
        return stripped_of_all(from, start, end, ends);
    }
    (start, end)
}

#[inline(never)]
fn stripped_of_all(from: &[u8], mut start: usize, mut end: usize, ends: text::Ends) -> (usize, usize) {
    let strip = |start: usize, end: usize, ends: text::Ends| {
        text::strip(&from[start..end], Value::None, ends).map_or(end - start, <[u8]>::len)
    };
    if ends != text::Ends::Right {
        start = end - strip(start, end, text::Ends::Left);
    }
    if ends != text::Ends::Left {
        end = start + strip(start, end, text::Ends::Right);
    }
    (start, end)
}
