//! Computes the lengths of texts before the texts are written.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Result;
use crate::plan::{Op, Program};
use crate::python_text::TextColumn;
use crate::render::copying::TextLookup;
use crate::render::fragments::{LengthTables, Table};
use crate::template::{FragmentRef, FragmentSet};

/// The terms whose sum is the length of a row's text.
pub struct Lengths<'a> {
    literals: usize,
    fields: Vec<&'a TextColumn>,
    /// The lengths of the shown parts of each fragment, for the fragment in each slot.
    fragments: Vec<(u32, Table)>,
}

impl<'a> Lengths<'a> {
    /// Collect the lengths of a program's pieces; None if a row's text is more than the sum of its pieces.
    ///
    /// # Errors
    ///
    /// The errors of `texts`.
    pub fn new(program: &Program, texts: TextLookup<'_, 'a>, tables: &LengthTables) -> Result<Option<Self>> {
        let mut out = Self { literals: 0, fields: Vec::new(), fragments: Vec::new() };
        let mut parts_of_slots: BTreeMap<(FragmentSet, u32), Vec<u32>> = BTreeMap::new();
        for op in &program.ops {
            match *op {
                Op::Field(column) => out.fields.push(texts(column)?),
                Op::Fragment(FragmentRef { set, slot, part }) => {
                    parts_of_slots.entry((set, slot)).or_default().push(part);
                }
                Op::Lit(start, end) => out.literals += end - start,
                Op::LineIf(_) => return Ok(None),
            }
        }
        for ((set, slot), parts) in parts_of_slots {
            let Some(table) = tables.of(set, parts) else { return Ok(None) };
            out.fragments.push((slot, table));
        }
        Ok(Some(out))
    }

    /// Return the length of a row's text.
    #[inline]
    pub fn of(&self, row: usize, row_fragments: &[u32]) -> usize {
        let fields: usize = self.fields.iter().map(|texts| texts.length(row)).sum();
        let fragments: usize =
            self.fragments.iter().map(|(slot, table)| table[row_fragments[*slot as usize] as usize]).sum();
        self.literals + fields + fragments
    }

    /// Return true if any text shows fragments.
    pub fn have_fragments(&self) -> bool {
        !self.fragments.is_empty()
    }

    /// Return the length of all plain texts, if it is the same for all.
    pub fn constant(&self) -> Option<usize> {
        self.fields.is_empty().then_some(self.literals)
    }

    /// Return the total length of plain texts in `rows`.
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
