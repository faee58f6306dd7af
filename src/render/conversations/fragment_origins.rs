//! What the fragments of conversations were rendered from, for those who ask where each byte comes from.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::plan::Columns;
use crate::render::input::{Batch, Host};
use crate::render::substitution::{InvolvedColumns, Traced, traced};
use crate::template::{Atom, Text};

/// A table and the texts that each of its rows was rendered by.
pub struct FragmentOrigins {
    pub(super) table: RecordBatch,
    pub(super) columns: Columns,
    pub(super) texts: Vec<Text>,
    /// Whether each text of a row is a fragment of its own; else a row is one, and the texts are its parts.
    pub(super) is_apart: bool,
    /// Fragments that became no message, each with the number of the message that follows.
    pub(super) dropped: Vec<(usize, u32)>,
}

impl FragmentOrigins {
    /// The fragments that became no message before message `end`, of those of one conversation.
    pub fn dropped_before(&self, end: usize) -> impl Iterator<Item = u32> {
        self.dropped.iter().filter(move |(next, _)| *next <= end).map(|(_, fragment)| *fragment)
    }

    /// A fragment's part, each byte with its origin; nothing of fragments that no row gave.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn traced(&self, fragment: u32, part: u32, involved: &mut InvolvedColumns, host: &dyn Host) -> Result<Traced> {
        let Some((row, text)) = self.place(fragment, part) else { return Ok(Traced::new()) };
        let row = self.table.slice(row, 1);
        Self::spoken(text, &Batch::new(&self.columns, &row, host), 0, involved)
    }

    /// All fragments' columns, for [`Self::traced_parts`].
    pub fn batch<'a>(&'a self, host: &'a dyn Host) -> Batch<'a> {
        Batch::new(&self.columns, &self.table, host)
    }

    /// The parts of a fragment, each byte with its origin.
    ///
    /// # Errors
    ///
    /// As [`Self::traced`].
    pub fn traced_parts(&self, fragment: u32, batch: &Batch) -> Result<Vec<Traced>> {
        let parts = if self.is_apart { 1 } else { self.texts.len() as u32 };
        let traced = |part| match self.place(fragment, part) {
            Some((row, text)) => Self::spoken(text, batch, row, &mut InvolvedColumns::new()),
            None => Ok(Traced::new()),
        };
        (0..parts).map(traced).collect()
    }

    /// Which text of which row a fragment's part is.
    fn place(&self, fragment: u32, part: u32) -> Option<(usize, &Text)> {
        let each = self.texts.len().max(1);
        let fragment = fragment as usize;
        let (row, text) = if self.is_apart { (fragment / each, fragment % each) } else { (fragment, part as usize) };
        self.texts.get(text).filter(|_| row < self.table.num_rows()).map(|text| (row, text))
    }

    fn spoken(text: &Text, batch: &Batch, row: usize, involved: &mut InvolvedColumns) -> Result<Traced> {
        let mut out = traced(text, batch, row, involved)?;
        // Whoever speaks the literals around a field speaks the field.
        let speaker = text.speaker().cloned();
        for (_, origin) in &mut out {
            origin.role = origin.role.take().or_else(|| speaker.clone());
        }
        Ok(out)
    }
}

/// The text of a column as it is.
pub(super) fn field(name: &str) -> Text {
    Text::of(vec![Atom::Field(Arc::from(name))]).finalized()
}
