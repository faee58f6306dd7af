//! Rendered texts, one after the other.

use super::pages::{Bytes, Scratch, out_of_memory, reserved};
use super::text_offsets::{OffsetSlot, OffsetSlots, TextOffsets};
use crate::error::Result;
use crate::threads;

/// The texts of some requests, one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    /// The start of each text, then the end of the last text.
    pub offsets: TextOffsets,
    /// All texts.
    pub bytes: Bytes,
    /// True if all texts are known to be copies, because no row was rendered separately.
    pub is_plain: bool,
    /// The rows that would have other texts if they were copies, if they are known.
    pub changed: Option<Vec<usize>>,
}

/// Texts that a thread has written, one after the other, and the end of each.
#[derive(Debug)]
pub struct WrittenTexts {
    bytes: Scratch,
    ends: Vec<usize>,
}

impl WrittenTexts {
    /// Make an empty list with room for `texts` texts.
    pub fn new(texts: usize) -> Self {
        Self { bytes: Scratch::new(), ends: Vec::with_capacity(texts) }
    }

    /// Make an empty list with room for `texts` texts of about `bytes` bytes together.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn sized(texts: usize, bytes: usize) -> Result<Self> {
        let mut written = Self { bytes: Scratch::new(), ends: reserved(texts)? };
        written.bytes.0.try_reserve_exact(bytes).map_err(|_| out_of_memory(bytes))?;
        Ok(written)
    }

    /// Append the text that `write` appends.
    pub fn push<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let result = write(&mut self.bytes.0);
        self.ends.push(self.bytes.0.len());
        result
    }

    /// Append the texts that `write` appends; `write` reports the end of each in turn.
    pub fn push_all(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Vec<usize>)) {
        write(&mut self.bytes.0, &mut self.ends);
    }

    /// Return the number of bytes of all texts.
    pub fn len(&self) -> usize {
        self.bytes.0.len()
    }
}

impl Texts {
    /// Join the texts of several threads, in order.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
    pub fn joined(mut parts: Vec<WrittenTexts>) -> Result<Self> {
        fn put(slots: &mut [impl OffsetSlot], ends: &[usize], base: usize) {
            for (slot, end) in slots.iter_mut().zip(ends) {
                slot.set(base + end);
            }
        }
        let total = parts.iter().map(WrittenTexts::len).sum();
        let mut offsets = TextOffsets::new(parts.iter().map(|part| part.ends.len()).sum(), total)?;
        // The texts of a single thread are used without a copy, if they hold hardly more memory than they need.
        if let [part] = &mut parts[..]
            && part.bytes.0.capacity() <= total + total / 8
        {
            for slots in offsets.split_mut(std::iter::once(part.ends.len())) {
                match slots {
                    OffsetSlots::Narrow(slots) => put(slots, &part.ends, 0),
                    OffsetSlots::Wide(slots) => put(slots, &part.ends, 0),
                }
            }
            return Ok(Self {
                offsets,
                bytes: std::mem::take(&mut part.bytes.0).into(),
                is_plain: false,
                changed: None,
            });
        }
        let mut bytes = Bytes::new(total)?;
        let (mut rest, mut base, mut work) = (&mut bytes[..], 0, Vec::with_capacity(parts.len()));
        for (slots, part) in offsets.split_mut(parts.iter().map(|part| part.ends.len())).into_iter().zip(&parts) {
            let (output, after) = rest.split_at_mut(part.len());
            work.push((slots, output, part, base));
            (rest, base) = (after, base + part.len());
        }
        threads::map(work, |(slots, output, part, base)| {
            output.copy_from_slice(&part.bytes.0);
            match slots {
                OffsetSlots::Narrow(slots) => put(slots, &part.ends, base),
                OffsetSlots::Wide(slots) => put(slots, &part.ends, base),
            }
        });
        Ok(Self { offsets, bytes, is_plain: false, changed: None })
    }
}
