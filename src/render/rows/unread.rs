//! The columns that plain rows show, looked at while they are copied.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::Result;
use crate::plan::{Program, Tokens};
use crate::pytext::TextColumn;
use crate::render::input::Batch;
use crate::threads;

/// A column in which placeholders are looked for only when it is copied.
struct UnreadColumn {
    texts: TextColumn,
    /// Whether they are looked for at all.
    scanned: bool,
}

/// A column has values that aren't copied as they are.
struct NotPlain;

/// The columns of a batch that are read, or looked through, while they are copied.
pub struct Unread<'a> {
    batch: &'a Batch<'a>,
    columns: HashMap<usize, UnreadColumn>,
}

impl<'a> Unread<'a> {
    /// The columns that programs write, but for those that were looked through already; None if some column isn't plain.
    /// What isn't text is printed here.
    pub fn new(batch: &'a Batch<'a>, programs: &[&Program]) -> Option<Self> {
        // Side by side, since it goes over all offsets, and prints what isn't text.
        let found = threads::map(shown_by(programs), |column| {
            let scanned = programs.iter().any(|program| program.scanned.contains(&column));
            Self::column(batch, column, scanned).map(|own| (column, own))
        });
        let found: Vec<(usize, Option<UnreadColumn>)> = found.into_iter().collect::<Result<_, NotPlain>>().ok()?;
        let columns = found.into_iter().filter_map(|(column, own)| Some((column, own?))).collect();
        Some(Self { batch, columns })
    }

    /// A column if something of it is still to be looked at.
    fn column(batch: &Batch, column: usize, scanned: bool) -> Result<Option<UnreadColumn>, NotPlain> {
        if let Some(texts) = batch.unread(column) {
            return Ok(Some(UnreadColumn { texts: texts.clone(), scanned }));
        }
        // What is printed by row is so in parts, one a thread: sharing a part among threads would only join it again.
        if !batch.prints_by_row(column) {
            batch.prepare(column, false);
        }
        let texts = batch.texts(column).map_err(|_| NotPlain)?;
        if !scanned {
            return Ok(None);
        }
        // What was printed lies in a row; of other texts it is told at once whether they are clean.
        if !batch.was_looked_through(column) && !texts.has_nulls() && texts.contiguous().is_some() {
            return Ok(Some(UnreadColumn { texts: texts.clone(), scanned }));
        }
        if matches!(batch.may_hold_placeholder(column), Ok(None)) { Ok(None) } else { Err(NotPlain) }
    }

    /// The texts of a column.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn texts(&self, column: usize) -> Result<&TextColumn> {
        self.columns.get(&column).map_or_else(|| self.batch.texts(column), |own| Ok(&own.texts))
    }

    /// How many bytes of some rows are still to be looked at.
    pub fn total_length(&self, rows: &Range<usize>) -> usize {
        self.columns.values().map(|column| column.texts.total_length(rows.clone())).sum()
    }

    /// The placeholders.
    pub fn tokens(&self) -> &Tokens {
        &self.batch.columns.tokens
    }

    /// Whether bytes that were written show that rows held text, and that no placeholder formed: one that did would stand
    /// there as a whole, since none of these can share bytes. `apart`: that no two fields meet.
    pub fn gave_plain(&self, written: &[u8], apart: bool) -> bool {
        let text = written.is_ascii() || apart && simdutf8::basic::from_utf8(written).is_ok();
        text && (!self.columns.values().any(|column| column.scanned) || self.tokens().none_whole_in(written))
    }

    /// Whether rows hold text, and nothing that a placeholder could form from.
    pub fn are_plain(&self, rows: Range<usize>) -> bool {
        self.columns.values().all(|column| {
            let Some(bytes) = column.texts.checked(rows.clone()) else { return false };
            let ends = |at: usize| column.texts.end_around(rows.clone(), at);
            !column.scanned || self.tokens().none_in_rows(bytes, ends)
        })
    }
}

/// The columns that programs write or look through.
pub fn shown_by(programs: &[&Program]) -> Vec<usize> {
    let mut columns: Vec<usize> = programs.iter().flat_map(|p| p.fields.iter().chain(&p.scanned)).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
