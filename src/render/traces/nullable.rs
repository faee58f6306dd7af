//! Blocks of numbers as Arrow arrays. A null is marked by a number while the blocks are written.

use arrow_array::Int32Array;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use wide::i32x8;

use crate::error::Result;
use crate::render::memory::Bytes;
use crate::threads;

/// Stands for a null; all other numbers are at least 0.
pub(super) const NULL: i32 = -1;

/// So many numbers are looked at by a thread at a time.
const CHUNK_NUMBERS: usize = 1 << 16;
/// The numbers that one byte of a bitmap speaks of.
const BITS: usize = 8;

/// Return numbers as an array, in which each [`NULL`] is a null.
///
/// # Errors
///
/// `RenderError` if the memory can't be allocated.
pub(super) fn nullable(mut bytes: Bytes) -> Result<Int32Array> {
    let numbers = bytes.as_chunks_mut::<{ size_of::<i32>() }>().0;
    let count = numbers.len();
    let mut bitmap = Bytes::new(count.div_ceil(BITS))?;
    let chunks = numbers.chunks_mut(CHUNK_NUMBERS).zip(bitmap.chunks_mut(CHUNK_NUMBERS / BITS)).collect();
    let nulls = threads::map(chunks, |(numbers, bitmap): (&mut [_], &mut [_])| find_nulls(numbers, bitmap));
    let nulls = if nulls.iter().any(|any| *any) {
        Some(NullBuffer::new(BooleanBuffer::new(bitmap.into_buffer(), 0, count)))
    } else {
        None
    };
    Ok(Int32Array::new(aligned(bytes, count), nulls))
}

/// Write a zero in place of each null, and the bits of the other numbers into a bitmap. Returns true if there is a null.
fn find_nulls(numbers: &mut [[u8; 4]], bitmap: &mut [u8]) -> bool {
    let mut any = false;
    let (groups, rest) = numbers.as_chunks_mut::<BITS>();
    for (numbers, bits) in groups.iter_mut().zip(&mut *bitmap) {
        let values = i32x8::new(numbers.map(i32::from_ne_bytes));
        // No number but that of a null is negative.
        let nulls = values.to_bitmask() as u8;
        *numbers = values.max(i32x8::ZERO).to_array().map(i32::to_ne_bytes);
        *bits = !nulls;
        any |= nulls != 0;
    }
    if let (Some(bits), false) = (bitmap.last_mut(), rest.is_empty()) {
        *bits = 0;
        for (n, number) in rest.iter_mut().enumerate() {
            let is_null = i32::from_ne_bytes(*number) == NULL;
            *bits |= u8::from(!is_null) << n;
            if is_null {
                *number = 0_i32.to_ne_bytes();
            }
            any |= is_null;
        }
    }
    any
}

/// Convert bytes to `count` numbers; small blocks may lack the alignment, so they are copied.
pub(super) fn aligned<T: ArrowNativeType>(bytes: Bytes, count: usize) -> ScalarBuffer<T> {
    let buffer = bytes.into_buffer();
    let is_aligned = buffer.as_ptr().align_offset(align_of::<T>()) == 0;
    ScalarBuffer::new(if is_aligned { buffer } else { Buffer::from_slice_ref(&*buffer) }, 0, count)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    #[test]
    fn marked_numbers_are_nulls_wherever_they_stand() {
        for count in [0, 1, 7, 8, 9, 64, CHUNK_NUMBERS - 1, CHUNK_NUMBERS, CHUNK_NUMBERS + 1, 2 * CHUNK_NUMBERS + 13] {
            for every in [1, 2, 3, 8, 11, usize::MAX] {
                let numbers: Vec<Option<i32>> =
                    (0..count).map(|n| (n % every != every - 1).then_some((n * 31) as i32)).collect();
                let mut bytes = Bytes::new(count * size_of::<i32>()).unwrap();
                for (slot, number) in bytes.as_chunks_mut().0.iter_mut().zip(&numbers) {
                    *slot = number.unwrap_or(NULL).to_ne_bytes();
                }
                let array = nullable(bytes).unwrap();
                assert_eq!(array, Int32Array::from(numbers.clone()));
                assert_eq!(array.nulls().is_some(), numbers.iter().any(Option::is_none));
                assert!(array.values().iter().all(|number| *number >= 0), "a dictionary's codes stay within it");
            }
        }
    }
}
