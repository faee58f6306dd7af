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
