//! A program bound to the texts of one batch: how long each row's text is, and writing it.

use std::ops::Range;

use super::lengths::Lengths;
use crate::error::Result;
use crate::plan::Program;
use crate::pytext::TextColumn;
use crate::render::copying::{TextSources, Writer};
use crate::render::fragments::{FragmentStores, LengthTables, RowFragments};
use crate::render::input::Batch;

/// A program with everything that it reads at hand.
pub struct BoundProgram<'a> {
    /// What it is made from.
    pub program: &'a Program,
    writer: Writer<'a>,
    lengths: Option<Lengths<'a>>,
    may_hold_placeholder: Vec<&'a [bool]>,
    guards: Vec<(&'a TextColumn, &'a [Box<[u8]>])>,
    /// Whether any fragment could have a field filled into it.
    checks_fragments: bool,
}

impl<'a> BoundProgram<'a> {
    /// Bind a program to a batch's texts, which are checked and looked through, and to the examples' parts.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn of_batch(
        program: &'a Program,
        batch: &'a Batch,
        sources: TextSources<'_, 'a>,
        tables: &LengthTables,
    ) -> Result<Self> {
        let texts = sources.texts;
        // Which values of a column could form a placeholder, for each column that is scanned where any could.
        let mut may_hold_placeholder = Vec::new();
        for column in &program.scanned {
            may_hold_placeholder.extend(batch.may_hold_placeholder(*column)?);
        }
        let writer = Writer::new(&program.ops, &program.literals, sources)?;
        let guard = |(column, rests): &'a (usize, Vec<Box<[u8]>>)| Ok((texts(*column)?, &rests[..]));
        let guards: Vec<_> = program.guards.iter().map(guard).collect::<Result<_>>()?;
        let lengths = Lengths::new(program, texts, tables)?;
        let checks_fragments =
            program.fragments.iter().any(|place| sources.fragments.of(place.set).any_may_hold_placeholder());
        Ok(Self { program, writer, lengths, may_hold_placeholder, guards, checks_fragments })
    }

    /// Whether no row of this batch has to be filled column by column.
    pub fn never_needs_substitution(&self) -> bool {
        !self.program.always_substituted
            && self.may_hold_placeholder.is_empty()
            && self.guards.is_empty()
            && !self.checks_fragments
    }

    /// Whether a row has to be filled column by column.
    #[inline]
    pub fn needs_substitution(&self, row: usize, shown: &[u32], fragments: FragmentStores) -> bool {
        self.program.always_substituted
            || self.may_hold_placeholder.iter().any(|flags| flags[row])
            || self.guards.iter().any(|(texts, rests)| {
                let value = texts.bytes(row);
                rests.iter().any(|rest| value.starts_with(rest) || rest.starts_with(value))
            })
            || self.checks_fragments
                && self
                    .program
                    .fragments
                    .iter()
                    .any(|place| fragments.of(place.set).may_hold_placeholder(shown[place.slot as usize], place.part))
    }

    /// Write a row's text to `own[at..]`; returns where the next one goes.
    #[inline]
    pub fn write(&self, own: &mut [u8], at: usize, row: usize, shown: &[u32]) -> usize {
        self.writer.write(own, at, row, shown)
    }

    /// [`Self::write`] of some rows.
    pub fn write_rows(&self, own: &mut [u8], at: usize, rows: Range<usize>, shown: &RowFragments) -> usize {
        self.writer.write_rows(own, at, rows, shown)
    }

    /// The length of a row's text.
    #[inline]
    pub fn length(&self, row: usize, shown: &[u32]) -> usize {
        match &self.lengths {
            Some(lengths) => lengths.of(row, shown),
            None => self.writer.length(row, shown),
        }
    }
}
