//! Parts of a row's input that its text lacks.
//!
//! A part is what belongs together, such as the content of a message or a call of a tool: items of the only column's
//! lists, and data that the program itself holds. A text lacks a part that isn't blank if none of its bytes comes from
//! the part. Most programs write every part on each of their ways. That is known when they are made, and their rows are
//! never looked at. Of the other programs, what is written is noted while a row is evaluated.

use std::collections::BTreeMap;

use super::column::Column;
use super::gaps::{Gaps, Written};
use super::origins::{Marks, addresses, is_within};
use super::program::Program;
use super::text::{self, Ends};
use super::value::Value;

/// A part that a row's text lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The row, within the batch.
    pub row: usize,
    /// The part of the row's program.
    pub part: u32,
    /// True if bytes that were computed from several parts may be those of this one.
    pub is_doubtful: bool,
}

/// The rows whose texts lack something.
#[derive(Debug, Default)]
pub struct Lacking {
    /// The number of rows that are counted under each key, and the first of them.
    pub rows: BTreeMap<u32, (usize, Vec<usize>)>,
    /// The rows of which it isn't known. They aren't counted.
    pub doubtful: Vec<usize>,
}

impl Lacking {
    /// Count the parts that a row's text lacks; `row` is its number, and at most `most` numbers are kept for each key.
    pub fn add(&mut self, program: &Program, parts: &[LeftOut], row: usize, most: usize) {
        if parts.iter().any(|part| part.is_doubtful) {
            self.doubtful.push(row);
            return;
        }
        let Some(gaps) = &program.gaps else { return };
        let mut keys: Vec<u32> = parts.iter().flat_map(|part| &gaps.parts.keys[part.part as usize]).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (rows, first) = self.rows.entry(key).or_default();
            *rows += 1;
            if first.len() < most {
                first.push(row);
            }
        }
    }
}

impl Gaps {
    /// Return true if the only column's item is a text of more than blanks.
    fn is_filled(&self, part: u32, columns: &[&Column], row: usize) -> bool {
        let items = &self.items[part as usize];
        let Some(list) = columns.first().and_then(|column| column.value(row).list().ok()) else {
            return items.is_empty();
        };
        let is_filled = |item: &u32| match list.get(*item as usize) {
            Value::Str(text) => text::strip(text, Value::None, Ends::Both).is_ok_and(|text| !text.is_empty()),
            _ => false,
        };
        items.is_empty() || items.iter().filter(|item| (**item as usize) < list.len()).any(is_filled)
    }

    /// Return the owner of the memory in which a text lies, if that is the memory of an item or of data.
    fn owner(&self, text: &[u8], columns: &[&Column], row: usize) -> Option<Owner> {
        let following = self.constants.partition_point(|(range, _)| range.start <= text.as_ptr().addr());
        if following > 0 && is_within(&self.constants[following - 1].0, text) {
            return Some(Owner::Part(self.constants[following - 1].1));
        }
        let items = columns.first()?.value(row).list().ok()?;
        let holds = |whole: &[u8]| is_within(&addresses(whole), text);
        let item = items.iter().position(|item| matches!(item, Value::Str(whole) if holds(whole)))?;
        Some(self.parts.items.get(item).copied().flatten().map_or(Owner::Nobody, Owner::Part))
    }
}

/// The owner of a row's item, or of data that a program holds.
enum Owner {
    Part(u32),
    /// An item that belongs to no part, such as a role.
    Nobody,
}

/// Notes the parts that rows' texts lack.
pub(super) struct Seen<'p> {
    programs: &'p [Option<&'p Program>],
    gaps: Option<&'p Gaps>,
    /// For each part of the row's program: true if it has been written, or may have been.
    written: Vec<bool>,
    perhaps: Vec<bool>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'p> Seen<'p> {
    pub(super) fn new(programs: &'p [Option<&'p Program>]) -> Self {
        Self { programs, gaps: None, written: Vec::new(), perhaps: Vec::new(), left_out: Vec::new() }
    }

    /// Note the parts that an expression has written.
    fn note(&mut self, gaps: &Gaps, written: &Written, value: Value, columns: &[&Column], row: usize) {
        for part in &written.surely {
            self.written[*part as usize] = true;
        }
        match written.perhaps[..] {
            [] => return,
            [part] if written.is_single => return self.written[part as usize] = true,
            _ => {}
        }
        let owner = match value {
            Value::Str(text) => gaps.owner(text, columns, row),
            _ => None,
        };
        match owner {
            Some(Owner::Part(part)) => self.written[part as usize] = true,
            Some(Owner::Nobody) => {}
            None => written.perhaps.iter().for_each(|part| self.perhaps[*part as usize] = true),
        }
    }
}

/// Return true if no way of a program writes a part that it may leave out, so that its rows needn't be evaluated.
pub(super) fn are_never_written(program: &Program) -> bool {
    program.gaps.as_ref().is_none_or(|gaps| gaps.are_never_written)
}

impl Marks for Seen<'_> {
    fn begin(&mut self, program: u32) {
        self.gaps = self.programs[program as usize].and_then(|program| program.gaps.as_ref());
        let Some(gaps) = self.gaps else { return };
        if self.written.len() < gaps.parts.count() {
            self.written.resize(gaps.parts.count(), false);
            self.perhaps.resize(gaps.parts.count(), false);
        }
        for part in &gaps.open {
            self.written[*part as usize] = false;
            self.perhaps[*part as usize] = false;
        }
    }

    #[inline]
    fn literal(&mut self, start: usize, end: usize) {
        let Some(gaps) = self.gaps.filter(|gaps| !gaps.literals.is_empty()) else { return };
        let first = gaps.literals.partition_point(|(range, _)| range.end <= start);
        for (_, part) in gaps.literals[first..].iter().take_while(|(range, _)| range.start < end) {
            self.written[*part as usize] = true;
        }
    }

    #[inline]
    fn value(&mut self, node: u32, value: Value, bytes: usize, columns: &[&Column], row: usize) {
        if let Some(gaps) = self.gaps
            && let Some(written) = &gaps.written[node as usize]
            && bytes > 0
        {
            self.note(gaps, written, value, columns, row);
        }
    }

    fn end(&mut self, is_rendered: bool, columns: &[&Column], row: usize) {
        let Some(gaps) = self.gaps.filter(|_| is_rendered) else { return };
        for part in &gaps.open {
            let number = *part as usize;
            if !self.written[number] && gaps.is_filled(*part, columns, row) {
                self.left_out.push(LeftOut { row, part: *part, is_doubtful: self.perhaps[number] });
            }
        }
    }
}
