//! Fills rows in which copying isn't enough: recursively if the result is certain, else column by column, as the
//! harness does.

use super::recursive_fill::RecursiveFill;
use super::replace::on_character_boundaries;
use super::room::Room;
use crate::error::Result;
use crate::plan::{Fill, Program, Seg, Unit};
use crate::render::fragments::FragmentStores;
use crate::render::input::Batch;
use crate::role::Join;
use crate::template::{Atom, Text};

/// The number of bytes of a text from which on signals are checked before it is searched.
const LONG_TEXT_BYTES: usize = 1 << 20;

/// Fills texts one after the other, in memory that it keeps.
pub struct Filler<'a> {
    batch: &'a Batch<'a>,
    nest: RecursiveFill<'a>,
    /// The current unit.
    text: Vec<u8>,
    /// The unit with a further column filled in.
    next: Vec<u8>,
}

impl<'a> Filler<'a> {
    /// Make a filler for rows of a batch up to `end`.
    pub fn new(batch: &'a Batch<'a>, end: usize) -> Self {
        Self { batch, nest: RecursiveFill::new(batch, end), text: Vec::new(), next: Vec::new() }
    }

    /// Append the text of a whole program in a row to `out`, if there is `room` for it.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text, and for a text that becomes too long.
    pub fn program(
        &mut self,
        program: &Program,
        row: usize,
        row_fragments: &[u32],
        fragments: FragmentStores,
        room: Room,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let batch = self.batch;
        let begin = out.len();
        for fill in &program.fills {
            let unit = match fill {
                Fill::Unit(number) => &program.units[*number],
                Fill::Literal(bytes) => {
                    room.make(out, begin, bytes.len())?;
                    out.extend_from_slice(bytes);
                    continue;
                }
            };
            let start = out.len();
            if unit.join == Join::Line {
                out.push(b'\n');
            }
            let text = out.len();
            if !unit.may_form_placeholder(batch.columns) {
                for seg in &unit.segs {
                    let bytes = match seg {
                        Seg::Lit(s, _) => s.as_bytes(),
                        Seg::Field(column, _) => batch.field(*column, row)?,
                        Seg::Fragment(reference) => fragments.bytes(*reference, row_fragments),
                    };
                    room.make(out, begin, bytes.len())?;
                    out.extend_from_slice(bytes);
                }
            } else if !self.nest.unit(unit, row, row_fragments, fragments, (room, begin), out)? {
                self.by_columns(unit, row, row_fragments, fragments, room)?;
                room.make(out, begin, self.text.len())?;
                out.extend_from_slice(&self.text);
            }
            if out.len() == text {
                out.truncate(start);
            }
        }
        Ok(())
    }

    /// Write the text of a unit to `self.text`, and fill in one column after the other.
    fn by_columns(
        &mut self,
        unit: &Unit,
        row: usize,
        row_fragments: &[u32],
        fragments: FragmentStores,
        room: Room,
    ) -> Result<()> {
        let (batch, text) = (self.batch, &mut self.text);
        text.clear();
        for atom in unit.text.atoms.iter() {
            let bytes = match atom {
                Atom::Lit(s, _) => s.as_bytes(),
                Atom::Fragment(reference) => fragments.bytes(*reference, row_fragments),
                Atom::Field(name) => batch.named(name, row)?,
            };
            room.make_while_filling(text, bytes.len())?;
            text.extend_from_slice(bytes);
        }
        for column in 0..batch.columns.tokens.len() {
            if batch.columns.tokens.none_in(&self.text) {
                break;
            }
            if self.text.len() > LONG_TEXT_BYTES {
                batch.host.check()?;
            }
            self.replace(column, &unit.text, row, room)?;
        }
        Ok(())
    }

    /// Put the field of a column in for each of its tokens.
    fn replace(&mut self, column: usize, unit: &Text, row: usize, room: Room) -> Result<()> {
        let Self { batch, text, next, .. } = self;
        let tokens = &batch.columns.tokens;
        let mut sites = on_character_boundaries(text, tokens.get(column), tokens.find_iter(column, text)).peekable();
        if sites.peek().is_none() {
            return Ok(());
        }
        let value = match batch.columns.fixed(column, unit) {
            Some(by) => by.as_bytes(),
            None => batch.brought_in_field(column, row)?,
        };
        next.clear();
        let mut start = 0;
        for site in sites {
            room.make_while_filling(next, site - start + value.len())?;
            next.extend_from_slice(&text[start..site]);
            next.extend_from_slice(value);
            start = site + tokens.get(column).len();
        }
        room.make_while_filling(next, text.len() - start)?;
        next.extend_from_slice(&text[start..]);
        std::mem::swap(text, next);
        Ok(())
    }
}
