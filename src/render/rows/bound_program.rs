//! A program bound to the texts of a batch: it computes the length of each row's text, and writes the text.

use std::ops::Range;

use super::lengths::Lengths;
use crate::error::Result;
use crate::plan::Program;
use crate::python_text::TextColumn;
use crate::render::copying::{TextSources, Writer};
use crate::render::fragments::{FragmentStores, LengthTables, RowFragments};
use crate::render::input::Batch;

/// A program, bound to everything that it reads.
pub struct BoundProgram<'a> {
    /// The program.
    pub program: &'a Program,
    writer: Writer<'a>,
    lengths: Option<Lengths<'a>>,
    may_hold_placeholder: Vec<&'a [bool]>,
    guards: Vec<(&'a TextColumn, &'a [Box<[u8]>])>,
    /// True if any fragment could have a field filled into it.
    checks_fragments: bool,
}

impl<'a> BoundProgram<'a> {
    /// Bind a program to a batch's texts, which have been checked and searched, and to the examples' parts.
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
        // For each column that is searched: true for each value that could form a placeholder, if any value could.
        let mut may_hold_placeholder = Vec::new();
        for column in &program.scanned {
            may_hold_placeholder.extend(batch.may_hold_placeholder(*column)?);
        }
        let writer = Writer::new(&program.ops, &program.literals, sources)?;
        let guard = |(column, rests): &'a (usize, Vec<Box<[u8]>>)| Ok((texts(*column)?, &rests[..]));
        let guards: Vec<_> = program.guards.iter().map(guard).collect::<Result<_>>()?;
        let lengths = Lengths::new(program, texts, tables)?;
        let checks_fragments =
            program.fragments.iter().any(|reference| sources.fragments.of(reference.set).any_may_hold_placeholder());
        Ok(Self { program, writer, lengths, may_hold_placeholder, guards, checks_fragments })
    }

    /// Return true if no row of this batch has to be filled column by column.
    pub fn never_needs_substitution(&self) -> bool {
        !self.program.always_substituted
            && self.may_hold_placeholder.is_empty()
            && self.guards.is_empty()
            && !self.checks_fragments
    }

    /// Return true if a row has to be filled column by column.
    #[inline]
    pub fn needs_substitution(&self, row: usize, row_fragments: &[u32], fragments: FragmentStores) -> bool {
        self.program.always_substituted
            || self.may_hold_placeholder.iter().any(|flags| flags[row])
            || self.guards.iter().any(|(texts, rests)| {
                let value = texts.bytes(row);
                rests.iter().any(|rest| value.starts_with(rest) || rest.starts_with(value))
            })
            || self.checks_fragments
                && self.program.fragments.iter().any(|reference| {
                    fragments
                        .of(reference.set)
                        .may_hold_placeholder(row_fragments[reference.slot as usize], reference.part)
                })
    }

    /// Write a row's text to `out[position..]`, and return the position of the next text.
    #[inline]
    pub fn write(&self, out: &mut [u8], position: usize, row: usize, row_fragments: &[u32]) -> usize {
        self.writer.write(out, position, row, row_fragments)
    }

    /// Call [`Self::write`] for some rows.
    pub fn write_rows(
        &self,
        out: &mut [u8],
        position: usize,
        rows: Range<usize>,
        row_fragments: &RowFragments,
    ) -> usize {
        self.writer.write_rows(out, position, rows, row_fragments)
    }

    /// Return the length of a row's text.
    #[inline]
    pub fn length(&self, row: usize, row_fragments: &[u32]) -> usize {
        match &self.lengths {
            Some(lengths) => lengths.of(row, row_fragments),
            None => self.writer.length(row, row_fragments),
        }
    }
}
