//! Reuses the memory of written lines. The allocator returns freed memory to the system at once, and newly allocated
//! memory costs a page fault for every 4 KiB, which takes as long as the lines themselves.

use std::sync::Mutex;

use arrow_buffer::Buffer;

/// The process keeps at most so much: about the size of a batch's lines until they are written.
const MAX_KEPT_BYTES: usize = 32 << 20;
/// A longer piece isn't kept: lines as long as that are rare, and the allocator maps them separately.
const MAX_PIECE_BYTES: usize = 4 << 20;

/// Freed memory. A thread that finds it locked, as can happen forever in a forked child, works without it.
static DROPPED: Mutex<Dropped> = Mutex::new(Dropped { pieces: Vec::new(), bytes: 0 });

struct Dropped {
    pieces: Vec<Vec<u8>>,
    bytes: usize,
}

/// Lines on their way into a buffer.
#[derive(Debug)]
pub struct LineBytes(pub Vec<u8>);

impl LineBytes {
    /// Begin without lines, in used memory if there is some: the newest piece, which may still be in a cache.
    pub fn new() -> Self {
        let reused = DROPPED.try_lock().ok().and_then(|mut dropped| {
            let piece = dropped.pieces.pop()?;
            dropped.bytes -= piece.capacity();
            Some(piece)
        });
        Self(reused.unwrap_or_default())
    }

    /// Return the lines as a buffer for Arrow. When Arrow drops it, the memory can be reused.
    pub fn into_buffer(self) -> Buffer {
        Buffer::from(bytes::Bytes::from_owner(self))
    }
}

impl AsRef<[u8]> for LineBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for LineBytes {
    fn drop(&mut self) {
        let mut piece = std::mem::take(&mut self.0);
        let size = piece.capacity();
        if size == 0 || size > MAX_PIECE_BYTES {
            return;
        }
        if let Ok(mut dropped) = DROPPED.try_lock()
            && dropped.bytes + size <= MAX_KEPT_BYTES
        {
            piece.clear();
            dropped.bytes += size;
            dropped.pieces.push(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_memory_is_reused_and_a_buffer_in_use_stays() {
        let mut lines = LineBytes::new();
        lines.0.extend_from_slice(b"shown");
        let in_use = lines.into_buffer();
        for n in 0..100_u8 {
            let mut lines = LineBytes::new();
            assert!(lines.0.is_empty());
            lines.0.resize(1 << 20, n);
            assert_eq!(lines.into_buffer().as_slice(), vec![n; 1 << 20]);
        }
        assert_eq!(in_use.as_slice(), b"shown");
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let many: Vec<LineBytes> = (0..64).map(|_| LineBytes(Vec::with_capacity(1 << 20))).collect();
        drop(many);
        drop(LineBytes(Vec::with_capacity(MAX_PIECE_BYTES + 1)));
        let dropped = DROPPED.lock().unwrap();
        assert!(dropped.bytes <= MAX_KEPT_BYTES);
        assert_eq!(dropped.bytes, dropped.pieces.iter().map(Vec::capacity).sum::<usize>());
    }
}
