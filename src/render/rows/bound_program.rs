//! A program bound to the texts of one batch: how long each row's text is, and writing it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Result;
use crate::plan::{Op, Program};
use crate::pytext::TextColumn;
use crate::render::copying::{TextLookup, TextSources, Writer};
use crate::render::fragments::{FragmentStores, LengthTables, RowFragments, Table};
use crate::render::input::Batch;
use crate::template::{FragmentRef, FragmentSet};

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

/// What the length of a row's text is the sum of.
pub struct Lengths<'a> {
    literals: usize,
    fields: Vec<&'a TextColumn>,
    /// Of the fragment in each slot the lengths of what is shown of it, by fragment.
    fragments: Vec<(u32, Table)>,
}

impl<'a> Lengths<'a> {
    /// None where a row's text is more than the sum of its pieces.
    fn new(program: &Program, texts: TextLookup<'_, 'a>, tables: &LengthTables) -> Result<Option<Self>> {
        let mut out = Self { literals: 0, fields: Vec::new(), fragments: Vec::new() };
        let mut shown: BTreeMap<(FragmentSet, u32), Vec<u32>> = BTreeMap::new();
        for op in &program.ops {
            match *op {
                Op::Field(column) => out.fields.push(texts(column)?),
                Op::Fragment(FragmentRef { set, slot, part }) => shown.entry((set, slot)).or_default().push(part),
                Op::Lit(start, end) => out.literals += end - start,
                Op::LineIf(_) => return Ok(None),
            }
        }
        for ((set, slot), parts) in shown {
            let Some(table) = tables.of(set, parts) else { return Ok(None) };
            out.fragments.push((slot, table));
        }
        Ok(Some(out))
    }

    #[inline]
    fn of(&self, row: usize, shown: &[u32]) -> usize {
        let fields: usize = self.fields.iter().map(|texts| texts.length(row)).sum();
        let fragments: usize = self.fragments.iter().map(|(slot, table)| table[shown[*slot as usize] as usize]).sum();
        self.literals + fields + fragments
    }
}

impl<'a> BoundProgram<'a> {
    /// Bind a program to the columns' texts and the examples' parts. `may_hold_placeholder` says for each column that is scanned which
    /// of its values could form a placeholder, where any could.
    ///
    /// # Errors
    ///
    /// As `texts`.
    pub fn new(
        program: &'a Program,
        sources: TextSources<'_, 'a>,
        may_hold_placeholder: Vec<&'a [bool]>,
        tables: &LengthTables,
    ) -> Result<Self> {
        let texts = sources.texts;
        let writer = Writer::new(&program.ops, &program.literals, sources)?;
        let guard = |(column, rests): &'a (usize, Vec<Box<[u8]>>)| Ok((texts(*column)?, &rests[..]));
        let guards: Vec<_> = program.guards.iter().map(guard).collect::<Result<_>>()?;
        let lengths = Lengths::new(program, texts, tables)?;
        let checks_fragments =
            program.fragments.iter().any(|place| sources.fragments.of(place.set).any_may_hold_placeholder());
        Ok(Self { program, writer, lengths, may_hold_placeholder, guards, checks_fragments })
    }

    /// Bind a program to a batch's texts, which are checked and looked through.
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
        let mut may_hold_placeholder = Vec::new();
        for column in &program.scanned {
            may_hold_placeholder.extend(batch.may_hold_placeholder(*column)?);
        }
        Self::new(program, sources, may_hold_placeholder, tables)
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

    /// What the lengths of all rows' texts are the sum of, where every row is a plain copy of literals and fields.
    pub fn plain(&self) -> Option<&Lengths<'a>> {
        self.lengths.as_ref().filter(|lengths| self.never_needs_substitution() && lengths.fragments.is_empty())
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

impl Lengths<'_> {
    /// The length that all plain texts have, where it is the same.
    pub fn constant(&self) -> Option<usize> {
        self.fields.is_empty().then_some(self.literals)
    }

    /// The lengths of plain texts in `rows` together.
    pub fn total(&self, rows: Range<usize>) -> usize {
        self.literals * rows.len() + self.fields.iter().map(|texts| texts.total_length(rows.clone())).sum::<usize>()
    }

    /// Add the lengths of plain texts in `rows` to `lengths`, a column at a time.
    pub fn add(&self, rows: Range<usize>, lengths: &mut [usize]) {
        for length in lengths.iter_mut() {
            *length += self.literals;
        }
        for texts in &self.fields {
            texts.add_lengths(rows.clone(), lengths);
        }
    }
}
