//! A record batch as the row loop sees it: the texts of its columns, and which values need a closer look.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, FieldRef};

use super::host::{Host, is_row_numbers};
use crate::error::{Code, Error, Kind, Result};
use crate::plan::Columns;
use crate::pytext::{NONE, TextColumn};
use crate::threads;

/// Values in a row that could form a placeholder, after which the next ones are taken for such.
const HITS_UNTIL_ASSUMED: usize = 16;

/// The texts of a column of which some values have none.
struct PartialTexts {
    texts: TextColumn,
    /// Why a row's value has no text, which is empty in `texts`.
    errors: BTreeMap<usize, Error>,
}

/// The texts of a column that values bring in: a value without text is an error in the rows that show it, and only there.
#[derive(Clone, Copy)]
pub struct BroughtIn<'a> {
    /// One text a row; empty where there is none.
    pub texts: &'a TextColumn,
    errors: Option<&'a BTreeMap<usize, Error>>,
}

impl BroughtIn<'_> {
    /// Check that a row's value has a text.
    ///
    /// # Errors
    ///
    /// `RenderError` with row and column if it has none.
    #[inline]
    pub fn check(&self, row: usize) -> Result<()> {
        match self.errors.and_then(|errors| errors.get(&row)) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// Columns of one batch, by the places of [`Columns`].
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
    /// Whoever runs it.
    pub host: &'a dyn Host,
}

impl<'a> Batch<'a> {
    /// The rows of `table` under `columns`.
    pub fn new(columns: &'a Columns, table: &RecordBatch, host: &'a dyn Host) -> Self {
        let schema = table.schema_ref();
        let arrays: Vec<_> = columns
            .names
            .iter()
            .map(|name| schema.index_of(name).ok().map(|at| (schema.fields()[at].clone(), table.column(at).clone())))
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
            host,
        }
    }

    /// Rows whose texts are known already.
    pub fn of_texts(columns: &'a Columns, rows: usize, texts: Vec<TextColumn>, host: &'a dyn Host) -> Self {
        let n = texts.len();
        Self {
            columns,
            rows,
            arrays: vec![None; n],
            texts: texts.into_iter().map(|text| OnceLock::from(Ok(text))).collect(),
            unread: (0..n).map(|_| OnceLock::new()).collect(),
            in_part: (0..n).map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: (0..n).map(|_| OnceLock::new()).collect(),
            host,
        }
    }

    /// Some of the rows as a batch of their own, whose first row is 0. Texts that were made already are shared, and what is
    /// known of those that nobody has read.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let array = |own: &(FieldRef, ArrayRef)| (own.0.clone(), own.1.slice(rows.start, rows.len()));
        let known = |texts: &OnceLock<Result<TextColumn>>| {
            let known = texts.get().and_then(|made| made.as_ref().ok()?.slice(rows.clone()));
            known.map_or_else(OnceLock::new, |texts| OnceLock::from(Ok(texts)))
        };
        let unread = |texts: &OnceLock<Option<TextColumn>>| {
            let known = texts.get().and_then(|unread| unread.as_ref()?.slice(rows.clone()));
            known.map_or_else(OnceLock::new, |texts| OnceLock::from(Some(texts)))
        };
        let flags = |own: &OnceLock<Option<Vec<bool>>>| match own.get() {
            Some(flags) => {
                let own = flags.as_ref().map(|flags| flags[rows.clone()].to_vec());
                OnceLock::from(own.filter(|flags| flags.contains(&true)))
            }
            None => OnceLock::new(),
        };
        Self {
            columns: self.columns,
            rows: rows.len(),
            arrays: self.arrays.iter().map(|own| own.as_ref().map(array)).collect(),
            texts: self.texts.iter().map(known).collect(),
            unread: self.unread.iter().map(unread).collect(),
            in_part: self.in_part.iter().map(|_| OnceLock::new()).collect(),
            may_hold_placeholder: self.may_hold_placeholder.iter().map(flags).collect(),
            host: self.host,
        }
    }

    /// Whether the values of a column have to be printed, each by itself, and haven't been.
    pub fn prints_by_row(&self, column: usize) -> bool {
        self.texts[column].get().is_none()
            && self.arrays[column]
                .as_ref()
                .is_some_and(|(field, array)| !is_row_numbers(field) && TextColumn::prints_by_row(array.data_type()))
    }

    /// Whether the values of a column are of a type that prints as some dozens of bytes at most, as numbers do.
    pub fn prints_short(&self, column: usize) -> bool {
        self.arrays[column].as_ref().is_some_and(|(_, array)| array.data_type().is_primitive())
    }

    /// Whether it is known already that no value of a column could form a placeholder.
    pub fn was_looked_through(&self, column: usize) -> bool {
        self.may_hold_placeholder[column].get().is_some_and(Option::is_none)
    }

    /// The texts of a column, if they have been made already.
    pub fn made(&self, column: usize) -> Option<&TextColumn> {
        self.texts[column].get()?.as_ref().ok()
    }

    /// The texts of a column.
    ///
    /// # Errors
    ///
    /// `RenderError` with row and column for a value that has no text.
    pub fn texts(&self, column: usize) -> Result<&TextColumn> {
        let made = threads::made(&self.texts[column], || match &self.arrays[column] {
            Some((field, array)) => self.texts_of(field, array),
            None => TextColumn::new(&new_null_array(&DataType::Null, self.rows)),
        });
        made.as_ref().map_err(|e| e.clone().in_column(&*self.columns.names[column]))
    }

    fn texts_of(&self, field: &FieldRef, array: &ArrayRef) -> Result<TextColumn> {
        if !is_row_numbers(field) {
            return TextColumn::new(array);
        }
        let texts = self.host.lower(field, array)?;
        // Whoever answers counts for itself; a text too few or too many would stand in another row.
        if texts.len() != array.len() {
            let message = format!("{} texts came for {} values", texts.len(), array.len());
            return Err(Error::render(Code::InternalError, message));
        }
        TextColumn::new(&texts)
    }

    /// The texts of a column that values of some rows bring in.
    ///
    /// # Errors
    ///
    /// `RenderError` with the column for what is wrong with all of it. A value without text is not: [`BroughtIn::check`]
    /// says so of the rows that show it.
    pub fn brought_in(&self, column: usize) -> Result<BroughtIn<'_>> {
        let whole = match self.texts(column) {
            Ok(texts) => return Ok(BroughtIn { texts, errors: None }),
            Err(error) => error,
        };
        let Some((field, array)) = &self.arrays[column] else { return Err(whole) };
        let made = threads::made(&self.in_part[column], || {
            let (mut texts, mut errors) = (LargeStringBuilder::new(), BTreeMap::new());
            self.collect_texts(field, array, 0, &mut texts, &mut errors)?;
            Ok(PartialTexts { texts: TextColumn::new(&texts.finish())?, errors })
        });
        let name = &*self.columns.names[column];
        match made {
            Ok(made) => Ok(BroughtIn { texts: &made.texts, errors: Some(&made.errors) }),
            Err(error) => Err(error.clone().in_column(name)),
        }
    }

    /// Add the texts of values of which the first is that of row `start`, each half by itself where one has none.
    fn collect_texts(
        &self,
        field: &FieldRef,
        array: &ArrayRef,
        start: usize,
        texts: &mut LargeStringBuilder,
        errors: &mut BTreeMap<usize, Error>,
    ) -> Result<()> {
        match self.texts_of(field, array) {
            Ok(made) => (0..made.len()).for_each(|row| texts.append_value(String::from_utf8_lossy(made.bytes(row)))),
            Err(error) if error.place().row.is_none() && error.kind() != Kind::Stopped => return Err(error),
            Err(error) if array.len() == 1 => {
                errors.insert(start, error.shifted(start).in_column(field.name()));
                texts.append_value("");
            }
            Err(error) => {
                self.host.check()?;
                let (half, known) = (array.len() / 2, errors.len());
                self.collect_texts(field, &array.slice(0, half), start, texts, errors)?;
                self.collect_texts(field, &array.slice(half, array.len() - half), start + half, texts, errors)?;
                if errors.len() == known {
                    return Err(error); // it stopped the work, and no value is to blame
                }
            }
        }
        Ok(())
    }

    /// The texts of a string column that nobody has read yet; [`TextColumn::unread`] says what is owed. None too if a
    /// placeholder could stand in what nulls are shown as.
    pub fn unread(&self, column: usize) -> Option<&TextColumn> {
        let (field, array) = self.arrays[column].as_ref().filter(|_| self.texts[column].get().is_none())?;
        let unread = threads::made(&self.unread[column], || {
            let texts = if is_row_numbers(field) { None } else { TextColumn::unread(array) };
            texts.filter(|texts| self.nulls_are_clean(texts))
        });
        unread.as_ref()
    }

    /// Check a column's texts and look through them, on all threads of the pool: before the row loop, which then finds
    /// both done. What is wrong with a column is said when it is asked for.
    pub fn prepare(&self, column: usize, scan: bool) {
        if let Some((field, array)) = &self.arrays[column]
            && !is_row_numbers(field)
            && self.texts[column].get().is_none()
        {
            let tokens = &self.columns.tokens;
            let made = TextColumn::looked_through(array, &|bytes| scan && tokens.none_in(bytes));
            let clean = made.as_ref().is_ok_and(|(texts, clean)| *clean && self.nulls_are_clean(texts));
            // Whoever was here first found the same. Nothing is held meanwhile: this thread may take up work that asks.
            if clean {
                let _ = self.may_hold_placeholder[column].set(None);
            }
            let _ = self.texts[column].set(made.map(|(texts, _)| texts));
        }
        if scan && self.texts(column).is_ok() {
            let _ = self.may_hold_placeholder(column);
        }
    }

    /// Whether no token could stand in what nulls are shown as, which isn't among a column's bytes.
    fn nulls_are_clean(&self, texts: &TextColumn) -> bool {
        !texts.has_nulls() || self.columns.tokens.none_in(NONE)
    }

    /// The text of a field; the replacement where the column is masked.
    ///
    /// # Errors
    ///
    /// As [`Self::texts`].
    pub fn field(&self, column: usize, row: usize) -> Result<&[u8]> {
        match self.columns.mask(column) {
            Some(by) => Ok(by.as_bytes()),
            None => Ok(self.texts(column)?.bytes(row)),
        }
    }

    /// As [`Self::field`], of a column that a value brings in.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text in this row, and for what is wrong with all of the column.
    pub fn brought_in_field(&self, column: usize, row: usize) -> Result<&[u8]> {
        if let Some(by) = self.columns.mask(column) {
            return Ok(by.as_bytes());
        }
        let brought_in = self.brought_in(column)?;
        brought_in.check(row)?;
        Ok(brought_in.texts.bytes(row))
    }

    /// The text of a column that nothing stands for in a template.
    ///
    /// # Errors
    ///
    /// As [`Self::texts`].
    pub fn named(&self, name: &str, row: usize) -> Result<&[u8]> {
        match self.columns.names.iter().rposition(|known| &**known == name) {
            Some(column) => Ok(self.texts(column)?.bytes(row)),
            None => Ok(b""),
        }
    }

    /// Which values of a column may hold a placeholder or end in half of one; None if none does. Values behind many that
    /// do are not looked at, and said to do so too: filling a row column by column is right for any.
    ///
    /// # Errors
    ///
    /// As [`Self::texts`].
    pub fn may_hold_placeholder(&self, column: usize) -> Result<Option<&[bool]>> {
        let texts = self.texts(column)?;
        let made = threads::made(&self.may_hold_placeholder[column], || {
            if texts.contiguous().is_some_and(|all| self.columns.tokens.none_in_long(all))
                && self.nulls_are_clean(texts)
            {
                return None;
            }
            // Texts that rows pick from are looked at once, however many rows show them.
            if texts
                .picked_from()
                .is_some_and(|from| !(0..from.len()).any(|at| self.columns.tokens.could_form(from.bytes(at))))
                && self.nulls_are_clean(texts)
            {
                return None;
            }
            let flags = threads::map(threads::chunks(0..self.rows, 1024), |rows| -> Vec<bool> {
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
        Ok(made.as_deref())
    }
}
