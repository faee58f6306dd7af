//! Offsets of rendered texts in Arrow's layout: an array takes them over without a copy.

use arrow_buffer::ScalarBuffer;

use super::pages::{Bytes, reserved};
use crate::error::Result;

/// The bytes of an offset of 32 bits.
const NARROW: usize = size_of::<i32>();

/// The start of each text, then the end of the last text.
#[derive(Debug)]
pub enum TextOffsets {
    /// Offsets of 32 bits, one after the other.
    Narrow(Bytes),
    /// Offsets of texts that exceed 2 GiB, or that grow.
    Wide(Vec<usize>),
}

/// Room for some offsets.
pub enum OffsetSlots<'a> {
    /// Offsets of 32 bits.
    Narrow(&'a mut [[u8; NARROW]]),
    /// Offsets of 64 bits.
    Wide(&'a mut [usize]),
}

/// Room for an offset.
pub trait OffsetSlot {
    /// Put one down.
    fn set(&mut self, offset: usize);
    /// Return it.
    fn get(&self) -> usize;
}

impl OffsetSlot for [u8; NARROW] {
    #[inline]
    fn set(&mut self, offset: usize) {
        *self = (offset as i32).to_ne_bytes();
    }

    #[inline]
    fn get(&self) -> usize {
        i32::from_ne_bytes(*self) as usize
    }
}

impl OffsetSlot for usize {
    #[inline]
    fn set(&mut self, offset: usize) {
        *self = offset;
    }

    #[inline]
    fn get(&self) -> usize {
        *self
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
    /// Reserve room for the offsets of `texts` texts of `total` bytes, and write the first offset.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
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

    /// Join the offsets of consecutive groups of texts, which have `total` bytes together.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub fn joined(parts: &[Self], total: usize) -> Result<Self> {
        fn put(slots: &mut [impl OffsetSlot], part: &TextOffsets, base: usize) {
            match part {
                TextOffsets::Narrow(bytes) => {
                    let ends = &bytes.as_chunks().0[1..];
                    slots
                        .iter_mut()
                        .zip(ends)
                        .for_each(|(slot, end)| slot.set(base + i32::from_ne_bytes(*end) as usize));
                }
                TextOffsets::Wide(all) => slots.iter_mut().zip(&all[1..]).for_each(|(slot, end)| slot.set(base + end)),
            }
        }
        let counts = || parts.iter().map(|part| part.len() - 1);
        let mut offsets = Self::new(counts().sum(), total)?;
        let mut base = 0;
        for (slots, part) in offsets.split_mut(counts()).into_iter().zip(parts) {
            match slots {
                OffsetSlots::Narrow(slots) => put(slots, part, base),
                OffsetSlots::Wide(slots) => put(slots, part, base),
            }
            base += part.last().unwrap_or(0);
        }
        Ok(offsets)
    }

    /// Split the room for all offsets but the first into pieces of these sizes.
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

    /// Give texts, whose numbers ascend, other lengths, after which all texts have `total` bytes. False if 32 bits don't
    /// hold that.
    pub fn give_lengths(&mut self, texts: impl Iterator<Item = (usize, usize)>, total: usize) -> bool {
        fn give(offsets: &mut [impl OffsetSlot], texts: impl Iterator<Item = (usize, usize)>) {
            // Offsets up to `done` are final, and those after it are to be moved.
            let (mut done, mut by) = (0, 0);
            for (text, length) in texts {
                offsets[done + 1..=text].iter_mut().for_each(|slot| slot.set(slot.get().wrapping_add_signed(by)));
                let (end, before) = (offsets[text].get() + length, offsets[text + 1].get());
                offsets[text + 1].set(end);
                (done, by) = (text + 1, end.wrapping_sub(before).cast_signed());
            }
            offsets[done + 1..].iter_mut().for_each(|slot| slot.set(slot.get().wrapping_add_signed(by)));
        }
        match self {
            Self::Narrow(_) if i32::try_from(total).is_err() => return false,
            Self::Narrow(bytes) => give(bytes.as_chunks_mut::<NARROW>().0, texts),
            Self::Wide(all) => give(all, texts),
        }
        true
    }

    /// Return the number of offsets: one more than there are texts.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(bytes) => bytes.len() / NARROW,
            Self::Wide(all) => all.len(),
        }
    }

    /// Return an offset.
    #[inline]
    pub fn get(&self, n: usize) -> usize {
        match self {
            Self::Narrow(bytes) => i32::from_ne_bytes(bytes.as_chunks().0[n]) as usize,
            Self::Wide(all) => all[n],
        }
    }

    /// Return the start and the end of a text.
    #[inline]
    pub fn text(&self, n: usize) -> (usize, usize) {
        (self.get(n), self.get(n + 1))
    }

    /// Return all offsets.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// Return the end of all texts.
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

    /// Return offsets of 32 bits as an Arrow buffer, and offsets of 64 bits unchanged.
    pub(super) fn into_scalars(self) -> Result<ScalarBuffer<i32>, Vec<usize>> {
        match self {
            Self::Wide(all) => Err(all),
            // A small block may lack the alignment.
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
    fn texts_after_one_of_another_length_are_moved() {
        let texts = [(0, 7), (1, 0), (4, 2)];
        for offsets in [TextOffsets::from(vec![0, 1, 3, 6, 10, 15, 15]), {
            let mut narrow = TextOffsets::new(6, 15).unwrap();
            for slots in narrow.split_mut(std::iter::once(6)) {
                let OffsetSlots::Narrow(slots) = slots else { unreachable!() };
                slots.iter_mut().zip([1, 3, 6, 10, 15, 15]).for_each(|(slot, offset)| slot.set(offset));
            }
            narrow
        }] {
            let mut offsets = offsets;
            assert!(offsets.give_lengths(texts.into_iter(), 16));
            assert_eq!(offsets.iter().collect::<Vec<_>>(), [0, 7, 7, 10, 14, 16, 16]);
        }
        assert!(!TextOffsets::new(1, 1).unwrap().give_lengths(std::iter::once((0, 1 << 31)), 1 << 31));
    }

    #[test]
    fn offsets_of_any_width_and_number_come_back() {
        for (texts, total) in [(0, 0), (3, 30), (3, 1 << 40), (600_000, 600_000 * 10)] {
            let mut offsets = TextOffsets::new(texts, total).expect("a few megabytes");
            let mut base = 0;
            for slots in offsets.split_mut([texts / 2, texts - texts / 2].into_iter()) {
                let mut next = || {
                    base += total / texts.max(1);
                    base
                };
                match slots {
                    OffsetSlots::Narrow(slots) => slots.iter_mut().for_each(|slot| slot.set(next())),
                    OffsetSlots::Wide(slots) => slots.iter_mut().for_each(|slot| slot.set(next())),
                }
            }
            assert_eq!(offsets.len(), texts + 1);
            assert!(offsets.iter().enumerate().all(|(n, offset)| offset == n * (total / texts.max(1))));
            match offsets.into_scalars() {
                Ok(narrow) => assert_eq!((narrow.len(), narrow[texts] as usize), (texts + 1, total)),
                Err(wide) => assert_eq!(wide[texts], base),
            }
        }
    }
}
