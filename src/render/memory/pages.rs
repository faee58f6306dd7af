//! Memory for rendered texts: large blocks on huge pages. Some blocks are kept for the next batch.
//!
//! Fresh memory costs a page fault every 4 KiB, which takes longer than copying 4 KiB into it. With huge pages it costs
//! a fault every 2 MiB, and blocks that were used and dropped, as those of a stream's batches, cost none.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use arrow_buffer::Buffer;
use memmap2::{MmapMut, MmapOptions};

use crate::error::{Code, Error, Result};

/// A buffer that texts are rendered into.
#[derive(Debug)]
pub enum Bytes {
    /// A small block from the allocator.
    Small(Vec<u8>),
    /// A large, mapped block.
    Large(Pages),
}

/// The size from which on a block is mapped separately.
const LARGE_BLOCK_BYTES: usize = 1 << 20;
/// Sizes of mapped blocks are multiples of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// The number of requests after which a block that was used for none of them may give way to a smaller one.
const REQUESTS_UNTIL_STALE: u64 = 16;
/// The most sizes of blocks between a power of two and the next.
const SIZES_OF_DOUBLING: usize = 16;
/// The most bytes of dropped memory that the process keeps: a batch of 65,536 long prompts and a little more.
const MAX_KEPT_BYTES: usize = 272 << 20;
/// The most blocks that the process keeps. A stream uses those of two or three batches at a time, and no older block is
/// used again.
const MAX_KEPT_BLOCKS: usize = 8;
/// The most kept bytes of scratch memory: the substituted texts of a batch of 65,536, with the room that growing left
/// after them.
const MAX_SCRATCH_BYTES: usize = 80 << 20;

/// Dropped memory for reuse, the oldest first.
static POOL: Mutex<Pool> = Mutex::new(Pool { blocks: Vec::new(), scratch: Vec::new(), request_count: 0 });

struct Pool {
    blocks: Vec<KeptBlock>,
    scratch: Vec<Vec<u8>>,
    /// The number of blocks that were requested.
    request_count: u64,
}

struct KeptBlock {
    map: MmapMut,
    /// The number of blocks that had been requested when this block was dropped.
    since: u64,
}

impl Pool {
    /// Take the smallest block that isn't much too large. Among equal blocks the newest is taken, because it is the
    /// likeliest to be in a cache.
    fn block(&mut self, size: usize) -> Option<MmapMut> {
        self.request_count += 1;
        let fits = |(_, kept): &(usize, &KeptBlock)| kept.map.len() >= size && kept.map.len() <= size + size / 2;
        let newest_first = self.blocks.iter().enumerate().rev();
        let best = newest_first.filter(fits).min_by_key(|(_, kept)| kept.map.len())?.0;
        Some(self.blocks.remove(best).map)
    }

    /// Keep a block and drop older ones for it, because the newest blocks are the likeliest to have the size of the
    /// next request. The last batch of a stream is smaller than the others, which the next stream will have again, so a
    /// larger block stays unless no request used it for some time.
    fn keep(&mut self, map: MmapMut) {
        let (len, since) = (map.len(), self.request_count);
        let stays = |kept: &KeptBlock| kept.map.len() > len && since - kept.since < REQUESTS_UNTIL_STALE;
        let is_full = len + self.size() > MAX_KEPT_BYTES || self.blocks.len() >= MAX_KEPT_BLOCKS;
        if is_full && self.blocks.first().is_some_and(stays) {
            return;
        }
        if self.blocks.len() >= MAX_KEPT_BLOCKS {
            self.blocks.remove(0);
        }
        if self.make_room(len) {
            self.blocks.push(KeptBlock { map, since });
        }
    }

    /// Return the number of kept bytes.
    fn size(&self) -> usize {
        self.scratch_size() + self.blocks.iter().map(|kept| kept.map.len()).sum::<usize>()
    }

    /// Keep scratch memory.
    fn keep_scratch(&mut self, scratch: Vec<u8>) {
        let capacity = scratch.capacity();
        if capacity > 0 && self.scratch_size() + capacity <= MAX_SCRATCH_BYTES && self.make_room(capacity) {
            self.scratch.push(scratch);
        }
    }

    /// Give blocks back to the system until there is room to keep this number of bytes more.
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

/// Return an empty vector with room for `count` elements.
///
/// # Errors
///
/// `RenderError` if the memory can't be allocated. Memory that grows with the data is allocated here, because a failing
/// allocation elsewhere ends the process.
pub fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| out_of_memory(count.saturating_mul(size_of::<T>())))?;
    Ok(out)
}

/// Return the error for memory that can't be allocated.
pub fn out_of_memory(bytes: usize) -> Error {
    let message = format!("there is no memory for {bytes} bytes more; render fewer rows at a time, by stream()");
    Error::render(Code::OutOfMemory, message)
}

impl Bytes {
    /// Allocate a block of `len` bytes with arbitrary content.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated.
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

    /// Cut the block to `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Small(bytes) => bytes.truncate(len),
            Self::Large(pages) => pages.len = pages.len.min(len),
        }
    }

    /// Lengthen the block to all the memory that it has.
    pub fn widen(&mut self) {
        if let Self::Large(pages) = self {
            pages.len = pages.map.as_ref().map_or(0, |map| map.len());
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

    /// Convert the block to an Arrow buffer, which gives the block back when it is dropped.
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

/// A mapped block; None only while the block is dropped.
#[derive(Debug)]
pub struct Pages {
    map: Option<MmapMut>,
    len: usize,
}

/// Return the size of the block for `len` bytes. Batches of the same rows have nearly the same size, so they get blocks
/// of the same size, and each block fits any of them. Pages that nothing is written to take no memory.
fn block_size(len: usize) -> Option<usize> {
    let step = (len.checked_next_power_of_two()? / 2 / SIZES_OF_DOUBLING).max(HUGE_PAGE_BYTES);
    len.checked_next_multiple_of(step)
}

impl Pages {
    fn new(len: usize) -> Option<Self> {
        let size = block_size(len)?;
        // The pool may be in use by another thread or, in a forked child, by a thread that doesn't exist there: then no
        // block is taken.
        if let Some(map) = POOL.try_lock().ok().and_then(|mut pool| pool.block(size)) {
            return Some(Self { map: Some(map), len });
        }
        let map = MmapOptions::new().len(size).map_anon().ok()?;
        // This is advice only: if there are no huge pages, small pages work too.
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

/// Memory for texts before they are copied to a block; it is empty at first.
#[derive(Debug, Default)]
pub struct Scratch(pub Vec<u8>);

impl Scratch {
    /// Take memory that was used before, if there is any.
    pub fn new() -> Self {
        Self(POOL.try_lock().ok().and_then(|mut pool| pool.scratch.pop()).unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut memory = std::mem::take(&mut self.0);
        memory.clear();
        if let Ok(mut pool) = POOL.try_lock() {
            pool.keep_scratch(memory);
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
        let mut pool = Pool { blocks: Vec::new(), scratch: Vec::new(), request_count: 0 };
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
    fn only_a_few_of_the_newest_blocks_are_kept() {
        let block = |pages| MmapOptions::new().len(pages * HUGE_PAGE_BYTES).map_anon().unwrap();
        let mut pool = Pool { blocks: Vec::new(), scratch: Vec::new(), request_count: 0 };
        (1..=MAX_KEPT_BLOCKS + 3).for_each(|pages| pool.keep(block(pages)));
        let sizes: Vec<usize> = pool.blocks.iter().map(|kept| kept.map.len() / HUGE_PAGE_BYTES).collect();
        assert_eq!(sizes, (4..=MAX_KEPT_BLOCKS + 3).collect::<Vec<_>>());
        // A small block doesn't replace a large block that is new.
        pool.keep(block(1));
        assert_eq!(pool.blocks[0].map.len(), 4 * HUGE_PAGE_BYTES);
    }

    #[test]
    fn blocks_from_any_source_have_the_requested_size() {
        for len in [0, 1, LARGE_BLOCK_BYTES - 1, LARGE_BLOCK_BYTES, LARGE_BLOCK_BYTES + 1, 3 * HUGE_PAGE_BYTES + 5] {
            let mut bytes = Bytes::new(len).expect("a few megabytes");
            bytes.fill(7);
            assert_eq!(bytes.len(), len);
            let buffer = bytes.into_buffer();
            assert!(buffer.len() == len && buffer.iter().all(|byte| *byte == 7));
        }
    }
}
