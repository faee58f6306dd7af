//! Lists of structs with a role and a content, whose texts aren't copied.
//!
//! The slots of such a conversation are the contents of its messages, so the offsets of the lists apply to the
//! contents. A row's roles are compared with those of rows before it, so a shape is seldom looked up.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_schema::DataType;
use foldhash::fast::FixedState;

use super::reading::Reading;
use super::shapes::NO_SHAPE;
use crate::error::Result;
use crate::python_text::{Offsets, TextColumn};

/// So many rows of different shapes are kept for comparison.
const COMPARED: usize = 4096;
/// So many rows are compared with the last shape at once.
const BLOCK_ROWS: usize = 256;

/// The messages of rows that were read before, with the numbers of their shapes.
#[derive(Default)]
struct Recent {
    last: Option<(Range<usize>, u32)>,
    /// A row of each shape, by the hash of its roles.
    by_hash: HashMap<u64, (Range<usize>, u32), FixedState>,
}

/// The messages of a column of such conversations.
pub struct Plain {
    /// The text before the first of role and content, between the two, and after the second.
    frame: [String; 3],
    role_first: bool,
    roles: TextColumn,
    /// The contents of the messages.
    pub contents: ArrayRef,
}

impl Plain {
    /// Take the messages if they are plain: structs with a role and a content that are strings, or ShareGPT's `from`
    /// and `value`. Neither may be null, and all other fields have to be null.
    ///
    /// # Errors
    ///
    /// `RenderError` with the message whose role isn't sound.
    pub fn new(messages: &StructArray) -> Result<Option<Self>> {
        let text = |name: &'static str| {
            let column = messages.column_by_name(name)?;
            let is_text = matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
            (is_text && column.null_count() == 0).then_some((name, column))
        };
        let both = |role, content| Some((text(role)?, text(content)?));
        let Some((role, content)) = both("role", "content").or_else(|| both("from", "value")) else { return Ok(None) };
        let is_null = |column: &ArrayRef| column.logical_null_count() == column.len();
        let names = [role.0, content.0];
        let mut fields = messages.fields().iter().zip(messages.columns());
        if messages.null_count() > 0
            || !fields.all(|(field, column)| names.contains(&&**field.name()) || is_null(column))
        {
            return Ok(None);
        }
        let (mut frame, mut part) = ([String::from("{"), String::new(), String::new()], 0);
        let mut role_first = true;
        for (n, field) in messages.fields().iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            frame[part].push_str(comma);
            frame[part].push_str(&serde_json::Value::from(&**field.name()).to_string());
            frame[part].push(':');
            if names.contains(&&**field.name()) {
                role_first = if part == 0 { field.name() == role.0 } else { role_first };
                part += 1;
            } else {
                frame[part].push_str("null");
            }
        }
        frame[2].push('}');
        let roles = TextColumn::new(role.1)?;
        Ok(Some(Self { frame, role_first, roles, contents: content.1.clone() }))
    }

    /// Read conversations, given the range of messages of each; None stands for a missing one.
    pub fn read(&self, rows: impl Iterator<Item = Option<Range<usize>>>, reading: &mut Reading) {
        let mut recent = Recent::default();
        let mut rows = rows;
        let mut block: Vec<Option<Range<usize>>> = Vec::with_capacity(BLOCK_ROWS);
        loop {
            block.clear();
            block.extend(rows.by_ref().take(BLOCK_ROWS));
            if block.is_empty() {
                return;
            }
            match &recent.last {
                Some((last, id)) if self.all_same(last, &block) => reading.repeat(*id, block.len()),
                _ => self.read_block(block.drain(..), &mut recent, reading),
            }
        }
    }

    fn read_block(&self, rows: impl Iterator<Item = Option<Range<usize>>>, recent: &mut Recent, reading: &mut Reading) {
        for messages in rows {
            let Some(messages) = messages else {
                reading.push(NO_SHAPE);
                continue;
            };
            if let Some((last, id)) = &recent.last
                && self.same(last, &messages)
            {
                reading.push(*id);
                continue;
            }
            let hash = self.hash(&messages);
            if let Some((other, id)) = recent.by_hash.get(&hash)
                && self.same(other, &messages)
            {
                reading.push(*id);
                recent.last = Some((other.clone(), *id));
                continue;
            }
            if messages.clone().any(|message| reading.shapes.opened.is_call(self.roles.bytes(message))) {
                reading.has_unopened = true;
            }
            reading.row(|reading| {
                self.write(messages.clone(), reading);
                Some(())
            });
            let id = reading.ids.last().copied().unwrap_or(NO_SHAPE);
            if id != NO_SHAPE {
                if recent.by_hash.len() < COMPARED {
                    recent.by_hash.insert(hash, (messages.clone(), id));
                }
                recent.last = Some((messages, id));
            }
        }
    }

    /// Return true if adjacent rows all have the shape of `first_messages`. Most tables are like that: their
    /// conversations differ only in their contents.
    fn all_same(&self, model: &Range<usize>, rows: &[Option<Range<usize>>]) -> bool {
        let Some(Some(first)) = rows.first() else { return false };
        let mut end = first.start;
        let follow = rows.iter().all(|row| {
            let starts = row.as_ref().is_some_and(|row| row.start == end && row.len() == model.len());
            end += model.len();
            starts
        });
        if !follow || !self.same(model, first) {
            return false;
        }
        match self.roles.plain() {
            Some((Offsets::Narrow(offsets), data)) => repeats(&offsets[first.start..=end], data, model.len()),
            Some((Offsets::Wide(offsets), data)) => repeats(&offsets[first.start..=end], data, model.len()),
            None => false,
        }
    }

    /// Return a hash of the roles of some messages.
    fn hash(&self, messages: &Range<usize>) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        for message in messages.clone() {
            let role = self.roles.bytes(message);
            hasher.write_usize(role.len());
            hasher.write(role);
        }
        hasher.finish()
    }

    #[inline]
    fn same(&self, first: &Range<usize>, second: &Range<usize>) -> bool {
        match self.roles.plain() {
            _ if first.len() != second.len() => return false,
            Some((Offsets::Narrow(offsets), data)) => return same_texts(offsets, data, first, second),
            Some((Offsets::Wide(offsets), data)) => return same_texts(offsets, data, first, second),
            None => {}
        }
        let mut pairs = first.clone().zip(second.clone());
        pairs.all(|(a, b)| self.roles.bytes(a) == self.roles.bytes(b))
    }

    fn write(&self, messages: Range<usize>, reading: &mut Reading) {
        reading.json("[");
        for (n, message) in messages.enumerate() {
            reading.json(if n > 0 { "," } else { "" });
            reading.json(&self.frame[0]);
            // The texts have been checked.
            let role = str::from_utf8(self.roles.bytes(message)).unwrap_or_default();
            if self.role_first {
                reading.string(role);
                reading.json(&self.frame[1]);
                reading.json("\"?\"");
            } else {
                reading.json("\"?\"");
                reading.json(&self.frame[1]);
                reading.string(role);
            }
            reading.json(&self.frame[2]);
        }
        reading.json("]");
    }
}

/// Return true if two ranges of adjacent texts are equal, with their bytes and their ends.
#[inline]
fn same_texts<O: OffsetSizeTrait>(offsets: &[O], data: &[u8], first: &Range<usize>, second: &Range<usize>) -> bool {
    let (ends, others) = (&offsets[first.start..=first.end], &offsets[second.start..=second.end]);
    let bytes = |ends: &[O]| &data[ends[0].as_usize()..ends[ends.len() - 1].as_usize()];
    let mut both = ends.iter().zip(others);
    both.all(|(end, other)| *end - ends[0] == *other - others[0]) && bytes(ends) == bytes(others)
}

/// Return true if adjacent texts with these ends repeat after each `count` of them.
fn repeats<O: OffsetSizeTrait>(ends: &[O], data: &[u8], count: usize) -> bool {
    let (begin, end) = (ends[0].as_usize(), ends[ends.len() - 1].as_usize());
    let bytes = ends[count].as_usize() - begin;
    // Compare the ends without branches, so that the compiler makes vector code.
    let apart = ends[count].sub(ends[0]);
    ends[count..].iter().zip(ends).fold(true, |same, (later, end)| same & (later.sub(*end) == apart))
        && data[begin + bytes..end] == data[begin..end - bytes]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{LargeStringArray, StringArray};

    use super::*;
    use crate::conversations::location::Opening;
    use crate::conversations::shapes::Shapes;

    fn plain(roles: ArrayRef) -> Plain {
        let contents: ArrayRef = Arc::new(StringArray::from(vec!["said"; roles.len()]));
        let field =
            |name: &str, array: &ArrayRef| Arc::new(arrow_schema::Field::new(name, array.data_type().clone(), true));
        let fields = vec![field("role", &roles), field("content", &contents)];
        Plain::new(&StructArray::new(fields.into(), vec![roles, contents], None)).unwrap().unwrap()
    }

    #[test]
    fn rows_that_are_compared_together_have_the_shapes_that_they_have_alone() {
        // Rows of two messages; in one row a role, the end of a role, or the number of messages is changed.
        let changes: [&[&str]; 6] =
            [&["user", "assistant"], &["usera", "ssistant"], &["user", "assistanT"], &["user"], &["", "x", "y"], &[]];
        for (n, change) in changes.iter().enumerate() {
            for changed in [0, 1, 255, 256, 257, 600, 1023] {
                let rows: Vec<&[&str]> =
                    (0..1024).map(|row| if row == changed { change } else { changes[0] }).collect();
                let roles: Vec<&str> = rows.concat();
                let mut end = 0;
                let ranges: Vec<Range<usize>> = rows
                    .iter()
                    .map(|row| {
                        end += row.len();
                        end - row.len()..end
                    })
                    .collect();
                for array in
                    [Arc::new(StringArray::from(roles.clone())) as ArrayRef, Arc::new(LargeStringArray::from(roles))]
                {
                    let (plain, shapes) = (plain(array), Shapes::new(100, 1 << 20));
                    let mut reading = Reading::new(&shapes, Opening::Messages);
                    // A shape has a number from its second occurrence on.
                    plain.read(ranges.iter().cloned().map(Some), &mut Reading::new(&shapes, Opening::Messages));
                    plain.read(ranges.iter().cloned().map(Some), &mut reading);
                    assert_eq!(reading.ids.len(), 1024);
                    let usual = reading.ids[usize::from(changed == 0)];
                    for (row, id) in reading.ids.iter().enumerate() {
                        assert_eq!(*id == usual, row != changed || n == 0, "{change:?} in row {changed}: row {row}");
                    }
                }
            }
        }
    }
}
