//! A batch whose texts are escaped for JSON strings.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Int64Array, NullArray};

use super::escaped_texts::escaped_column;
use crate::error::Result;
use crate::plan::{Columns, Op, Program};
use crate::python_text::TextColumn;
use crate::render::input::Batch;
use crate::render::rows::Unread;

/// The columns that some programs show, escaped. Plain columns are checked and escaped part by part, and copied while
/// their bytes are in cache; dictionaries, views and strings with nulls are escaped for all rows first.
pub struct EscapedBatch<'b> {
    batch: &'b Batch<'b>,
    programs: Vec<&'b Program>,
    verbatim: Columns,
    /// True if the bytes of texts are counted, because the lengths of lines don't give them.
    is_counted: bool,
    /// The number of the first row, if a column of row numbers follows the others.
    first_number: Option<usize>,
    /// The columns that are escaped part by part.
    by_part: Vec<usize>,
    /// All other shown columns, escaped; columns that aren't shown are empty.
    whole: Vec<TextColumn>,
    /// The number of bytes of the texts that parts have shown, without escapes.
    shown_bytes: AtomicUsize,
}

impl<'b> EscapedBatch<'b> {
    /// Escape the columns that `programs` show; None if some value has no text, or if a placeholder could form in a
    /// column that is searched for placeholders.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn new(batch: &'b Batch<'b>, programs: Vec<&'b Program>) -> Result<Option<Self>> {
        Self::with_numbers(batch, programs, false, None)
    }

    /// [`Self::new`] for lines: the bytes of texts are counted, and row numbers begin at `first_number` if lines show
    /// row numbers.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn of_lines(
        batch: &'b Batch<'b>,
        programs: Vec<&'b Program>,
        first_number: Option<usize>,
    ) -> Result<Option<Self>> {
        Self::with_numbers(batch, programs, true, first_number)
    }

    fn with_numbers(
        batch: &'b Batch<'b>,
        programs: Vec<&'b Program>,
        is_counted: bool,
        first_number: Option<usize>,
    ) -> Result<Option<Self>> {
        let mut columns: Vec<usize> = programs.iter().flat_map(|program| program.fields.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let (by_part, others): (Vec<usize>, Vec<usize>) =
            columns.into_iter().partition(|column| lies_by_row(batch, *column));
        let count = batch.columns.names.len();
        let names = (0..count + usize::from(first_number.is_some())).map(|column| column.to_string().into());
        let (verbatim, whole) = (Columns::verbatim(names)?, vec![TextColumn::new(&NullArray::new(0))?; count]);
        let shown_bytes = AtomicUsize::new(0);
        let mut escaped = Self { batch, programs, verbatim, is_counted, first_number, by_part, whole, shown_bytes };
        Ok(escaped.escape(&others)?.then_some(escaped))
    }

    /// Return the index of the column of row numbers.
    pub fn numbers(batch: &Batch) -> usize {
        batch.columns.names.len()
    }

    /// Return true if anything is escaped part by part.
    pub fn has_parts(&self) -> bool {
        !self.by_part.is_empty()
    }

    /// Return some rows with escaped texts; None if copying isn't enough for them.
    pub fn part(&self, rows: Range<usize>) -> Option<Batch<'_>> {
        let part = self.batch.slice(rows.clone());
        let unread = Unread::new(&part, &self.programs).filter(|unread| unread.are_plain(0..part.rows))?;
        let escaped = |(column, texts): (usize, &TextColumn)| match self.by_part.contains(&column) {
            true => escaped_column(unread.texts(column).ok()?).ok(),
            false if texts.is_empty() => Some(texts.clone()),
            false => texts.slice(rows.clone()),
        };
        let mut texts = self.whole.iter().enumerate().map(escaped).collect::<Option<Vec<_>>>()?;
        if self.is_counted {
            for op in self.programs.iter().flat_map(|program| &program.ops) {
                if let Op::Field(column) = op {
                    let bytes = unread.texts(*column).ok()?.total_length(0..part.rows);
                    self.shown_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        }
        if let Some(first) = self.first_number {
            let numbers = Int64Array::from_iter_values(rows.clone().map(|row| (first + row) as i64));
            texts.push(TextColumn::new(&numbers).ok()?);
        }
        Some(Batch::of_texts(&self.verbatim, rows.len(), texts, self.batch.host))
    }

    /// Return the number of bytes of the fields that parts have shown, without escapes.
    pub fn shown_bytes(&self) -> usize {
        self.shown_bytes.load(Ordering::Relaxed)
    }

    /// Return all rows with escaped texts; None as in [`Self::new`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn all(&mut self) -> Result<Option<Batch<'_>>> {
        let by_part = std::mem::take(&mut self.by_part);
        if !self.escape(&by_part)? {
            return Ok(None);
        }
        Ok(Some(Batch::of_texts(&self.verbatim, self.batch.rows, self.whole.clone(), self.batch.host)))
    }

    /// Escape the texts of all rows of some columns; false if some of them have no text, or if a placeholder could form
    /// in a column that is searched for placeholders.
    fn escape(&mut self, columns: &[usize]) -> Result<bool> {
        for &column in columns {
            let scanned = self.programs.iter().any(|program| program.scanned.contains(&column));
            self.batch.prepare(column, scanned);
            if scanned && !matches!(self.batch.may_hold_placeholder(column), Ok(None)) {
                return Ok(false);
            }
            let Ok(texts) = self.batch.texts(column) else { return Ok(false) };
            self.whole[column] = escaped_column(texts)?;
        }
        Ok(true)
    }
}

/// Return true if the texts of some rows of a column can be read and escaped without those of the other rows.
fn lies_by_row(batch: &Batch, column: usize) -> bool {
    batch.prints_by_row(column) || batch.unread(column).is_some_and(|texts| texts.plain().is_some())
}
