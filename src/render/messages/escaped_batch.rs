//! A batch whose texts are as they stand within JSON strings.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Int64Array, NullArray};

use super::escaped_texts::escaped_column;
use crate::error::Result;
use crate::plan::{Columns, Op, Program};
use crate::pytext::TextColumn;
use crate::render::input::Batch;
use crate::render::rows::Unread;

/// The columns that some programs show, escaped. What lies row by row is checked and escaped part by part, and copied while
/// it is near; dictionaries, views and strings with nulls are so for all rows first.
pub struct EscapedBatch<'b> {
    batch: &'b Batch<'b>,
    programs: Vec<&'b Program>,
    verbatim: Columns,
    /// Whether the bytes of texts are counted, which those of lines don't tell.
    is_counted: bool,
    /// The number of the first row, where a column of row numbers stands behind the others.
    first_number: Option<usize>,
    /// What is escaped part by part.
    by_part: Vec<usize>,
    /// All others that are shown, escaped; of those that aren't, nothing.
    whole: Vec<TextColumn>,
    /// Bytes of the texts that parts have shown, without escapes.
    shown: AtomicUsize,
}

impl<'b> EscapedBatch<'b> {
    /// What `programs` show of a batch; None if some of it has no text, or if a placeholder could form from it where it is
    /// looked for.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn new(batch: &'b Batch<'b>, programs: Vec<&'b Program>) -> Result<Option<Self>> {
        Self::made(batch, programs, false, None)
    }

    /// The same for lines: the bytes of texts are counted, and there are row numbers from `first_number` on, where lines show
    /// them.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn of_lines(
        batch: &'b Batch<'b>,
        programs: Vec<&'b Program>,
        first_number: Option<usize>,
    ) -> Result<Option<Self>> {
        Self::made(batch, programs, true, first_number)
    }

    fn made(
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
        let shown = AtomicUsize::new(0);
        let mut own = Self { batch, programs, verbatim, is_counted, first_number, by_part, whole, shown };
        Ok(own.escape(&others)?.then_some(own))
    }

    /// The number that the column of row numbers has.
    pub fn numbers(batch: &Batch) -> usize {
        batch.columns.names.len()
    }

    /// Whether anything is escaped part by part.
    pub fn has_parts(&self) -> bool {
        !self.by_part.is_empty()
    }

    /// Some rows; None where more than copying is called for.
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
                    self.shown.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        }
        if let Some(first) = self.first_number {
            let numbers = Int64Array::from_iter_values(rows.clone().map(|row| (first + row) as i64));
            texts.push(TextColumn::new(&numbers).ok()?);
        }
        Some(Batch::of_texts(&self.verbatim, rows.len(), texts, self.batch.host))
    }

    /// Bytes of the fields that parts have shown, without escapes.
    pub fn shown_bytes(&self) -> usize {
        self.shown.load(Ordering::Relaxed)
    }

    /// All rows; None as [`Self::new`].
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn all(&mut self) -> Result<Option<Batch<'_>>> {
        let by_part = std::mem::take(&mut self.by_part);
        if !self.escape(&by_part)? {
            return Ok(None);
        }
        Ok(Some(Batch::of_texts(&self.verbatim, self.batch.rows, self.whole.clone(), self.batch.host)))
    }

    /// Escape the texts of all rows of some columns; false if some of them have no text, or if a placeholder could form from
    /// them where it is looked for.
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

/// Whether the texts of some rows of a column are found, and escaped, without those of the others.
fn lies_by_row(batch: &Batch, column: usize) -> bool {
    batch.prints_by_row(column) || batch.unread(column).is_some_and(|texts| texts.plain().is_some())
}
