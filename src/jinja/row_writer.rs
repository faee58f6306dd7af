//! Evaluation of a row into pieces.

use super::column::Column;
use super::evaluate::Evaluation;
use super::origins::Marks;
use super::pieces::Chunk;
use super::print;
use super::program::Step;
use super::value::{Bail, Value, Valued};

/// The bytes that texts are slices of.
pub(super) struct Bases<'r> {
    pub(super) all: &'r [&'r [u8]],
    /// The base of the first program's literals.
    pub(super) literals: u32,
}

impl Bases<'_> {
    /// Return the base that a text is part of, and the text's offset in it. The base at `hint` is tried first.
    #[inline]
    fn find(&self, text: &[u8], hint: &mut usize) -> Option<(u32, usize)> {
        let address = text.as_ptr().addr();
        let within = |base: &[u8]| {
            let offset = address.wrapping_sub(base.as_ptr().addr());
            (offset < base.len() && text.len() <= base.len() - offset).then_some(offset)
        };
        if let Some(offset) = within(self.all.get(*hint)?) {
            return Some((*hint as u32, offset));
        }
        // Rows read their texts in the same order, so the next text is probably in the next base.
        let (before, after) = (0..*hint, *hint + 1..self.all.len());
        let (number, offset) = after.chain(before).find_map(|n| Some((n, within(self.all[n])?)))?;
        *hint = number;
        Some((number as u32, offset))
    }
}

/// Evaluates a row into pieces.
pub(super) struct RowWriter<'r, 'c, M> {
    pub(super) evaluation: Evaluation<'r>,
    pub(super) bases: &'c Bases<'c>,
    pub(super) literals: u32,
    pub(super) chunk: &'c mut Chunk,
    /// The number of pieces before those of the row.
    pub(super) first: usize,
    pub(super) hint: usize,
    pub(super) columns: &'c [&'r Column<'r>],
    pub(super) row: usize,
    pub(super) marks: &'c mut M,
}

impl<M: Marks> RowWriter<'_, '_, M> {
    /// Run the steps of a program for the row.
    pub(super) fn steps(&mut self, steps: &[Step]) -> Valued<()> {
        for step in steps {
            match step {
                Step::Literal(start, end) => {
                    self.chunk.slice(self.literals, *start, end - start);
                    self.marks.literal(*start, *end);
                }
                Step::Emit(node) => {
                    let value = self.evaluation.value(*node)?;
                    self.emit(*node, value)?;
                }
                Step::EmitText(node) => {
                    let text = self.evaluation.value(*node)?.str()?;
                    self.emit(*node, Value::Str(text))?;
                }
                Step::Check(node) => {
                    self.evaluation.value(*node)?;
                }
                Step::If(node, then, otherwise) => {
                    let holds = self.evaluation.value(*node)?.truth()?;
                    self.steps(if holds { then } else { otherwise })?;
                }
                Step::Bail(reason) => return Err(Bail(*reason)),
            }
        }
        Ok(())
    }

    #[inline]
    fn emit(&mut self, node: u32, value: Value) -> Valued<()> {
        if let Value::Str(text) = value
            && let Some((base, start)) = self.bases.find(text, &mut self.hint)
        {
            self.chunk.slice(base, start, text.len());
            self.marks.value(node, value, text.len(), self.columns, self.row);
            return Ok(());
        }
        let start = self.chunk.computed.len();
        print::text(value, &mut self.chunk.computed, self.evaluation.scratch)?;
        self.evaluation.scratch.spend(self.chunk.computed.len() - start)?;
        let bytes = self.chunk.computed.len() - start;
        self.chunk.computed_from(start, self.first);
        self.marks.value(node, value, bytes, self.columns, self.row);
        Ok(())
    }
}
