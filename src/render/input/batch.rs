//! A record batch as the row loop sees it: the texts of its columns, and the values that may form placeholders.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, FieldRef};

use super::copies::take_rows;
use super::host::{PythonCallbacks, is_row_numbers};
use crate::error::{Code, Error, Kind, Result};
use crate::plan::Columns;
use crate::python_text::{NONE, TextColumn};
use crate::threads;

/// The number of consecutive values that could form a placeholder after which all further values count as such.
const HITS_UNTIL_ASSUMED: usize = 16;

/// The texts of a column in which some values have none.
struct PartialTexts {
    texts: TextColumn,
    /// The reason why a row's value has no text; the text is empty in `texts`.
    errors: BTreeMap<usize, Error>,
}

/// The texts of a column that values bring in. A value without text is an error only in the rows that show it.
#[derive(Clone, Copy)]
pub struct BroughtIn<'a> {
    /// The text of each row; empty if the value has none.
    pub texts: &'a TextColumn,
    errors: Option<&'a BTreeMap<usize, Error>>,
}

impl BroughtIn<'_> {
    /// Check that a row's value has a text.
    ///
    /// # Errors
    ///
    /// `RenderError` with row and column if the value has no text.
    #[inline]
    pub fn check(&self, row: usize) -> Result<()> {
        match self.errors.and_then(|errors| errors.get(&row)) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// The columns of a batch, ordered as in [`Columns`].
pub struct Batch<'a> {
    /// The columns, bound.
    pub columns: &'a Columns,
    /// Number of rows.
    pub rows: usize,
    arrays: Vec<Option<(FieldRef, ArrayRef)>>,
    texts: Vec<OnceLock<Result<TextColumn>>>,
    unread: Vec<OnceLock<Option<TextColumn>>>,
    in_part: Vec<OnceLock<Result<PartialTexts>>>,
    may_hold_placeholder: Vec<OnceLock<Option<Vec<bool>>>>,
    /// The batch that the rows are taken from, and their numbers there, if the columns weren't taken yet.
    source: Option<(&'a Batch<'a>, Vec<usize>)>,
    /// The caller of the renderer.
    pub host: &'a dyn PythonCallbacks,
}

impl<'a> Batch<'a> {
    /// Bind the rows of `table` to `columns`.
    pub fn new(columns: &'a Columns, table: &RecordBatch, host: &'a dyn PythonCallbacks) -> Self {
        let schema = table.schema_ref();
        let arrays: Vec<_> = columns
            .names
            .iter()
            .map(|name| {
                schema.index_of(name).ok().map(|index| (schema.fields()[index].clone(), table.column(index).clone()))
            })
            .collect();
        let n = arrays.len();
        Self {
            columns,
            rows: table.num_rows(),
            arrays,
            texts: (0..n).map(|_| OnceLock::new()).collect(),
            unread: (0..n).map(|_| OnceLock::new()).collect(),
            in_part: (0..n).map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: (0..n).map(|_| OnceLock::new()).collect(),
            source: None,
            host,
        }
    }

    /// Make a batch of rows whose texts exist already.
    pub fn of_texts(columns: &'a Columns, rows: usize, texts: Vec<TextColumn>, host: &'a dyn PythonCallbacks) -> Self {
        let n = texts.len();
        Self {
            columns,
            rows,
            arrays: vec![None; n],
            texts: texts.into_iter().map(|text| OnceLock::from(Ok(text))).collect(),
            unread: (0..n).map(|_| OnceLock::new()).collect(),
            in_part: (0..n).map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: (0..n).map(|_| OnceLock::new()).collect(),
            source: None,
            host,
        }
    }

    /// Return some of the rows as a new batch whose first row is 0. It shares the texts that were made already, and the
    /// results of searching unread texts.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let array = |column: &(FieldRef, ArrayRef)| (column.0.clone(), column.1.slice(rows.start, rows.len()));
        let slice_texts = |texts: &OnceLock<Result<TextColumn>>| {
            let sliced = texts.get().and_then(|result| result.as_ref().ok()?.slice(rows.clone()));
            sliced.map_or_else(OnceLock::new, |texts| OnceLock::from(Ok(texts)))
        };
        let unread = |texts: &OnceLock<Option<TextColumn>>| {
            let sliced = texts.get().and_then(|unread| unread.as_ref()?.slice(rows.clone()));
            sliced.map_or_else(OnceLock::new, |texts| OnceLock::from(Some(texts)))
        };
        let flags = |cell: &OnceLock<Option<Vec<bool>>>| match cell.get() {
            Some(flags) => {
                let sliced = flags.as_ref().map(|flags| flags[rows.clone()].to_vec());
                OnceLock::from(sliced.filter(|flags| flags.contains(&true)))
            }
            None => OnceLock::new(),
        };
        Self {
            columns: self.columns,
            rows: rows.len(),
            arrays: self.arrays.iter().map(|column| column.as_ref().map(array)).collect(),
            texts: self.texts.iter().map(slice_texts).collect(),
            unread: self.unread.iter().map(unread).collect(),
            in_part: self.in_part.iter().map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: self.may_hold_placeholder.iter().map(flags).collect(),
            source: None,
            host: self.host,
        }
    }

    /// Return some of the rows, in ascending order, as a new batch. A column is taken when it is asked for; texts that
    /// exist, or that were [unread](Self::unread), are shared.
    pub fn of_rows(&'a self, rows: Vec<usize>) -> Self {
        let n = self.arrays.len();
        Self {
            rows: rows.len(),
            arrays: vec![None; n],
            texts: (0..n).map(|_| OnceLock::new()).collect(),
            unread: (0..n).map(|_| OnceLock::new()).collect(),
            in_part: (0..n).map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: (0..n).map(|_| OnceLock::new()).collect(),
            source: Some((self, rows)),
            ..*self
        }
    }

    /// Return a column, if the batch has it.
    fn array(&self, column: usize) -> Result<Option<Cow<'_, (FieldRef, ArrayRef)>>> {
        let Some((whole, rows)) = &self.source else { return Ok(self.arrays[column].as_ref().map(Cow::Borrowed)) };
        let Some((field, array)) = &whole.arrays[column] else { return Ok(None) };
        let array = take_rows(array, rows.iter().map(|row| Some(*row)));
        let array = array.ok_or_else(|| Error::render(Code::InternalError, "rows of an array don't fit an array"))?;
        Ok(Some(Cow::Owned((field.clone(), array))))
    }

    /// Return the texts of a column of a batch whose rows are taken from another, if that has the texts.
    fn texts_from_source(&self, column: usize) -> Option<TextColumn> {
        let (whole, rows) = self.source.as_ref()?;
        if let Some(texts) = whole.existing_texts(column) {
            return Some(texts.of_rows(rows));
        }
        let texts = whole.unread(column)?;
        let is_text = |row: &usize| texts.is_null(*row) || texts.checked(*row..row + 1).is_some();
        rows.iter().all(is_text).then(|| texts.of_rows(rows))
    }

    /// Return true if the values of a column have to be printed, each by itself, and haven't been.
    pub fn prints_by_row(&self, column: usize) -> bool {
        self.texts[column].get().is_none()
            && self.arrays[column]
                .as_ref()
                .is_some_and(|(field, array)| !is_row_numbers(field) && TextColumn::prints_by_row(array.data_type()))
    }

    /// Return true if the values of a column are of a type that prints as some dozens of bytes at most, as numbers do.
    pub fn prints_short(&self, column: usize) -> bool {
        self.arrays[column].as_ref().is_some_and(|(_, array)| array.data_type().is_primitive())
    }

    /// Return true if a previous search showed that no value of a column could form a placeholder.
    pub fn was_looked_through(&self, column: usize) -> bool {
        self.may_hold_placeholder[column].get().is_some_and(Option::is_none)
    }

    /// Return the texts of a column, if they have been made already.
    pub fn existing_texts(&self, column: usize) -> Option<&TextColumn> {
        self.texts[column].get()?.as_ref().ok()
    }

    /// Return the texts of a column.
    ///
    /// # Errors
    ///
    /// `RenderError` with row and column for a value that has no text.
    pub fn texts(&self, column: usize) -> Result<&TextColumn> {
        let result = threads::get_or_make(&self.texts[column], || match self.texts_from_source(column) {
            Some(texts) => Ok(texts),
            None => match self.array(column)?.as_deref() {
                Some((field, array)) => self.texts_of(field, array),
                None => TextColumn::new(&new_null_array(&DataType::Null, self.rows)),
            },
        });
        result.as_ref().map_err(|e| e.clone().in_column(&*self.columns.names[column]))
    }

    fn texts_of(&self, field: &FieldRef, array: &ArrayRef) -> Result<TextColumn> {
        if !is_row_numbers(field) {
            return TextColumn::new(array);
        }
        let texts = self.host.python_text(field, array)?;
        // The number of texts is checked, because a missing or an additional text would shift the others to wrong rows.
        if texts.len() != array.len() {
            let message = format!("{} texts came for {} values", texts.len(), array.len());
            return Err(Error::render(Code::InternalError, message));
        }
        TextColumn::new(&texts)
    }

    /// Return the texts of a column that values of some rows bring in.
    ///
    /// # Errors
    ///
    /// `RenderError` with the column for an error of the whole column. A value without text isn't such an error:
    /// [`BroughtIn::check`] raises it for the rows that show the value.
    pub fn brought_in(&self, column: usize) -> Result<BroughtIn<'_>> {
        let whole = match self.texts(column) {
            Ok(texts) => return Ok(BroughtIn { texts, errors: None }),
            Err(error) => error,
        };
        let array = self.array(column)?;
        let Some((field, array)) = array.as_deref() else { return Err(whole) };
        let result = threads::get_or_make(&self.in_part[column], || {
            let (mut texts, mut errors) = (LargeStringBuilder::new(), BTreeMap::new());
            self.collect_texts(field, array, 0, &mut texts, &mut errors)?;
            Ok(PartialTexts { texts: TextColumn::new(&texts.finish())?, errors })
        });
        let name = &*self.columns.names[column];
        match result {
            Ok(result) => Ok(BroughtIn { texts: &result.texts, errors: Some(&result.errors) }),
            Err(error) => Err(error.clone().in_column(name)),
        }
    }

    /// Add the texts of values; the first is that of row `start`. If a value has no text, each half is added
    /// separately.
    fn collect_texts(
        &self,
        field: &FieldRef,
        array: &ArrayRef,
        start: usize,
        texts: &mut LargeStringBuilder,
        errors: &mut BTreeMap<usize, Error>,
    ) -> Result<()> {
        match self.texts_of(field, array) {
            Ok(read) => (0..read.len()).for_each(|row| texts.append_value(String::from_utf8_lossy(read.bytes(row)))),
            Err(error) if error.location().row.is_none() && error.kind() != Kind::Stopped => return Err(error),
            Err(error) if array.len() == 1 => {
                errors.insert(start, error.shifted(start).in_column(field.name()));
                texts.append_value("");
            }
            Err(error) => {
                self.host.check()?;
                let (half, error_count) = (array.len() / 2, errors.len());
                self.collect_texts(field, &array.slice(0, half), start, texts, errors)?;
                self.collect_texts(field, &array.slice(half, array.len() - half), start + half, texts, errors)?;
                if errors.len() == error_count {
                    return Err(error); // it stopped the work, and no value is to blame
                }
            }
        }
        Ok(())
    }

    /// Return the texts of a string column that hasn't been read yet; [`TextColumn::unread`] lists the checks that are
    /// still to be made. None too if a placeholder could be in the text of nulls.
    pub fn unread(&self, column: usize) -> Option<&TextColumn> {
        let (field, array) = self.arrays[column].as_ref().filter(|_| self.texts[column].get().is_none())?;
        let unread = threads::get_or_make(&self.unread[column], || {
            let texts = if is_row_numbers(field) { None } else { TextColumn::unread(array) };
            texts.filter(|texts| self.nulls_are_clean(texts))
        });
        unread.as_ref()
    }

    /// Check and search a column's texts on all threads of the pool, before the row loop, which then finds the results.
    /// An error of a column is raised when the column is read.
    pub fn prepare(&self, column: usize, scan: bool) {
        if let Some((field, array)) = &self.arrays[column]
            && !is_row_numbers(field)
            && self.texts[column].get().is_none()
        {
            let tokens = &self.columns.tokens;
            let result = TextColumn::new_with_scan(array, &|bytes| scan && tokens.none_in(bytes));
            let clean = result.as_ref().is_ok_and(|(texts, clean)| *clean && self.nulls_are_clean(texts));
            // If another thread was here first, its result is the same. No lock is held meanwhile, because this thread
            // may take up work that reads the column.
            if clean {
                let _ = self.may_hold_placeholder[column].set(None);
            }
            let _ = self.texts[column].set(result.map(|(texts, _)| texts));
        }
        if scan && self.texts(column).is_ok() {
            let _ = self.may_hold_placeholder(column);
        }
    }

    /// Return true if no token could be in the text of nulls, which isn't among a column's bytes.
    fn nulls_are_clean(&self, texts: &TextColumn) -> bool {
        !texts.has_nulls() || self.columns.tokens.none_in(NONE)
    }

    /// Return true for each of some values that may hold a placeholder; they lie together in `bytes`.
    fn flags(&self, texts: &TextColumn, rows: Range<usize>, bytes: &[u8]) -> Vec<bool> {
        let tokens = &self.columns.tokens;
        let mut flags = vec![false; rows.len()];
        let (mut around, mut next, mut in_a_row) = ((0, 0), 0, 0);
        let mut search = |from: usize| {
            let position = tokens.first_in_rows(bytes, from, |byte| {
                around = texts.text_around(rows.clone(), around.0, byte);
                around.1
            });
            position.map(|_| around)
        };
        let mut from = 0;
        while let Some((row, after)) = search(from) {
            in_a_row = if row == next { in_a_row + 1 } else { 1 };
            (from, next) = (after, row + 1);
            flags[row] |= !texts.is_null(rows.start + row);
            if in_a_row >= HITS_UNTIL_ASSUMED {
                flags[next..].fill(true);
                break;
            }
        }
        flags
    }

    /// Return the text of a field, or its replacement if the column is masked.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::texts`].
    pub fn field(&self, column: usize, row: usize) -> Result<&[u8]> {
        match self.columns.mask(column) {
            Some(by) => Ok(by.as_bytes()),
            None => Ok(self.texts(column)?.bytes(row)),
        }
    }

    /// [`Self::field`] for a column that a value brings in.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text in this row, and for an error of the whole column.
    pub fn brought_in_field(&self, column: usize, row: usize) -> Result<&[u8]> {
        if let Some(by) = self.columns.mask(column) {
            return Ok(by.as_bytes());
        }
        let brought_in = self.brought_in(column)?;
        brought_in.check(row)?;
        Ok(brought_in.texts.bytes(row))
    }

    /// Return the text of a column that no placeholder of a template names.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::texts`].
    pub fn named(&self, name: &str, row: usize) -> Result<&[u8]> {
        match self.columns.names.iter().rposition(|column_name| &**column_name == name) {
            Some(column) => Ok(self.texts(column)?.bytes(row)),
            None => Ok(b""),
        }
    }

    /// Return true for each value of a column that may hold a placeholder or end in half of one; None if no value does.
    /// After many values that do, the remaining ones count as true without a look, because filling a row column by
    /// column is right for any value.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::texts`].
    pub fn may_hold_placeholder(&self, column: usize) -> Result<Option<&[bool]>> {
        let texts = self.texts(column)?;
        let flags = threads::get_or_make(&self.may_hold_placeholder[column], || {
            if texts.contiguous().is_some_and(|all| self.columns.tokens.none_in_long(all))
                && self.nulls_are_clean(texts)
            {
                return None;
            }
            // If rows pick from texts, each text is searched once.
            if texts
                .picked_from()
                .is_some_and(|from| !(0..from.len()).any(|index| self.columns.tokens.could_form(from.bytes(index))))
                && self.nulls_are_clean(texts)
            {
                return None;
            }
            let flags = threads::map(threads::chunks(0..self.rows, 1024), |rows| -> Vec<bool> {
                if let Some(bytes) = texts.stretch(rows.clone()).filter(|_| self.nulls_are_clean(texts)) {
                    return self.flags(texts, rows, bytes);
                }
                let mut in_a_row = 0;
                let could_form = |row: usize| {
                    let could = in_a_row >= HITS_UNTIL_ASSUMED || self.columns.tokens.could_form(texts.bytes(row));
                    in_a_row = if could { in_a_row + 1 } else { 0 };
                    could
                };
                rows.map(could_form).collect()
            });
            let flags = flags.concat();
            flags.contains(&true).then_some(flags)
        });
        Ok(flags.as_deref())
    }
}
