//! The pieces that the fragments of conversations were rendered from, which explanations of bytes need.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::plan::Columns;
use crate::render::input::{Batch, PythonCallbacks};
use crate::render::substitution::{InvolvedColumns, Traced, traced, without_empty};
use crate::template::{Atom, Text};

/// A table, and the texts that each of its rows was rendered with.
pub struct FragmentOrigins {
    pub(super) table: RecordBatch,
    pub(super) columns: Columns,
    pub(super) texts: Vec<Text>,
    /// True if each text of a row is a separate fragment; else a row is a fragment, and the texts are its parts.
    pub(super) is_apart: bool,
    /// Fragments that became no message, each with the number of the message that follows.
    pub(super) dropped: Vec<(usize, u32)>,
}

impl FragmentOrigins {
    /// Return the fragments of a conversation that became no message before message `end`.
    pub fn dropped_before(&self, end: usize) -> impl Iterator<Item = u32> {
        self.dropped.iter().filter(move |(next, _)| *next <= end).map(|(_, fragment)| *fragment)
    }

    /// Return a fragment's part, each byte with its origin, and its values without bytes; empty for fragments that no row
    /// gave.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn traced(
        &self,
        fragment: u32,
        part: u32,
        involved: &mut InvolvedColumns,
        host: &dyn PythonCallbacks,
    ) -> Result<Traced> {
        let Some((row, text)) = self.location(fragment, part) else { return Ok(Traced::new()) };
        let row = self.table.slice(row, 1);
        Self::spoken(text, &Batch::new(&self.columns, &row, host), 0, involved)
    }

    /// Return the columns of all fragments, for [`Self::traced_parts`].
    pub fn batch<'a>(&'a self, host: &'a dyn PythonCallbacks) -> Batch<'a> {
        Batch::new(&self.columns, &self.table, host)
    }

    /// Return the parts of a fragment, each byte with its origin.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::traced`].
    pub fn traced_parts(&self, fragment: u32, batch: &Batch) -> Result<Vec<Traced>> {
        let parts = if self.is_apart { 1 } else { self.texts.len() as u32 };
        let traced = |part| match self.location(fragment, part) {
            Some((row, text)) => Self::spoken(text, batch, row, &mut InvolvedColumns::new()).map(without_empty),
            None => Ok(Traced::new()),
        };
        (0..parts).map(traced).collect()
    }

    /// Return the row and the text that a fragment's part was rendered from.
    fn location(&self, fragment: u32, part: u32) -> Option<(usize, &Text)> {
        let each = self.texts.len().max(1);
        let fragment = fragment as usize;
        let (row, text) = if self.is_apart { (fragment / each, fragment % each) } else { (fragment, part as usize) };
        self.texts.get(text).filter(|_| row < self.table.num_rows()).map(|text| (row, text))
    }

    fn spoken(text: &Text, batch: &Batch, row: usize, involved: &mut InvolvedColumns) -> Result<Traced> {
        let mut out = traced(text, batch, row, involved)?;
        // A field has the same speaker as the literals around it.
        let speaker = text.speaker().cloned();
        for (_, origin) in &mut out {
            origin.role = origin.role.take().or_else(|| speaker.clone());
        }
        Ok(out)
    }
}

/// Return a text that is the unchanged field of a column.
pub(super) fn field(name: &str) -> Text {
    Text::of(vec![Atom::Field(Arc::from(name))]).finalized()
}
