//! Copying short pieces one after the other: what a prompt is made of.
//!
//! A call of `memcpy` costs more than the few bytes that most pieces have. Where there is room on both sides a short
//! piece is copied in steps of a fixed size, which are a load and a store each, and the next piece writes over what was
//! too much. All of it is bounds-checked; where there is no room, exactly the piece is copied.

use super::examples::Parts;
use crate::pytext::{Offsets, TextColumn};

/// Bytes that are copied at once.
pub const STEP: usize = 32;
/// Up to this length a piece is copied in steps.
const SHORT: usize = 256;

/// One piece of a text, bound to where its bytes are.
#[derive(Clone, Copy)]
pub enum Step<'a> {
    /// Bytes `.1..=.2` of what all literals are made of.
    Lit(&'a [u8], usize, usize),
    /// A column without nulls, with 32-bit offsets.
    Narrow(&'a [i32], &'a [u8]),
    /// A column without nulls, with 64-bit offsets.
    Wide(&'a [i64], &'a [u8]),
    /// Any column.
    Field(&'a TextColumn),
    /// A part of an example.
    Example(u32, u32),
    /// A part of an example in this place that is a column as it stands, with 32-bit offsets.
    NarrowExample(u32, &'a [i32], &'a [u8]),
    /// A newline if any of the next steps (that many) writes anything.
    LineIf(usize),
}

impl<'a> Step<'a> {
    /// The texts of a column.
    pub fn column(texts: &'a TextColumn) -> Self {
        match texts.plain() {
            Some((Offsets::Narrow(offsets), data)) => Self::Narrow(offsets, data),
            Some((Offsets::Wide(offsets), data)) => Self::Wide(offsets, data),
            None => Self::Field(texts),
        }
    }

    /// A part of an example, where it lies.
    pub fn example(slot: u32, part: u32, parts: &'a Parts) -> Self {
        match parts.as_column(part).and_then(TextColumn::plain) {
            Some((Offsets::Narrow(offsets), data)) => Self::NarrowExample(slot, offsets, data),
            _ => Self::Example(slot, part),
        }
    }

    /// Where the bytes of a row's piece are: what they are part of, first and last.
    #[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
    #[inline(always)]
    pub fn place<'b>(&self, row: usize, shots: &[u32], parts: &'b Parts) -> (&'b [u8], usize, usize)
    where
        'a: 'b,
    {
        match *self {
            Self::Lit(bytes, start, end) => (bytes, start, end),
            Self::Narrow(offsets, data) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Self::Wide(offsets, data) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Self::Field(texts) => texts.place(row),
            Self::Example(slot, part) => parts.place(shots[slot as usize], part),
            Self::NarrowExample(slot, offsets, data) => {
                let row = shots[slot as usize] as usize;
                (data, offsets[row] as usize, offsets[row + 1] as usize)
            }
            Self::LineIf(_) => (b"\n", 0, 1),
        }
    }
}

/// Copy bytes `start..end` of `from` to `to[at..]`, and return where the next piece goes. What follows it in `to` may be
/// written over, up to the end of `to`.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
pub fn put(to: &mut [u8], at: usize, from: &[u8], start: usize, end: usize) -> usize {
    let len = end - start;
    let mut done = 0;
    if len <= SHORT {
        let room = (to.len() - at).min(from.len() - start);
        while done < len && done + STEP <= room {
            to[at + done..at + done + STEP].copy_from_slice(&from[start + done..start + done + STEP]);
            done += STEP;
        }
    }
    if done < len {
        to[at + done..at + len].copy_from_slice(&from[start + done..end]);
    }
    at + len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_length_with_and_without_room() {
        let from: Vec<u8> = (0..=255).cycle().take(600).collect();
        for len in (0..70).chain([127, 128, 129, 255, 256, 257, 300]) {
            for (room, start) in [(0, 0), (1, 3), (31, 600 - len), (32, 10), (400, 600 - len), (400, 7)] {
                let mut to = vec![0; 5 + len + room];
                assert_eq!(put(&mut to, 5, &from, start, start + len), 5 + len);
                assert_eq!(to[5..5 + len], from[start..start + len]);
                assert!(to[..5].iter().all(|byte| *byte == 0));
            }
        }
    }
}
