//! Copying short pieces one after the other.
//!
//! A call of `memcpy` costs more than copying the few bytes of most pieces. If there is room on both sides, a short
//! piece is copied in steps of a fixed size, each of which is a few loads and stores, and the next piece overwrites the
//! excess. All accesses are bounds-checked; if there is no room, exactly the piece is copied.

use crate::plan::LITERAL_PADDING_BYTES;
use crate::python_text::SHORT_TEXT_BYTES;

/// The number of bytes of a step. A piece takes one, four or eight steps, so that the processor needn't predict their
/// number.
pub const STEP_BYTES: usize = 64;
/// The number of bytes of a step for a literal that isn't longer.
const FEW_BYTES: usize = 16;
/// The length up to which a piece takes four steps.
const FOUR_STEPS_BYTES: usize = 4 * STEP_BYTES;
/// The length up to which a piece is copied in steps.
const MAX_STEPPED_BYTES: usize = LITERAL_PADDING_BYTES;

/// Copy bytes `start..end` of `from` to `to[position..]`, and return the position of the next piece. The bytes of `to`
/// after the piece may be overwritten, up to the end of `to`.
#[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
#[inline(always)]
pub fn put(to: &mut [u8], position: usize, from: &[u8], start: usize, end: usize) -> usize {
    let len = end - start;
    let is_copied = if len <= STEP_BYTES {
        put_steps::<1>(to, position, from, start)
    } else if len <= FOUR_STEPS_BYTES {
        put_steps::<4>(to, position, from, start)
    } else {
        len <= MAX_STEPPED_BYTES && put_steps::<8>(to, position, from, start)
    };
    if !is_copied {
        put_exactly(to, position, from, start, end);
    }
    position + len
}

/// [`put`] for a literal, which mostly has few bytes.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
pub fn put_literal(to: &mut [u8], position: usize, from: &[u8], start: usize, end: usize) -> usize {
    if end - start <= FEW_BYTES && put_once::<FEW_BYTES>(to, position, from, start) {
        position + (end - start)
    } else {
        put(to, position, from, start, end)
    }
}

/// [`put`] for a value of at most [`SHORT_TEXT_BYTES`].
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
pub fn put_short(to: &mut [u8], position: usize, from: &[u8], start: usize, end: usize) -> usize {
    if !put_once::<SHORT_TEXT_BYTES>(to, position, from, start) {
        put_exactly(to, position, from, start, end);
    }
    position + (end - start)
}

/// Copy this number of bytes; false if there is no room for them on one of the sides.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn put_once<const BYTES: usize>(to: &mut [u8], position: usize, from: &[u8], start: usize) -> bool {
    let (Some(to), Some(from)) = (to.get_mut(position..), from.get(start..)) else { return false };
    let (Some(to), Some(from)) = (to.first_chunk_mut::<BYTES>(), from.first_chunk::<BYTES>()) else { return false };
    *to = *from;
    true
}

/// Copy this many steps, one, four or eight; false if there is no room for them on one of the sides.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn put_steps<const STEPS: usize>(to: &mut [u8], position: usize, from: &[u8], start: usize) -> bool {
    let (Some(to), Some(from)) = (to.get_mut(position..), from.get(start..)) else { return false };
    let (Some(to), Some(from)) = (to.as_chunks_mut().0.first_chunk_mut(), from.as_chunks().0.first_chunk()) else {
        return false;
    };
    let (to, from): (&mut [[u8; STEP_BYTES]; STEPS], &[[u8; STEP_BYTES]; STEPS]) = (to, from);
    // The steps are unrolled by hand, because a loop over them is compiled into a call of `memcpy`.
    to[0] = from[0];
    if STEPS >= 4 {
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
    }
    if STEPS >= 8 {
        to[4] = from[4];
        to[5] = from[5];
        to[6] = from[6];
        to[7] = from[7];
    }
    true
}

#[inline(never)]
fn put_exactly(to: &mut [u8], position: usize, from: &[u8], start: usize, end: usize) {
    to[position..position + (end - start)].copy_from_slice(&from[start..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_length_with_and_without_room() {
        let from: Vec<u8> = (0..=255).cycle().take(900).collect();
        for len in (0..140).chain([191, 192, 193, 255, 256, 257, 300, 511, 512, 513]) {
            for (room, start) in [(0, 0), (1, 3), (63, 900 - len), (64, 10), (400, 900 - len), (400, 7)] {
                let mut to = vec![0; 5 + len + room];
                assert_eq!(put(&mut to, 5, &from, start, start + len), 5 + len);
                assert_eq!(to[5..5 + len], from[start..start + len]);
                assert!(to[..5].iter().all(|byte| *byte == 0));
            }
        }
    }
}
