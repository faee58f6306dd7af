//! Rendered texts, one after the other.

use super::pages::{Bytes, Scratch, out_of_memory, reserved};
use super::text_offsets::{OffsetSlot, OffsetSlots, TextOffsets};
use crate::error::Result;
use crate::threads;

/// The texts of some requests, one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    /// Where each text starts; one more than there are texts.
    pub offsets: TextOffsets,
    /// All texts.
    pub bytes: Bytes,
    /// Whether all of them are known to be copies, as rows are of which nothing was looked at one by one.
    pub is_plain: bool,
}

/// Texts that one thread has written, one after the other, and where each ends.
#[derive(Debug)]
pub struct WrittenTexts {
    bytes: Scratch,
    ends: Vec<usize>,
}

impl WrittenTexts {
    /// None yet, with room for so many.
    pub fn new(texts: usize) -> Self {
        Self { bytes: Scratch::new(), ends: Vec::with_capacity(texts) }
    }

    /// None yet, with room for so many, which have about so many bytes together.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn sized(texts: usize, bytes: usize) -> Result<Self> {
        let mut own = Self { bytes: Scratch::new(), ends: reserved(texts)? };
        own.bytes.0.try_reserve_exact(bytes).map_err(|_| out_of_memory(bytes))?;
        Ok(own)
    }

    /// Append a text: what `write` appends.
    pub fn push<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let done = write(&mut self.bytes.0);
        self.ends.push(self.bytes.0.len());
        done
    }

    /// Append several: what `write` appends, which tells of the end of each in turn.
    pub fn push_all(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Vec<usize>)) {
        write(&mut self.bytes.0, &mut self.ends);
    }

    /// The bytes of all.
    pub fn len(&self) -> usize {
        self.bytes.0.len()
    }
}

impl Texts {
    /// Texts of several threads, in order.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn joined(mut parts: Vec<WrittenTexts>) -> Result<Self> {
        fn put(slots: &mut [impl OffsetSlot], ends: &[usize], at: usize) {
            for (slot, end) in slots.iter_mut().zip(ends) {
                slot.set(at + end);
            }
        }
        let total = parts.iter().map(WrittenTexts::len).sum();
        let mut offsets = TextOffsets::new(parts.iter().map(|part| part.ends.len()).sum(), total)?;
        // Those of one thread lie as they should, if they hold hardly more memory than they need.
        if let [one] = &mut parts[..]
            && one.bytes.0.capacity() <= total + total / 8
        {
            for slots in offsets.split_mut(std::iter::once(one.ends.len())) {
                match slots {
                    OffsetSlots::Narrow(slots) => put(slots, &one.ends, 0),
                    OffsetSlots::Wide(slots) => put(slots, &one.ends, 0),
                }
            }
            return Ok(Self { offsets, bytes: std::mem::take(&mut one.bytes.0).into(), is_plain: false });
        }
        let mut bytes = Bytes::new(total)?;
        let (mut rest, mut at, mut work) = (&mut bytes[..], 0, Vec::with_capacity(parts.len()));
        for (slots, part) in offsets.split_mut(parts.iter().map(|part| part.ends.len())).into_iter().zip(&parts) {
            let (own, after) = rest.split_at_mut(part.len());
            work.push((slots, own, part, at));
            (rest, at) = (after, at + part.len());
        }
        threads::map(work, |(slots, own, part, at)| {
            own.copy_from_slice(&part.bytes.0);
            match slots {
                OffsetSlots::Narrow(slots) => put(slots, &part.ends, at),
                OffsetSlots::Wide(slots) => put(slots, &part.ends, at),
            }
        });
        Ok(Self { offsets, bytes, is_plain: false })
    }
}
