//! Writes short texts one after the other into memory that is large enough, so that nothing has to grow.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::kept::Kept;
use super::slices::Slices;
use crate::error::Result;

/// The memory for one text. The text's length says which of the bytes belong to it.
pub(super) type Slot = [u8; SLOT_BYTES];

/// The size of a slot, which is more than any number or timestamp needs.
pub(super) const SLOT_BYTES: usize = 32;

/// So many texts are collected before they are appended.
const BLOCK_TEXTS: usize = 256;

/// Texts one after the other.
#[derive(Debug)]
pub(super) struct Printed {
    /// The bytes of all texts.
    pub(super) data: Kept<u8>,
    /// The beginning of each text, and the end of the last one.
    narrow: Kept<i32>,
    /// The same for all texts, as soon as 32 bits don't suffice.
    wide: Vec<i64>,
}

impl Printed {
    /// Begin without texts, in memory for about so many.
    pub(super) fn new(texts: usize) -> Self {
        let mut narrow = Kept::<i32>::new();
        narrow.reserve(texts + 1);
        narrow.push(0);
        Self { data: Kept::<u8>::new(), narrow, wide: Vec::new() }
    }

    /// End a text: it consists of the bytes that were appended since the last text.
    #[inline]
    pub(super) fn end(&mut self) {
        self.end_at(self.data.len());
    }

    #[inline]
    fn end_at(&mut self, offset: usize) {
        match i32::try_from(offset) {
            Ok(end) if self.wide.is_empty() => self.narrow.push(end),
            _ => self.end_far(offset),
        }
    }

    #[cold]
    fn end_far(&mut self, offset: usize) {
        if self.wide.is_empty() {
            self.wide.extend(self.narrow.iter().map(|start| i64::from(*start)));
        }
        self.wide.push(offset as i64);
    }

    /// Append the text of each row: `read` converts a row's value, and `write` writes the result at the beginning of
    /// the slot and returns the length.
    ///
    /// Many values are read before the first is written. A timestamp takes a chain of divisions and then a chain of
    /// operations on digits, and the processor overlaps those of several rows only if each chain is short.
    ///
    /// # Errors
    ///
    /// The first error of `read`, with its row.
    #[inline]
    pub(super) fn fill<V: Copy + Default>(
        &mut self,
        rows: Range<usize>,
        mut read: impl FnMut(usize) -> Result<V>,
        mut write: impl FnMut(usize, V, &mut Slot) -> usize,
    ) -> Result<()> {
        let mut values = [V::default(); BLOCK_TEXTS];
        let mut block = [0; BLOCK_TEXTS * SLOT_BYTES];
        let mut ends = [0; BLOCK_TEXTS];
        for first in rows.clone().step_by(BLOCK_TEXTS) {
            let block_rows = first..(first + BLOCK_TEXTS).min(rows.end);
            let (mut offset, count) = (0, block_rows.len());
            for (row, value) in block_rows.clone().zip(&mut values) {
                *value = read(row).map_err(|error| error.at_row(row))?;
            }
            for ((row, value), end) in block_rows.zip(&values).zip(&mut ends) {
                // There is always room for so many texts.
                let Some(slot) = block.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) else { break };
                offset += write(row, *value, slot).min(SLOT_BYTES);
                *end = offset as u32;
            }
            self.append(&block[..offset], &ends[..count]);
        }
        Ok(())
    }

    /// Append texts that stand one after the other, each with its end in `block`. It isn't generic, because it would be
    /// compiled for each type of values.
    fn append(&mut self, block: &[u8], ends: &[u32]) {
        let before = self.data.len();
        self.data.extend_from_slice(block);
        if self.wide.is_empty() && i32::try_from(self.data.len()).is_ok() {
            self.narrow.extend(ends.iter().map(|end| before as i32 + *end as i32));
        } else {
            for end in ends {
                self.end_at(before + *end as usize);
            }
        }
    }

    /// Join parts that were printed separately.
    pub(super) fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let Some(mut all) = parts.next() else { return Self::new(0) };
        let parts: Vec<Self> = parts.collect();
        all.data.reserve(parts.iter().map(|part| part.data.len()).sum());
        for part in parts {
            let before = all.data.len();
            all.data.extend_from_slice(&part.data);
            if part.wide.is_empty() && all.wide.is_empty() && i32::try_from(all.data.len()).is_ok() {
                all.narrow.extend(part.narrow[1..].iter().map(|end| before as i32 + *end));
            } else if part.wide.is_empty() {
                part.narrow[1..].iter().for_each(|end| all.end_at(before + *end as usize));
            } else {
                part.wide[1..].iter().for_each(|end| all.end_at(before + *end as usize));
            }
        }
        all
    }

    /// Return the texts as slices.
    pub(super) fn into_slices(self) -> Slices {
        let data = self.data.into_buffer();
        if self.wide.is_empty() {
            Slices::Narrow { offsets: ScalarBuffer::from(self.narrow.into_buffer()), data }
        } else {
            Slices::Wide { offsets: ScalarBuffer::from(self.wide), data }
        }
    }
}

/// Append a text that `put` writes into a slot, whose length it returns. No bytes are copied afterwards.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, put: impl FnOnce(&mut Slot) -> usize) {
    let start = out.len();
    out.extend_from_slice(&[0; SLOT_BYTES]);
    let Some(slot) = out[start..].first_chunk_mut() else { return };
    let len = put(slot);
    out.truncate(start + len);
}

/// Put a short text into a slot, or into the rest of one, and return its length. Bytes beyond the slot's end are
/// dropped.
#[inline]
pub(super) fn put<const ROOM: usize>(text: &[u8], slot: &mut [u8; ROOM]) -> usize {
    let len = text.len().min(ROOM);
    let text = &text[..len];
    // Two copies of fixed size, which may overlap, are faster than one of unknown size.
    if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        slot[..16].copy_from_slice(first);
        slot[len - 16..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        slot[..8].copy_from_slice(first);
        slot[len - 8..len].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        slot[..4].copy_from_slice(first);
        slot[len - 4..len].copy_from_slice(last);
    } else if let [first, .., last] = text {
        slot[..3].copy_from_slice(&[*first, text[len / 2], *last]);
        slot[len - 1] = *last;
    } else if let [only] = text {
        slot[0] = *only;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

    fn printed(rows: Range<usize>) -> Printed {
        let mut printed = Printed::new(rows.len());
        printed.fill(rows, Ok, |_, row: usize, slot| put(&TEXT[..row % 33], slot)).unwrap();
        printed
    }

    #[test]
    fn texts_of_every_length_in_blocks_and_parts() {
        for parts in [vec![], vec![3..999, 999..1000], vec![3..300, 300..300, 300..999, 999..1000]] {
            let slices = Printed::joined(parts.iter().cloned().map(printed).collect()).into_slices();
            for (n, row) in parts.into_iter().flatten().enumerate() {
                assert_eq!(slices.get(n), &TEXT[..row % 33]);
            }
        }
    }

    #[test]
    fn far_texts_have_wide_offsets() {
        let mut first = printed(1..4);
        first.end_far(6);
        let Slices::Wide { offsets, .. } = Printed::joined(vec![first, printed(1..3)]).into_slices() else { panic!() };
        assert_eq!(offsets[..], [0, 1, 3, 6, 6, 7, 9]);
    }

    #[test]
    fn slots_are_appended() {
        let mut out = b"a".to_vec();
        append(&mut out, |slot| put(b"bc", slot));
        assert_eq!(out, b"abc");
    }
}
