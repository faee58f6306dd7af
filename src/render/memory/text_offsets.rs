//! Where rendered texts start, as Arrow has offsets: what is written here becomes an array's without a copy.

use arrow_buffer::ScalarBuffer;

use super::pages::{Bytes, reserved};
use crate::error::Result;

/// The bytes of an offset of 32 bits.
const NARROW: usize = size_of::<i32>();

/// Where each text starts, and behind the last one where it ends.
#[derive(Debug)]
pub enum TextOffsets {
    /// 32 bits each, one after the other.
    Narrow(Bytes),
    /// Those of more than 2 GiB, or that grow.
    Wide(Vec<usize>),
}

/// Room for some of them.
pub enum OffsetSlots<'a> {
    /// Of 32 bits.
    Narrow(&'a mut [[u8; NARROW]]),
    /// Of 64.
    Wide(&'a mut [usize]),
}

/// Room for one.
pub trait OffsetSlot {
    /// Put one down.
    fn set(&mut self, offset: usize);
}

impl OffsetSlot for [u8; NARROW] {
    #[inline]
    fn set(&mut self, offset: usize) {
        *self = (offset as i32).to_ne_bytes();
    }
}

impl OffsetSlot for usize {
    #[inline]
    fn set(&mut self, offset: usize) {
        *self = offset;
    }
}

impl Default for TextOffsets {
    fn default() -> Self {
        Self::Wide(Vec::new())
    }
}

impl From<Vec<usize>> for TextOffsets {
    fn from(offsets: Vec<usize>) -> Self {
        Self::Wide(offsets)
    }
}

impl TextOffsets {
    /// Room for those of so many texts, the first one written, where all texts have `total` bytes.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn new(texts: usize, total: usize) -> Result<Self> {
        let count = texts + 1;
        if i32::try_from(total).is_err() {
            let mut offsets = reserved(count)?;
            offsets.resize(count, 0);
            return Ok(Self::Wide(offsets));
        }
        let mut offsets = Bytes::new(count * NARROW)?;
        offsets[..NARROW].fill(0);
        Ok(Self::Narrow(offsets))
    }

    /// Those of texts one behind the other as those of all, which have `total` bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn joined(parts: &[Self], total: usize) -> Result<Self> {
        fn put(slots: &mut [impl OffsetSlot], part: &TextOffsets, at: usize) {
            match part {
                TextOffsets::Narrow(bytes) => {
                    let ends = &bytes.as_chunks().0[1..];
                    slots.iter_mut().zip(ends).for_each(|(slot, end)| slot.set(at + i32::from_ne_bytes(*end) as usize));
                }
                TextOffsets::Wide(all) => slots.iter_mut().zip(&all[1..]).for_each(|(slot, end)| slot.set(at + end)),
            }
        }
        let counts = || parts.iter().map(|part| part.len() - 1);
        let mut offsets = Self::new(counts().sum(), total)?;
        let mut at = 0;
        for (slots, part) in offsets.split_mut(counts()).into_iter().zip(parts) {
            match slots {
                OffsetSlots::Narrow(slots) => put(slots, part, at),
                OffsetSlots::Wide(slots) => put(slots, part, at),
            }
            at += part.last().unwrap_or(0);
        }
        Ok(offsets)
    }

    /// Room for all but the first, in pieces of these sizes.
    pub fn split_mut(&mut self, sizes: impl Iterator<Item = usize>) -> Vec<OffsetSlots<'_>> {
        match self {
            Self::Narrow(bytes) => {
                let mut rest = &mut bytes.as_chunks_mut().0[1..];
                sizes.filter_map(|size| rest.split_off_mut(..size)).map(OffsetSlots::Narrow).collect()
            }
            Self::Wide(all) => {
                let mut rest = &mut all[1..];
                sizes.filter_map(|size| rest.split_off_mut(..size)).map(OffsetSlots::Wide).collect()
            }
        }
    }

    /// How many there are: one more than texts.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(bytes) => bytes.len() / NARROW,
            Self::Wide(all) => all.len(),
        }
    }

    /// One of them.
    #[inline]
    pub fn get(&self, n: usize) -> usize {
        match self {
            Self::Narrow(bytes) => i32::from_ne_bytes(bytes.as_chunks().0[n]) as usize,
            Self::Wide(all) => all[n],
        }
    }

    /// Where a text starts and where it ends.
    #[inline]
    pub fn text(&self, n: usize) -> (usize, usize) {
        (self.get(n), self.get(n + 1))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// The end of all texts.
    pub fn last(&self) -> Option<usize> {
        self.len().checked_sub(1).map(|last| self.get(last))
    }

    /// Append one.
    pub fn push(&mut self, offset: usize) {
        if let Self::Narrow(_) = self {
            *self = Self::Wide(self.iter().collect());
        }
        if let Self::Wide(all) = self {
            all.push(offset);
        }
    }

    /// Those of 32 bits for Arrow, and the others as they are.
    pub(super) fn into_scalars(self) -> Result<ScalarBuffer<i32>, Vec<usize>> {
        match self {
            Self::Wide(all) => Err(all),
            // Nothing says where a small block begins.
            Self::Narrow(Bytes::Small(small)) => {
                Ok(small.as_chunks().0.iter().map(|o| i32::from_ne_bytes(*o)).collect())
            }
            Self::Narrow(large) => {
                let count = large.len() / NARROW;
                Ok(ScalarBuffer::new(large.into_buffer(), 0, count))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_any_width_and_number_come_back() {
        for (texts, total) in [(0, 0), (3, 30), (3, 1 << 40), (600_000, 600_000 * 10)] {
            let mut offsets = TextOffsets::new(texts, total).expect("a few megabytes");
            let mut at = 0;
            for slots in offsets.split_mut([texts / 2, texts - texts / 2].into_iter()) {
                let mut next = || {
                    at += total / texts.max(1);
                    at
                };
                match slots {
                    OffsetSlots::Narrow(own) => own.iter_mut().for_each(|slot| slot.set(next())),
                    OffsetSlots::Wide(own) => own.iter_mut().for_each(|slot| slot.set(next())),
                }
            }
            assert_eq!(offsets.len(), texts + 1);
            assert!(offsets.iter().enumerate().all(|(n, offset)| offset == n * (total / texts.max(1))));
            match offsets.into_scalars() {
                Ok(narrow) => assert_eq!((narrow.len(), narrow[texts] as usize), (texts + 1, total)),
                Err(wide) => assert_eq!(wide[texts], at),
            }
        }
    }
}
