//! A column of texts, opened for searching.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use crate::error::{Code, Error, Result};
use crate::python_text::{Offsets, TextColumn};
use crate::render::{is_row_numbers, sound};
use crate::threads;

/// So many rows are searched by one thread at a time.
const CHUNK_ROWS: usize = 1024;

/// The texts of a column: its strings, in any layout, or `str()` of other values. A null has no text.
pub struct Texts {
    column: TextColumn,
    nulls: Option<NullBuffer>,
    /// True if the texts haven't been checked yet.
    unread: bool,
}

impl Texts {
    /// Open a column.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong, and for values whose texts only Python can make.
    pub fn new(field: &Field, array: &ArrayRef) -> Result<Self> {
        readable_here(field)?;
        let is_plain = matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let nulls = if is_plain {
            array.nulls().cloned()
        } else {
            // Arrow finds the nulls after keys or runs, and it trusts the array, so the array is checked first.
            sound(array)?;
            array.logical_nulls()
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Ok(Self { column: TextColumn::new(array)?, nulls, unread: false })
    }

    /// Open a column for searches of bytes. The strings needn't be UTF-8.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::new`].
    pub fn bytes_of(field: &Field, array: &ArrayRef) -> Result<Self> {
        readable_here(field)?;
        match TextColumn::unread(array).filter(|texts| !texts.has_nulls()) {
            Some(column) => Ok(Self { column, nulls: None, unread: true }),
            None => Self::new(field, array),
        }
    }

    /// Return true if the bytes of some rows are valid UTF-8.
    pub(super) fn are_sound(&self, rows: Range<usize>) -> bool {
        !self.unread || self.column.checked(rows).is_some()
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// Return true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the text of a row.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        match &self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(self.column.bytes(row)),
        }
    }

    /// Return all texts with their offsets, if they are adjacent and none is null.
    pub(super) fn adjacent(&self) -> Option<(Offsets<'_>, &[u8])> {
        if self.nulls.is_some() { None } else { self.column.plain() }
    }

    /// Return the bytes of some rows, if they are adjacent and none is null.
    pub(super) fn stretch(&self, rows: Range<usize>) -> Option<&[u8]> {
        let (start, end) = match self.adjacent()?.0 {
            Offsets::Narrow(offsets) => (offsets[rows.start] as usize, offsets[rows.end] as usize),
            Offsets::Wide(offsets) => (offsets[rows.start] as usize, offsets[rows.end] as usize),
        };
        Some(&self.adjacent()?.1[start..end])
    }

    /// Apply `search` to ranges of rows on all threads, and return the results in the order of the rows.
    pub(super) fn scan<T: Send>(&self, search: impl Fn(Range<usize>) -> Vec<T> + Send + Sync) -> Vec<T> {
        let mut results = threads::map(threads::chunks(0..self.len(), CHUNK_ROWS), search).into_iter();
        let mut all = results.next().unwrap_or_default();
        results.for_each(|part| all.extend(part));
        all
    }
}

/// Check that a column's values are real values, and not row numbers of values that only Python has.
pub(super) fn readable_here(field: &Field) -> Result<()> {
    if is_row_numbers(field) {
        let message = "values of this type can't be looked through here; cast the column first";
        return Err(Error::render(Code::WrongColumnType, message).in_column(field.name()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, Int8Array, Int64Array, StringArray, StringViewArray};

    use super::*;

    fn texts(array: impl Array + 'static) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let texts = Texts::new(&Field::new("", array.data_type().clone(), true), &array).unwrap();
        let text_of = |row| texts.get(row).map(|text| String::from_utf8(text.to_vec()).unwrap());
        (0..texts.len()).map(text_of).collect()
    }

    #[test]
    fn a_null_has_no_text_wherever_it_stands() {
        let expected = [Some("a".to_owned()), None, Some("None".to_owned()), None];
        let values = [Some("a"), None, Some("None"), None];
        assert_eq!(texts(StringArray::from(values.to_vec())), expected);
        assert_eq!(texts(StringViewArray::from(values.to_vec())), expected);
        let keys = Int8Array::from(vec![Some(0), Some(1), Some(2), None]);
        let dictionary = DictionaryArray::<Int8Type>::new(keys, Arc::new(StringArray::from(values.to_vec())));
        assert_eq!(texts(dictionary), expected);
        assert_eq!(texts(Int64Array::from(vec![Some(-7), None])), [Some("-7".to_owned()), None]);
    }
}
