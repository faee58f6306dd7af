//! Memory for what is rendered: large blocks on huge pages, and some of them kept for the next batch.
//!
//! Fresh memory costs a page fault every 4 KiB, which is more than copying 4 KiB into it. Huge pages make that one fault
//! every 2 MiB; blocks that were used and dropped, as a stream's batches are, have no faults left to pay.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use arrow_buffer::Buffer;
use memmap2::{MmapMut, MmapOptions};

use crate::error::{Code, Error, Result};

/// What is rendered into.
#[derive(Debug)]
pub enum Bytes {
    /// A small block, from the allocator.
    Small(Vec<u8>),
    /// A large one.
    Large(Pages),
}

/// From this size on a block is mapped by itself.
const LARGE_BLOCK_BYTES: usize = 1 << 20;
/// Sizes of mapped blocks are multiples of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// So many requests later a block that no request was for is in the way.
const REQUESTS_UNTIL_STALE: u64 = 16;
/// Sizes of blocks between one power of two and twice that, at most.
const SIZES_OF_DOUBLING: usize = 16;
/// What the process keeps at most of memory that was dropped: a batch of 65,536 long prompts and a little more.
const MAX_KEPT_BYTES: usize = 272 << 20;
/// How many blocks it keeps at most: a stream has those of two or three batches at a time, and no more of them are used again.
const MAX_KEPT_BLOCKS: usize = 8;
/// What of it may be scratch memory: the substituted texts of a batch of 65,536, with the room that growing left beside them.
const MAX_SCRATCH_BYTES: usize = 80 << 20;

/// Dropped memory, to be used again; the oldest first.
static POOL: Mutex<Pool> = Mutex::new(Pool { blocks: Vec::new(), scratch: Vec::new(), asked: 0 });

struct Pool {
    blocks: Vec<KeptBlock>,
    scratch: Vec<Vec<u8>>,
    /// How many blocks have been asked for.
    asked: u64,
}

struct KeptBlock {
    map: MmapMut,
    /// How many had been asked for when it was dropped.
    since: u64,
}

impl Pool {
    /// The smallest block that isn't much too large; of equal ones the newest, which is the likeliest to be in a cache.
    fn block(&mut self, size: usize) -> Option<MmapMut> {
        self.asked += 1;
        let fits = |(_, kept): &(usize, &KeptBlock)| kept.map.len() >= size && kept.map.len() <= size + size / 2;
        let newest_first = self.blocks.iter().enumerate().rev();
        let best = newest_first.filter(fits).min_by_key(|(_, kept)| kept.map.len())?.0;
        Some(self.blocks.remove(best).map)
    }

    /// Keep a block, in the place of older ones: the newest are the likeliest to be of the size that is asked for next. A
    /// stream's last batch is smaller than the others, which the next stream will have again: a larger block stays, unless
    /// nobody wanted it for some time.
    fn keep(&mut self, map: MmapMut) {
        let (own, since) = (map.len(), self.asked);
        let stays = |kept: &KeptBlock| kept.map.len() > own && since - kept.since < REQUESTS_UNTIL_STALE;
        let is_full = own + self.size() > MAX_KEPT_BYTES || self.blocks.len() >= MAX_KEPT_BLOCKS;
        if is_full && self.blocks.first().is_some_and(stays) {
            return;
        }
        if self.blocks.len() >= MAX_KEPT_BLOCKS {
            self.blocks.remove(0);
        }
        if self.make_room(own) {
            self.blocks.push(KeptBlock { map, since });
        }
    }

    /// What is kept.
    fn size(&self) -> usize {
        self.scratch_size() + self.blocks.iter().map(|kept| kept.map.len()).sum::<usize>()
    }

    /// Keep scratch memory.
    fn keep_scratch(&mut self, scratch: Vec<u8>) {
        let own = scratch.capacity();
        if own > 0 && self.scratch_size() + own <= MAX_SCRATCH_BYTES && self.make_room(own) {
            self.scratch.push(scratch);
        }
    }

    /// Give blocks back to the system until so many bytes more may be kept.
    fn make_room(&mut self, more: usize) -> bool {
        let others = self.scratch_size() + more;
        while !self.blocks.is_empty() && self.size() + more > MAX_KEPT_BYTES {
            self.blocks.remove(0);
        }
        others <= MAX_KEPT_BYTES
    }

    fn scratch_size(&self) -> usize {
        self.scratch.iter().map(Vec::capacity).sum()
    }
}

/// An empty vector with room for so many elements.
///
/// # Errors
///
/// `RenderError` where there isn't as much memory: what grows with the data asks for it here, since an allocation that
/// fails elsewhere ends the process.
pub fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| out_of_memory(count.saturating_mul(size_of::<T>())))?;
    Ok(out)
}

/// The error of memory that isn't there.
pub fn out_of_memory(bytes: usize) -> Error {
    let message = format!("there is no memory for {bytes} bytes more; render fewer rows at a time, by stream()");
    Error::render(Code::OutOfMemory, message)
}

impl Bytes {
    /// A block of `len` bytes, which hold anything.
    ///
    /// # Errors
    ///
    /// `RenderError` where there isn't as much memory.
    pub fn new(len: usize) -> Result<Self> {
        if len >= LARGE_BLOCK_BYTES
            && let Some(pages) = Pages::new(len)
        {
            return Ok(Self::Large(pages));
        }
        let mut bytes = reserved(len)?;
        bytes.resize(len, 0);
        Ok(Self::Small(bytes))
    }

    /// Leave out what is behind `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Small(bytes) => bytes.truncate(len),
            Self::Large(pages) => pages.len = pages.len.min(len),
        }
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

/// Batches of the same rows have nearly the same size: they get blocks of one size, so that each fits any of them. What
/// nothing is written to takes no memory.
fn block_size(len: usize) -> Option<usize> {
    let step = (len.checked_next_power_of_two()? / 2 / SIZES_OF_DOUBLING).max(HUGE_PAGE_BYTES);
    len.checked_next_multiple_of(step)
}

impl Pages {
    fn new(len: usize) -> Option<Self> {
        let size = block_size(len)?;
        // The pool may be in use by another thread, or, in a forked child, by one that is no more: then nothing is taken.
        if let Some(map) = POOL.try_lock().ok().and_then(|mut pool| pool.block(size)) {
            return Some(Self { map: Some(map), len });
        }
        let map = MmapOptions::new().len(size).map_anon().ok()?;
        // Advice alone: where there are no huge pages, small ones do.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Self { map: Some(map), len })
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().map_or(&[], |map| &map[..self.len])
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let (Some(map), Ok(mut pool)) = (self.map.take(), POOL.try_lock()) {
            pool.keep(map);
        }
    }
}

/// Memory for texts on their way to a block, empty at first.
#[derive(Debug)]
pub struct Scratch(pub Vec<u8>);

impl Scratch {
    /// Memory that was used before, if there is any.
    pub fn new() -> Self {
        Self(POOL.try_lock().ok().and_then(|mut pool| pool.scratch.pop()).unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut own = std::mem::take(&mut self.0);
        own.clear();
        if let Ok(mut pool) = POOL.try_lock() {
            pool.keep_scratch(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_block_takes_the_place_of_a_larger_one_once_that_is_stale() {
        let block = |size| MmapOptions::new().len(size).map_anon().unwrap();
        let (large, small) = (MAX_KEPT_BYTES - HUGE_PAGE_BYTES, 2 * HUGE_PAGE_BYTES);
        let mut pool = Pool { blocks: Vec::new(), scratch: Vec::new(), asked: 0 };
        let sizes = |pool: &Pool| pool.blocks.iter().map(|kept| kept.map.len()).collect::<Vec<_>>();
        pool.keep(block(large));
        pool.keep(block(small));
        assert_eq!(sizes(&pool), [large]);
        for _ in 0..REQUESTS_UNTIL_STALE {
            assert!(pool.block(small).is_none());
        }
        pool.keep(block(small));
        assert_eq!(sizes(&pool), [small]);
        pool.keep(block(large));
        assert_eq!(sizes(&pool), [large]);
    }

    #[test]
    fn the_newest_blocks_are_kept_and_not_many() {
        let block = |pages| MmapOptions::new().len(pages * HUGE_PAGE_BYTES).map_anon().unwrap();
        let mut pool = Pool { blocks: Vec::new(), scratch: Vec::new(), asked: 0 };
        (1..=MAX_KEPT_BLOCKS + 3).for_each(|pages| pool.keep(block(pages)));
        let sizes: Vec<usize> = pool.blocks.iter().map(|kept| kept.map.len() / HUGE_PAGE_BYTES).collect();
        assert_eq!(sizes, (4..=MAX_KEPT_BLOCKS + 3).collect::<Vec<_>>());
        // A small one doesn't take the place of a large one that is new.
        pool.keep(block(1));
        assert_eq!(pool.blocks[0].map.len(), 4 * HUGE_PAGE_BYTES);
    }

    #[test]
    fn blocks_have_the_size_asked_for_whatever_they_are_made_of() {
        for len in [0, 1, LARGE_BLOCK_BYTES - 1, LARGE_BLOCK_BYTES, LARGE_BLOCK_BYTES + 1, 3 * HUGE_PAGE_BYTES + 5] {
            let mut bytes = Bytes::new(len).expect("a few megabytes");
            bytes.fill(7);
            assert_eq!(bytes.len(), len);
            let buffer = bytes.into_buffer();
            assert!(buffer.len() == len && buffer.iter().all(|byte| *byte == 7));
        }
    }
}
