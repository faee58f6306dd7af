//! Reuses the memory of printed texts for those of the next batch. Fresh memory costs a page fault for every 4 KiB,
//! which takes longer than printing numbers into it.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};

/// The process keeps at most so much of each kind: the texts of some columns of a batch of 65,536.
const MAX_KEPT_BYTES: usize = 24 << 20;

static BYTES: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
static OFFSETS: Mutex<Vec<Vec<i32>>> = Mutex::new(Vec::new());

/// The items of such memory.
pub(super) trait Item: ArrowNativeType + 'static {
    /// The dropped vectors, the newest last.
    fn dropped() -> &'static Mutex<Vec<Vec<Self>>>;
}

impl Item for u8 {
    fn dropped() -> &'static Mutex<Vec<Vec<Self>>> {
        &BYTES
    }
}

impl Item for i32 {
    fn dropped() -> &'static Mutex<Vec<Vec<Self>>> {
        &OFFSETS
    }
}

/// A vector whose memory is kept when it is dropped.
#[derive(Debug)]
pub(super) struct Kept<T: Item>(Vec<T>);

impl<T: Item> Kept<T> {
    /// Make an empty vector, in used memory if there is any.
    pub(super) fn new() -> Self {
        // If it is locked, don't wait: a child of a fork might wait forever.
        Self(T::dropped().try_lock().ok().and_then(|mut dropped| dropped.pop()).unwrap_or_default())
    }

    /// Return the memory as a buffer for Arrow; it is kept when Arrow drops it.
    pub(super) fn into_buffer(self) -> Buffer {
        Buffer::from(bytes::Bytes::from_owner(self))
    }
}

impl<T: Item> Drop for Kept<T> {
    fn drop(&mut self) {
        let mut vector = std::mem::take(&mut self.0);
        vector.clear();
        if vector.capacity() > 0
            && let Ok(mut dropped) = T::dropped().try_lock()
        {
            let kept: usize = dropped.iter().chain([&vector]).map(|other| size_of::<T>() * other.capacity()).sum();
            if kept <= MAX_KEPT_BYTES {
                dropped.push(vector);
            }
        }
    }
}

impl<T: Item> Deref for Kept<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Item> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Item> AsRef<[u8]> for Kept<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice().to_byte_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_empty_when_it_comes_again() {
        for _ in 0..3 {
            let mut numbers = Kept::<i32>::new();
            assert!(numbers.is_empty());
            numbers.extend([1, -1]);
            assert_eq!(numbers.into_buffer().as_slice(), [1, 0, 0, 0, 255, 255, 255, 255]);
        }
    }
}
