//! Memory of lines that have been written, used again for the next ones: the allocator gives what is dropped back to the
//! system at once, and asked for anew it costs a page fault every 4 KiB, which takes as long as the lines themselves.

use std::sync::Mutex;

use arrow_buffer::Buffer;

/// What the process keeps at most: what a batch's lines take until they are written.
const MAX_KEPT_BYTES: usize = 32 << 20;
/// No longer piece is kept: lines as long as that are rare, and the allocator maps them by themselves.
const MAX_PIECE_BYTES: usize = 4 << 20;

/// Dropped memory. A thread that finds it in use, as a forked child may for ever, does without.
static DROPPED: Mutex<Dropped> = Mutex::new(Dropped { pieces: Vec::new(), bytes: 0 });

struct Dropped {
    pieces: Vec<Vec<u8>>,
    bytes: usize,
}

/// Lines on their way into a buffer.
#[derive(Debug)]
pub struct LineBytes(pub Vec<u8>);

impl LineBytes {
    /// No lines yet, in memory that was used before where there is some: the newest, which a cache may still have.
    pub fn new() -> Self {
        let taken = DROPPED.try_lock().ok().and_then(|mut dropped| {
            let piece = dropped.pieces.pop()?;
            dropped.bytes -= piece.capacity();
            Some(piece)
        });
        Self(taken.unwrap_or_default())
    }

    /// The lines for Arrow, which gives the memory back when it drops them.
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
        let mut own = std::mem::take(&mut self.0);
        let size = own.capacity();
        if size == 0 || size > MAX_PIECE_BYTES {
            return;
        }
        if let Ok(mut dropped) = DROPPED.try_lock()
            && dropped.bytes + size <= MAX_KEPT_BYTES
        {
            own.clear();
            dropped.bytes += size;
            dropped.pieces.push(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_used_again_and_what_is_shown_stays() {
        let mut lines = LineBytes::new();
        lines.0.extend_from_slice(b"shown");
        let shown = lines.into_buffer();
        for n in 0..100_u8 {
            let mut lines = LineBytes::new();
            assert!(lines.0.is_empty());
            lines.0.resize(1 << 20, n);
            assert_eq!(lines.into_buffer().as_slice(), vec![n; 1 << 20]);
        }
        assert_eq!(shown.as_slice(), b"shown");
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
