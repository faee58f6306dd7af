//! How long texts are, before any of them is written.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Result;
use crate::plan::{Op, Program};
use crate::pytext::TextColumn;
use crate::render::copying::TextLookup;
use crate::render::fragments::{LengthTables, Table};
use crate::template::{FragmentRef, FragmentSet};

/// What the length of a row's text is the sum of.
pub struct Lengths<'a> {
    literals: usize,
    fields: Vec<&'a TextColumn>,
    /// Of the fragment in each slot the lengths of what is shown of it, by fragment.
    fragments: Vec<(u32, Table)>,
}

impl<'a> Lengths<'a> {
    /// Those of a program; None where a row's text is more than the sum of its pieces.
    ///
    /// # Errors
    ///
    /// As `texts`.
    pub fn new(program: &Program, texts: TextLookup<'_, 'a>, tables: &LengthTables) -> Result<Option<Self>> {
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

    /// The length of a row's text.
    #[inline]
    pub fn of(&self, row: usize, shown: &[u32]) -> usize {
        let fields: usize = self.fields.iter().map(|texts| texts.length(row)).sum();
        let fragments: usize = self.fragments.iter().map(|(slot, table)| table[shown[*slot as usize] as usize]).sum();
        self.literals + fields + fragments
    }

    /// Whether any text shows fragments.
    pub fn have_fragments(&self) -> bool {
        !self.fragments.is_empty()
    }

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
