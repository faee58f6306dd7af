//! The columns that plain rows show, which are searched while they are copied.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::Result;
use crate::plan::{Program, Tokens};
use crate::python_text::TextColumn;
use crate::render::input::Batch;
use crate::threads;

/// The number of bytes that stay in cache between two passes.
const CACHED_BYTES: usize = 16 << 10;

/// A column that isn't known to be copied unchanged in all rows.
struct UnreadColumn<'a> {
    texts: TextColumn,
    search: Search<'a>,
}

/// The search of a column for placeholders.
enum Search<'a> {
    /// Its bytes are only checked.
    No,
    /// Its bytes are checked and searched when they are copied.
    Bytes,
    /// It was checked and searched: true for each value that could form a placeholder.
    Done(&'a [bool]),
}

/// Some value of a column isn't copied unchanged.
struct NotPlain;

/// The columns of a batch that are checked or searched while they are copied.
pub struct Unread<'a> {
    /// The batch.
    pub batch: &'a Batch<'a>,
    columns: HashMap<usize, UnreadColumn<'a>>,
}

impl<'a> Unread<'a> {
    /// Collect the columns that programs write and that haven't been searched yet, or that hold placeholders; None if
    /// some column isn't plain. Values that aren't text are printed here.
    pub fn new(batch: &'a Batch<'a>, programs: &[&Program]) -> Option<Self> {
        // The columns are handled in parallel, because this reads all offsets, and prints values that aren't text.
        let results = threads::map(shown_by(programs), |column| {
            let scanned = programs.iter().any(|program| program.scanned.contains(&column));
            Self::column(batch, column, scanned).map(|unread| (column, unread))
        });
        let results: Vec<(usize, Option<UnreadColumn>)> = results.into_iter().collect::<Result<_, NotPlain>>().ok()?;
        let columns = results.into_iter().filter_map(|(column, unread)| Some((column, unread?))).collect();
        Some(Self { batch, columns })
    }

    /// Return a column if some of its bytes are still to be searched, or if some of its values hold placeholders.
    fn column(batch: &'a Batch<'a>, column: usize, scanned: bool) -> Result<Option<UnreadColumn<'a>>, NotPlain> {
        let search = if scanned { Search::Bytes } else { Search::No };
        if let Some(texts) = batch.unread(column) {
            return Ok(Some(UnreadColumn { texts: texts.clone(), search }));
        }
        // Values of rows are printed in parts, one part for each thread; splitting a part among threads would require
        // joining it again.
        if !batch.prints_by_row(column) {
            batch.prepare(column, false);
        }
        let texts = batch.texts(column).map_err(|_| NotPlain)?;
        if !scanned {
            return Ok(None);
        }
        // Printed texts are contiguous; other texts are checked at once.
        if !batch.was_looked_through(column) && !texts.has_nulls() && texts.contiguous().is_some() {
            return Ok(Some(UnreadColumn { texts: texts.clone(), search }));
        }
        let flags = batch.may_hold_placeholder(column).map_err(|_| NotPlain)?;
        Ok(flags.map(|flags| UnreadColumn { texts: texts.clone(), search: Search::Done(flags) }))
    }

    /// Return the texts of a column.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn texts(&self, column: usize) -> Result<&TextColumn> {
        self.columns.get(&column).map_or_else(|| self.batch.texts(column), |unread| Ok(&unread.texts))
    }

    /// Return the number of bytes of some rows that are still to be searched.
    pub fn total_length(&self, rows: &Range<usize>) -> usize {
        self.columns.values().map(|column| column.texts.total_length(rows.clone())).sum()
    }

    /// Return the placeholders.
    pub fn tokens(&self) -> &Tokens {
        &self.batch.columns.tokens
    }

    /// Return true if the written bytes show that the rows held text and that no placeholder formed. A placeholder that
    /// formed would be a whole substring of the bytes, because placeholders here can't share bytes. `apart` is true if
    /// no two fields meet.
    pub fn gave_plain(&self, written: &[u8], apart: bool) -> bool {
        let text = written.is_ascii() || apart && simdutf8::basic::from_utf8(written).is_ok();
        let is_searched = |column: &UnreadColumn| !matches!(column.search, Search::No);
        text && (!self.columns.values().any(is_searched) || self.tokens().none_whole_in(written))
    }

    /// Return true if rows hold text, and nothing that a placeholder could form from.
    pub fn are_plain(&self, rows: Range<usize>) -> bool {
        self.columns.values().all(|column| match column.search {
            Search::Done(flags) => !flags[rows.clone()].contains(&true),
            Search::No => column.texts.checked(rows.clone()).is_some(),
            Search::Bytes => column.texts.checked(rows.clone()).is_some_and(|bytes| {
                let mut row = 0;
                self.tokens().none_in_rows(bytes, |byte| {
                    let (around, end) = column.texts.text_around(rows.clone(), row, byte);
                    row = around;
                    end
                })
            }),
        })
    }

    /// Return those of some rows that hold something that a placeholder could form from, in order; None if some row
    /// holds something else than text, or if placeholders are everywhere.
    pub fn forming(&self, rows: &Range<usize>) -> Option<Vec<usize>> {
        let mut forming = Vec::new();
        for column in self.columns.values() {
            match column.search {
                Search::Done(flags) => forming.extend(rows.clone().filter(|row| flags[*row])),
                Search::Bytes if self.tokens().has_empty() => return None,
                Search::No | Search::Bytes => {
                    // Bytes are in cache when they are searched after they were checked.
                    let bytes = column.texts.total_length(rows.clone());
                    let block = (CACHED_BYTES * rows.len() / bytes.max(1)).max(1);
                    for block in threads::chunks(rows.clone(), block) {
                        self.add_forming(column, block, &mut forming)?;
                    }
                }
            }
        }
        forming.sort_unstable();
        forming.dedup();
        Some(forming)
    }

    /// Add those of some rows to `forming` that hold something that a placeholder could form from, in a column that is
    /// still to be checked.
    fn add_forming(&self, column: &UnreadColumn, rows: Range<usize>, forming: &mut Vec<usize>) -> Option<()> {
        let texts = &column.texts;
        let bytes = texts.checked(rows.clone())?;
        // The text with the last beginning of a placeholder.
        let (mut row, mut end) = (0, 0);
        let mut next = |from: usize| {
            let position = self.tokens().first_in_rows(bytes, from, |byte| {
                (row, end) = texts.text_around(rows.clone(), row, byte);
                end
            });
            position.map(|_| (row, end))
        };
        let mut from = 0;
        while matches!(column.search, Search::Bytes)
            && let Some((row, end)) = next(from)
        {
            forming.push(rows.start + row);
            from = end;
        }
        Some(())
    }
}

/// Return the columns that programs write or search.
pub fn shown_by(programs: &[&Program]) -> Vec<usize> {
    let mut columns: Vec<usize> = programs.iter().flat_map(|p| p.fields.iter().chain(&p.scanned)).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
