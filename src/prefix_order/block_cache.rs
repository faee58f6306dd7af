//! A simulated prefix cache: blocks of requests, of which those that were used last are kept.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::requests::{Requests, text_bytes};

/// Counts of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHits {
    /// The bytes of all requests.
    pub bytes: u64,
    /// The bytes of blocks that were in the cache when their request came.
    pub hit_bytes: u64,
}

/// A cache of blocks with as many bytes each, as engines cache the keys and values of prefixes. A block is found only
/// together with all blocks before it in the request. The block that wasn't used for the longest time gives way.
pub struct BlockCache {
    block_bytes: usize,
    capacity: usize,
    /// When each block was used last.
    used: HashMap<u64, u64, FixedState>,
    /// The uses, in their order. A use that isn't the block's last one counts no more.
    uses: VecDeque<(u64, u64)>,
    clock: u64,
    /// The blocks of the current request, each as a hash of the request up to its end.
    chains: Vec<u64>,
    hits: CacheHits,
}

impl BlockCache {
    /// Create an empty cache for `capacity` blocks.
    pub fn new(block_bytes: usize, capacity: usize) -> Self {
        Self {
            block_bytes: block_bytes.max(1),
            capacity,
            used: HashMap::with_hasher(FixedState::default()),
            uses: VecDeque::new(),
            clock: 0,
            chains: Vec::new(),
            hits: CacheHits::default(),
        }
    }

    /// Send requests through the cache.
    pub fn add(&mut self, requests: &Requests) {
        let (mut written, is_text) = (Vec::new(), requests.are_texts());
        for row in 0..requests.len {
            if let Some(bytes) = requests.bytes(row, &mut written) {
                self.hits.bytes += text_bytes(bytes, is_text);
                let hit = self.send(bytes);
                self.hits.hit_bytes += text_bytes(&bytes[..hit], is_text);
            }
        }
    }

    /// Return the counts of all requests so far.
    pub fn hits(&self) -> CacheHits {
        self.hits
    }

    /// Send a request through the cache; return the number of bytes of its blocks that were there.
    fn send(&mut self, bytes: &[u8]) -> usize {
        let mut chain = 0;
        self.chains.clear();
        self.chains.extend(bytes.chunks_exact(self.block_bytes).map(|block| {
            let mut hasher = FixedState::default().build_hasher();
            hasher.write_u64(chain);
            hasher.write(block);
            chain = hasher.finish();
            chain
        }));
        let hits = self.chains.iter().take_while(|chain| self.used.contains_key(chain)).count();
        // The last block of a request gives way before the blocks that it needs.
        for chain in self.chains.iter().rev() {
            self.clock += 1;
            self.used.insert(*chain, self.clock);
            self.uses.push_back((self.clock, *chain));
        }
        self.shrink();
        hits * self.block_bytes
    }

    fn shrink(&mut self) {
        while self.used.len() > self.capacity {
            let Some((time, block)) = self.uses.pop_front() else { return };
            if self.used.get(&block) == Some(&time) {
                self.used.remove(&block);
            }
        }
        // Blocks that are used over and over leave many uses that count no more.
        if self.uses.len() > 4 * self.used.len() + 1024 {
            let used = &self.used;
            self.uses.retain(|(time, block)| used.get(block) == Some(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    fn hits(capacity: usize, texts: &[&str]) -> u64 {
        let mut cache = BlockCache::new(2, capacity);
        cache.add(&Requests::new(&(Arc::new(StringArray::from(texts.to_vec())) as _), false).unwrap());
        assert_eq!(cache.hits().bytes, texts.iter().map(|text| text.len() as u64).sum::<u64>());
        cache.hits().hit_bytes
    }

    #[test]
    fn whole_blocks_are_found_together_with_those_before_them() {
        assert_eq!(hits(100, &["aabbc", "aabbc", "aaxxbb", "xxbb"]), 4 + 2);
    }

    #[test]
    fn the_blocks_that_were_used_last_stay() {
        assert_eq!(hits(2, &["aabb", "aabb", "cc", "aabb"]), 4 + 2);
        assert_eq!(hits(1, &["aa", "bb", "aa"]), 0);
        assert_eq!(hits(0, &["aa", "aa"]), 0);
    }
}
