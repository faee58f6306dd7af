//! A batch whose texts are escaped for JSON strings. Rows whose values form placeholders are filled in first, and their
//! texts are escaped then.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Int64Array, NullArray};

use super::escaped_texts::{escaped, escaped_column};
use crate::error::Result;
use crate::plan::{Columns, Layout, Op, Plan, Plans, Program};
use crate::python_text::TextColumn;
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{Scratch, TextBlock};
use crate::render::rows::{FilledRows, Part, Unread, texts};

/// The columns that some plans show, escaped. Plain columns are checked and escaped part by part, and copied while their
/// bytes are in cache; dictionaries, views and strings with nulls are escaped for all rows first.
pub struct EscapedBatch<'b> {
    batch: &'b Batch<'b>,
    plans: &'b [Arc<Plan>],
    programs: Vec<&'b Program>,
    /// The plans that write a row's requests of the texts of its programs, which are columns then; None if no rows are
    /// filled in.
    filled_plans: Option<Plans>,
    verbatim: Columns,
    /// True if the bytes of texts are counted, because the lengths of lines don't give them.
    is_counted: bool,
    /// The number of the first row, if a column of row numbers follows the others.
    first_number: Option<usize>,
    /// The columns that are escaped part by part.
    by_part: Vec<usize>,
    /// All other shown columns, escaped; columns that aren't shown are empty.
    whole: Vec<TextColumn>,
    /// The number of bytes of the texts that parts have shown, without escapes and literals.
    shown_bytes: AtomicUsize,
}

impl<'b> EscapedBatch<'b> {
    /// Escape the columns that `plans` show; None if some value has no text. `filled_plans` write requests of the texts
    /// of programs.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn new(batch: &'b Batch<'b>, plans: &'b [Arc<Plan>], filled_plans: Option<Plans>) -> Result<Option<Self>> {
        Self::with_numbers(batch, plans, filled_plans, false, None)
    }

    /// [`Self::new`] for lines: the bytes of texts are counted, and row numbers begin at `first_number` if lines show
    /// row numbers.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn of_lines(
        batch: &'b Batch<'b>,
        plans: &'b [Arc<Plan>],
        filled_plans: Option<Plans>,
        first_number: Option<usize>,
    ) -> Result<Option<Self>> {
        Self::with_numbers(batch, plans, filled_plans, true, first_number)
    }

    fn with_numbers(
        batch: &'b Batch<'b>,
        plans: &'b [Arc<Plan>],
        filled_plans: Option<Plans>,
        is_counted: bool,
        first_number: Option<usize>,
    ) -> Result<Option<Self>> {
        let programs: Vec<&Program> = plans.iter().flat_map(|plan| &plan.programs).map(|p| &**p).collect();
        let mut columns: Vec<usize> = programs.iter().flat_map(|program| program.fields.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let (by_part, others): (Vec<usize>, Vec<usize>) =
            columns.into_iter().partition(|column| lies_by_row(batch, *column));
        let count = batch.columns.names.len();
        let verbatim = numbered(count + usize::from(first_number.is_some()))?;
        let whole = vec![TextColumn::new(&NullArray::new(0))?; count];
        let shown_bytes = AtomicUsize::new(0);
        let mut escaped = Self {
            batch,
            plans,
            programs,
            filled_plans,
            verbatim,
            is_counted,
            first_number,
            by_part,
            whole,
            shown_bytes,
        };
        Ok(escaped.escape(&others)?.then_some(escaped))
    }

    /// Return the index of the column of row numbers.
    pub fn numbers(batch: &Batch) -> usize {
        batch.columns.names.len()
    }

    /// Return true if anything is escaped part by part, or filled in.
    pub fn has_parts(&self) -> bool {
        !self.by_part.is_empty() || self.may_hold_placeholder()
    }

    /// Return true if a placeholder could form in a column that is searched for them before its rows are.
    fn may_hold_placeholder(&self) -> bool {
        let mut scanned = self.programs.iter().flat_map(|program| &program.scanned);
        scanned.any(|column| {
            !self.by_part.contains(column) && !matches!(self.batch.may_hold_placeholder(*column), Ok(None))
        })
    }

    /// Return some rows with escaped texts; None if copying and filling in isn't enough for them.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work, or `RenderError` if the memory can't be allocated.
    pub fn part(&self, rows: Range<usize>) -> Result<Option<Part<'_>>> {
        let part = self.batch.slice(rows.clone());
        let Some(unread) = Unread::new(&part, &self.programs) else { return Ok(None) };
        let Some(filled) = FilledRows::new(&unread, self.plans, &(0..part.rows))? else { return Ok(None) };
        let escaped = |(column, texts): (usize, &TextColumn)| match self.by_part.contains(&column) {
            true => escaped_column(unread.texts(column).ok()?).ok(),
            false if texts.is_empty() => Some(texts.clone()),
            false => texts.slice(rows.clone()),
        };
        let Some(mut texts) = self.whole.iter().enumerate().map(escaped).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if self.is_counted {
            let field_bytes = |rows: Range<usize>| -> Result<usize> {
                let ops = self.programs.iter().flat_map(|program| &program.ops);
                let of_op = |op: &Op| match op {
                    Op::Field(column) => Ok(unread.texts(*column)?.total_length(rows.clone())),
                    _ => Ok(0),
                };
                ops.map(of_op).sum()
            };
            let literals: usize = self.programs.iter().map(|program| program.literal_bytes()).sum();
            // Filled rows show their texts in the place of their fields.
            let mut bytes = field_bytes(0..part.rows)? + filled.lengths.iter().sum::<usize>();
            for row in &filled.rows {
                bytes -= field_bytes(*row..row + 1)? + literals;
            }
            self.shown_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        texts.extend(self.numbers_of(rows.clone())?);
        let batch = Batch::of_texts(&self.verbatim, rows.len(), texts, self.batch.host);
        let filled = if filled.rows.is_empty() { Some(filled) } else { self.filled_requests(filled, rows.start)? };
        Ok(filled.map(|filled| Part { batch, filled: Some(filled) }))
    }

    /// Return the column of row numbers, if there is one.
    fn numbers_of(&self, rows: impl IntoIterator<Item = usize>) -> Result<Option<TextColumn>> {
        let Some(first) = self.first_number else { return Ok(None) };
        let numbers = Int64Array::from_iter_values(rows.into_iter().map(|row| (first + row) as i64));
        TextColumn::new(&numbers).map(Some)
    }

    /// Return the requests of filled rows, of which the first row of the part is `start`. None if copying their texts
    /// isn't enough.
    fn filled_requests(&self, filled: FilledRows, start: usize) -> Result<Option<FilledRows>> {
        let Some(plans) = &self.filled_plans else { return Ok(None) };
        let (each, count) = (self.programs.len(), filled.rows.len());
        let mut ends = Vec::with_capacity(filled.lengths.len() + 1);
        ends.push(0);
        ends.extend(filled.lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        let column = |program: usize| -> Result<TextColumn> {
            let text = |row: usize| &filled.texts.0[ends[row * each + program]..ends[row * each + program + 1]];
            let array = TextBlock::new(escaped(count, text)?).array(Layout::LargeString, None);
            TextColumn::new(&array)
        };
        let mut columns: Vec<TextColumn> = (0..each).map(column).collect::<Result<_>>()?;
        columns.extend(self.numbers_of(filled.rows.iter().map(|row| start + row))?);
        let verbatim = numbered(columns.len())?;
        let batch = Batch::of_texts(&verbatim, count, columns, self.batch.host);
        let none = FragmentStore::default();
        let fragments = FragmentStores { renderer: &none, batch: &none };
        let Ok(Some(requests)) = texts(&batch, plans, 0..count, RowFragments::NONE, fragments, usize::MAX) else {
            return Ok(None);
        };
        let mut bytes = Scratch::new();
        bytes.0.extend_from_slice(&requests.bytes);
        let length = |n: usize| requests.offsets.get(n + 1) - requests.offsets.get(n);
        let lengths = (0..requests.offsets.len() - 1).map(length).collect();
        Ok(Some(FilledRows { lengths, texts: bytes, ..filled }))
    }

    /// Return the number of bytes of the fields that parts have shown, without escapes.
    pub fn shown_bytes(&self) -> usize {
        self.shown_bytes.load(Ordering::Relaxed)
    }

    /// Return all rows with escaped texts; None as in [`Self::new`], or if a placeholder could form in a value.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn all(&mut self) -> Result<Option<Batch<'_>>> {
        let by_part = std::mem::take(&mut self.by_part);
        if !self.escape(&by_part)? || self.may_hold_placeholder() {
            return Ok(None);
        }
        Ok(Some(Batch::of_texts(&self.verbatim, self.batch.rows, self.whole.clone(), self.batch.host)))
    }

    /// Escape the texts of all rows of some columns; false if some of them have no text.
    fn escape(&mut self, columns: &[usize]) -> Result<bool> {
        for &column in columns {
            let scanned = self.programs.iter().any(|program| program.scanned.contains(&column));
            self.batch.prepare(column, scanned);
            let Ok(texts) = self.batch.texts(column) else { return Ok(false) };
            self.whole[column] = escaped_column(texts)?;
        }
        Ok(true)
    }
}

/// Return columns that are named by numbers, and never replaced.
fn numbered(count: usize) -> Result<Columns> {
    Columns::verbatim((0..count).map(|column| column.to_string().into()))
}

/// Return true if the texts of some rows of a column can be read and escaped without those of the other rows.
fn lies_by_row(batch: &Batch, column: usize) -> bool {
    batch.prints_by_row(column) || batch.unread(column).is_some_and(|texts| texts.plain().is_some())
}
