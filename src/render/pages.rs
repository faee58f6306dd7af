//! Memory for what is rendered: large blocks on huge pages, and some of them kept for the next batch.
//!
//! Fresh memory costs a page fault every 4 KiB, which is more than copying 4 KiB into it. Huge pages make that one fault
//! every 2 MiB; blocks that were used and dropped, as a stream's batches are, have no faults left to pay.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use arrow_buffer::Buffer;
use memmap2::{MmapMut, MmapOptions};

/// What is rendered into.
#[derive(Debug)]
pub enum Bytes {
    /// A small block, from the allocator.
    Small(Vec<u8>),
    /// A large one.
    Large(Pages),
}

/// From this size on a block is mapped by itself.
const LARGE: usize = 1 << 20;
/// Sizes of mapped blocks are multiples of a huge page.
const HUGE: usize = 2 << 20;
/// What the process keeps at most of blocks that were dropped.
const KEPT: usize = 192 << 20;

/// Dropped blocks, to be used again.
static POOL: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

impl Bytes {
    /// A block of `len` bytes, which hold anything.
    pub fn new(len: usize) -> Self {
        if len < LARGE {
            return Self::Small(vec![0; len]);
        }
        Pages::new(len).map_or_else(|| Self::Small(vec![0; len]), Self::Large)
    }

    /// Append bytes; a large block becomes one of the allocator's, which can grow.
    pub fn extend(&mut self, more: &[u8]) {
        if let Self::Large(pages) = self {
            *self = Self::Small(pages.as_ref().to_vec());
        }
        if let Self::Small(bytes) = self {
            bytes.extend_from_slice(more);
        }
    }

    /// The block for Arrow, which gives it back when it is dropped.
    pub fn into_buffer(self) -> Buffer {
        match self {
            Self::Small(bytes) => Buffer::from_vec(bytes),
            Self::Large(pages) => Buffer::from(bytes::Bytes::from_owner(pages)),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Small(bytes)
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(pages) => pages.as_ref(),
        }
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(pages) => {
                let len = pages.len;
                pages.map.as_deref_mut().map_or(&mut [], |map| &mut map[..len])
            }
        }
    }
}

/// A mapped block; None only while it is dropped.
#[derive(Debug)]
pub struct Pages {
    map: Option<MmapMut>,
    len: usize,
}

impl Pages {
    fn new(len: usize) -> Option<Self> {
        let size = len.checked_next_multiple_of(HUGE)?;
        if let Some(map) = reused(size) {
            return Some(Self { map: Some(map), len });
        }
        let map = MmapOptions::new().len(size).map_anon().ok()?;
        // Advice alone: where there are no huge pages, small ones do.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Self { map: Some(map), len })
    }
}

/// The smallest kept block that isn't much too large. The pool may be in use by another thread, or, in a forked child,
/// by one that is no more: then nothing is taken.
fn reused(size: usize) -> Option<MmapMut> {
    let mut pool = POOL.try_lock().ok()?;
    let fits = |map: &MmapMut| map.len() >= size && map.len() <= size + size / 2;
    let best = pool.iter().enumerate().filter(|(_, map)| fits(map)).min_by_key(|(_, map)| map.len())?.0;
    Some(pool.swap_remove(best))
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().map_or(&[], |map| &map[..self.len])
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let Some(map) = self.map.take() else { return };
        let Ok(mut pool) = POOL.try_lock() else { return };
        // The newest are the likeliest to be of the size that is asked for next.
        while !pool.is_empty() && pool.iter().map(|map| map.len()).sum::<usize>() + map.len() > KEPT {
            pool.remove(0);
        }
        if map.len() <= KEPT {
            pool.push(map);
        }
    }
}

/// What scratch memory is kept at most, beside [`KEPT`].
const SCRATCH: usize = 48 << 20;

/// Dropped scratch memory, to be used again: what grows from nothing each time pays for its pages each time.
static SCRATCHES: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Memory for texts on their way to a block, empty at first.
#[derive(Debug)]
pub struct Scratch(pub Vec<u8>);

impl Scratch {
    /// Memory that was used before, if there is any.
    pub fn new() -> Self {
        Self(SCRATCHES.try_lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut own = std::mem::take(&mut self.0);
        own.clear();
        if let Ok(mut kept) = SCRATCHES.try_lock()
            && own.capacity() > 0
            && kept.iter().map(Vec::capacity).sum::<usize>() + own.capacity() <= SCRATCH
        {
            kept.push(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_size_asked_for_whatever_they_are_made_of() {
        for len in [0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * HUGE + 5] {
            let mut bytes = Bytes::new(len);
            bytes.fill(7);
            assert_eq!(bytes.len(), len);
            let buffer = bytes.into_buffer();
            assert!(buffer.len() == len && buffer.iter().all(|byte| *byte == 7));
        }
    }
}
