//! Lists of structs with a role and a content, whose texts stay where they are.
//!
//! The holes of such a conversation are the contents of its messages: the lists' own offsets over the contents. A row
//! is compared with those before it, and seldom looked up.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_schema::DataType;

use super::reading::Reading;
use super::shapes::NO_SHAPE;
use crate::error::Result;
use crate::pytext::{Offsets, TextColumn};

/// So many rows of other shapes are kept to compare with.
const COMPARED: usize = 8;
/// So many rows are compared with the last one at a look.
const BLOCK_ROWS: usize = 256;

/// The messages of a column of such conversations.
pub struct Plain {
    /// What is written before the role of a message, between role and content, or the other way round, and behind.
    frame: [String; 3],
    role_first: bool,
    roles: TextColumn,
    /// What the messages say.
    pub contents: ArrayRef,
}

impl Plain {
    /// The messages, if they are plain: structs with a role and a content that are strings, or ShareGPT's `from` and
    /// `value`, none of them null, and nothing else but nulls.
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
        let own = [role.0, content.0];
        let mut fields = messages.fields().iter().zip(messages.columns());
        if messages.null_count() > 0 || !fields.all(|(field, column)| own.contains(&&**field.name()) || is_null(column))
        {
            return Ok(None);
        }
        let (mut frame, mut at) = ([String::from("{"), String::new(), String::new()], 0);
        let mut role_first = true;
        for (n, field) in messages.fields().iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            frame[at].push_str(comma);
            frame[at].push_str(&serde_json::Value::from(&**field.name()).to_string());
            frame[at].push(':');
            if own.contains(&&**field.name()) {
                role_first = if at == 0 { field.name() == role.0 } else { role_first };
                at += 1;
            } else {
                frame[at].push_str("null");
            }
        }
        frame[2].push('}');
        let roles = TextColumn::new(role.1)?;
        Ok(Some(Self { frame, role_first, roles, contents: content.1.clone() }))
    }

    /// Read conversations by the messages that each has; a row without any isn't there.
    pub fn read(&self, rows: impl Iterator<Item = Option<Range<usize>>>, reading: &mut Reading) {
        let mut known: Vec<(Range<usize>, u32)> = Vec::with_capacity(COMPARED);
        let mut rows = rows;
        let mut block: Vec<Option<Range<usize>>> = Vec::with_capacity(BLOCK_ROWS);
        loop {
            block.clear();
            block.extend(rows.by_ref().take(BLOCK_ROWS));
            if block.is_empty() {
                return;
            }
            match known.first() {
                Some((last, id)) if self.all_same(last, &block) => reading.repeat(*id, block.len()),
                _ => self.read_block(block.drain(..), &mut known, reading),
            }
        }
    }

    fn read_block(
        &self,
        rows: impl Iterator<Item = Option<Range<usize>>>,
        known: &mut Vec<(Range<usize>, u32)>,
        reading: &mut Reading,
    ) {
        for messages in rows {
            let Some(messages) = messages else {
                reading.push(NO_SHAPE);
                continue;
            };
            if let Some(at) = known.iter().position(|(other, _)| self.same(other, &messages)) {
                reading.push(known[at].1);
                known[..=at].rotate_right(1);
                continue;
            }
            reading.row(|reading| {
                self.write(messages.clone(), reading);
                Some(())
            });
            let id = reading.ids.last().copied().unwrap_or(NO_SHAPE);
            if id != NO_SHAPE {
                known.truncate(COMPARED - 1);
                known.insert(0, (messages, id));
            }
        }
    }

    /// Whether rows that lie one behind the other all have the shape of `one`: as most tables' have, whose conversations
    /// differ in what is said alone.
    fn all_same(&self, one: &Range<usize>, rows: &[Option<Range<usize>>]) -> bool {
        let Some(Some(first)) = rows.first() else { return false };
        let mut at = first.start;
        let follow = rows.iter().all(|row| {
            let starts = row.as_ref().is_some_and(|row| row.start == at && row.len() == one.len());
            at += one.len();
            starts
        });
        if !follow || !self.same(one, first) {
            return false;
        }
        match self.roles.plain() {
            Some((Offsets::Narrow(offsets), data)) => repeats(&offsets[first.start..=at], data, one.len()),
            Some((Offsets::Wide(offsets), data)) => repeats(&offsets[first.start..=at], data, one.len()),
            None => false,
        }
    }

    #[inline]
    fn same(&self, one: &Range<usize>, other: &Range<usize>) -> bool {
        match self.roles.plain() {
            _ if one.len() != other.len() => return false,
            Some((Offsets::Narrow(offsets), data)) => return same_texts(offsets, data, one, other),
            Some((Offsets::Wide(offsets), data)) => return same_texts(offsets, data, one, other),
            None => {}
        }
        let mut pairs = one.clone().zip(other.clone());
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

/// Whether as many texts that lie one behind the other are the same: all of their bytes, and where each ends.
#[inline]
fn same_texts<O: OffsetSizeTrait>(offsets: &[O], data: &[u8], one: &Range<usize>, other: &Range<usize>) -> bool {
    let (ends, others) = (&offsets[one.start..=one.end], &offsets[other.start..=other.end]);
    let bytes = |ends: &[O]| &data[ends[0].as_usize()..ends[ends.len() - 1].as_usize()];
    let mut both = ends.iter().zip(others);
    both.all(|(end, other)| *end - ends[0] == *other - others[0]) && bytes(ends) == bytes(others)
}

/// Whether texts that lie one behind the other, with these ends, come again after each `count` of them.
fn repeats<O: OffsetSizeTrait>(ends: &[O], data: &[u8], count: usize) -> bool {
    let (begin, end) = (ends[0].as_usize(), ends[ends.len() - 1].as_usize());
    let bytes = ends[count].as_usize() - begin;
    // As they lie, which the compiler turns into vector code.
    let apart = ends[count].sub(ends[0]);
    ends[count..].iter().zip(ends).fold(true, |same, (later, end)| same & (later.sub(*end) == apart))
        && data[begin + bytes..end] == data[begin..end - bytes]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{LargeStringArray, StringArray};

    use super::*;
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
        // Rows of two messages, but for what is changed in some row: a role, where a role ends, how many there are.
        let changes: [&[&str]; 6] =
            [&["user", "assistant"], &["usera", "ssistant"], &["user", "assistanT"], &["user"], &["", "x", "y"], &[]];
        for (n, change) in changes.iter().enumerate() {
            for at in [0, 1, 255, 256, 257, 600, 1023] {
                let rows: Vec<&[&str]> = (0..1024).map(|row| if row == at { change } else { changes[0] }).collect();
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
                    let mut reading = Reading::new(&shapes);
                    // A shape has a number from the second time on.
                    plain.read(ranges.iter().cloned().map(Some), &mut Reading::new(&shapes));
                    plain.read(ranges.iter().cloned().map(Some), &mut reading);
                    assert_eq!(reading.ids.len(), 1024);
                    let usual = reading.ids[usize::from(at == 0)];
                    for (row, id) in reading.ids.iter().enumerate() {
                        assert_eq!(*id == usual, row != at || n == 0, "{change:?} in row {at}: row {row}");
                    }
                }
            }
        }
    }
}
