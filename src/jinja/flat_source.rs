//! Columns that are copied, and the location of each row's text in them.

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
use crate::python_text::{Offsets, TextColumn};

/// A column whose values are copied.
pub(super) struct Source<'a> {
    array: &'a dyn Array,
    name: &'a str,
    pub(super) texts: TextColumn,
    /// The ends of the lists whose items the texts are, and the lists that are null.
    lists: Option<(Ends, Option<NullBuffer>)>,
    /// True if the texts haven't been checked yet.
    pub(super) unread: bool,
    /// True if all values are texts that aren't null.
    pub(super) only_texts: bool,
}

/// A value of a source: a column's value or an item of its list, stripped or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) source: usize,
    pub(super) item: Option<usize>,
    pub(super) strip: Option<text::Ends>,
}

/// A text in some bytes: the bytes, its first byte and the byte after its last one.
pub(super) type TextSlice<'s> = (&'s [u8], usize, usize);

pub(super) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl<'a> Source<'a> {
    /// Read a column of a batch, or the items of its lists. Return None if the values have to be read row by row.
    ///
    /// # Errors
    ///
    /// If the column is malformed.
    pub(super) fn new(name: &'a str, in_lists: bool, batch: &'a RecordBatch) -> Result<Option<Self>> {
        let schema = batch.schema_ref();
        let Ok(index) = schema.index_of(name) else { return Ok(None) };
        let (field, array) = (schema.field(index), batch.column(index));
        let named = |error: Error| error.in_column(name);
        if is_foreign(field) {
            return Ok(None);
        }
        if !in_lists {
            if let Some(texts) = TextColumn::unread(array).filter(|texts| !texts.has_nulls()) {
                return Ok(Some(Self { array, name, texts, lists: None, unread: true, only_texts: true }));
            }
            // Values that can't be printed are detected row by row.
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
        // In these layouts, the items of adjacent rows are adjacent too.
        let in_order = matches!(ends, Ends::Narrow(_) | Ends::Wide(_)) && array.null_count() == 0;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let (texts, unread) = match TextColumn::unread(items).filter(|texts| in_order && !texts.has_nulls()) {
            Some(texts) => (texts, true),
            None => match TextColumn::new(items) {
                Ok(texts) => (texts, false),
                // The malformed item may belong to no row.
                Err(_) => return Ok(None),
            },
        };
        let only_texts = !texts.has_nulls();
        Ok(Some(Self { array: items, name, texts, lists: Some((ends, nulls)), unread, only_texts }))
    }

    /// Return the number of bytes of a row's texts, and some more for each text.
    pub(super) fn input_bytes(&self, row: usize) -> usize {
        let bytes =
            |index: usize| BYTES_OF_VALUE + if self.texts.is_null(index) { 0 } else { self.texts.length(index) };
        match &self.lists {
            None => bytes(row),
            Some((ends, _)) => ends.range(row).map(bytes).sum(),
        }
    }

    /// Return true if the texts are items of lists.
    pub(super) fn is_listed(&self) -> bool {
        self.lists.is_some()
    }

    /// Return true if a row's list has at least `least` items.
    #[inline]
    pub(super) fn has_items(&self, row: usize, least: usize) -> bool {
        self.lists.as_ref().is_none_or(|(ends, nulls)| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && ends.range(row).len() >= least
        })
    }

    /// Return true if the list of each row has at least `least` items.
    pub(super) fn all_have_items(&self, rows: Range<usize>, least: usize) -> bool {
        match &self.lists {
            None => true,
            Some((Ends::Narrow(ends), None)) => all_as_long(&ends[rows.start..=rows.end], least),
            Some((Ends::Wide(ends), None)) => all_as_long(&ends[rows.start..=rows.end], least),
            Some(_) => rows.into_iter().all(|row| self.has_items(row, least)),
        }
    }

    /// Return true if each row has exactly `items` items. The column must be unread, and each row must have at least as
    /// many.
    pub(super) fn has_no_more(&self, rows: Range<usize>, items: usize) -> bool {
        let all = self.lists.as_ref().map(|_| self.range(rows.clone()).len());
        all.is_none_or(|all| all == rows.len() * items)
    }

    /// Return the range of the texts of some rows. The column must be unread.
    fn range(&self, rows: Range<usize>) -> Range<usize> {
        match &self.lists {
            _ if rows.is_empty() => 0..0,
            None => rows,
            Some((ends, _)) => ends.range(rows.start).start..ends.range(rows.end - 1).end,
        }
    }

    /// Call `see` with the number of each row, counted from the first one, and its text. If the cell has an item, each
    /// row must have this item.
    #[inline]
    pub(super) fn each<'s>(&'s self, cell: Cell, rows: Range<usize>, see: impl FnMut(usize, TextSlice<'s>)) {
        match (cell.item, &self.lists) {
            (Some(item), Some((Ends::Narrow(ends), _))) => {
                self.each_of(cell, rows, |row| ends[row] as usize + item, see);
            }
            (Some(item), Some((Ends::Wide(ends), _))) => {
                self.each_of(cell, rows, |row| ends[row] as usize + item, see);
            }
            (Some(item), Some((ends, _))) => self.each_of(cell, rows, |row| ends.range(row).start + item, see),
            _ => self.each_of(cell, rows, |row| row, see),
        }
    }

    /// Do the same as [`Self::each`], where `index` returns the index of a row's text.
    #[inline]
    fn each_of<'s>(
        &'s self,
        cell: Cell,
        rows: Range<usize>,
        index: impl Fn(usize) -> usize,
        see: impl FnMut(usize, TextSlice<'s>),
    ) {
        match self.texts.plain() {
            Some((Offsets::Narrow(offsets), data)) => {
                let slice = |index: usize| (data, offsets[index] as usize, offsets[index + 1] as usize);
                each_slice(rows, |row| slice(index(row)), cell.strip, see);
            }
            Some((Offsets::Wide(offsets), data)) => {
                let slice = |index: usize| (data, offsets[index] as usize, offsets[index + 1] as usize);
                each_slice(rows, |row| slice(index(row)), cell.strip, see);
            }
            None => each_slice(rows, |row| self.texts.location(index(row)), cell.strip, see),
        }
    }

    /// Return true if the bytes of the rows' texts are valid UTF-8.
    pub(super) fn is_sound(&self, rows: Range<usize>) -> bool {
        !self.unread || self.texts.checked(self.range(rows)).is_some()
    }

    /// Return the error of a malformed text, with the row that contains the text.
    pub(super) fn fault(&self) -> Option<Error> {
        let error = TextColumn::new(self.array).err()?.in_column(self.name);
        let item = error.location().row;
        let Some((ends, _)) = &self.lists else { return Some(error) };
        let rows = match ends {
            Ends::Narrow(offsets) => offsets.len(),
            Ends::Wide(offsets) => offsets.len(),
            _ => 0,
        };
        match (0..rows.saturating_sub(1)).find(|row| item.is_some_and(|item| ends.range(*row).contains(&item))) {
            Some(row) => Some(error.at_row(row)),
            None => Some(error),
        }
    }
}

fn all_as_long<O: Copy + Into<i64>>(ends: &[O], least: usize) -> bool {
    ends.windows(2).all(|ends| (ends[1].into() - ends[0].into()) as usize >= least)
}

/// Call `see` with the number and the text of each row.
#[inline]
fn each_slice<'s>(
    rows: Range<usize>,
    slice: impl Fn(usize) -> TextSlice<'s>,
    strip: Option<text::Ends>,
    mut see: impl FnMut(usize, TextSlice<'s>),
) {
    let Some(ends) = strip else {
        return rows.enumerate().for_each(|(n, row)| see(n, slice(row)));
    };
    for (n, row) in rows.enumerate() {
        let (from, start, end) = slice(row);
        let (start, end) = stripped(from, start, end, ends);
        see(n, (from, start, end));
    }
}

/// Strip bytes `start..end`. Stripping stops at bytes that aren't UTF-8. A later check detects them.
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
