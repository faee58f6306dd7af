//! The lookup from the rows of a column to their texts.

use std::ops::Range;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::NullBuffer;

use super::none::NONE;

/// The offsets at which adjacent texts begin; there is one more than there are texts. All have been checked.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// 32 bits each.
    Narrow(&'a [i32]),
    /// 64 bits each.
    Wide(&'a [i64]),
}

/// The lookup from the rows of a column to their texts.
#[derive(Clone, Copy, Debug)]
pub struct TextLookup<'a> {
    /// Rows whose text is `None`, whatever their picks are.
    pub nulls: Option<&'a NullBuffer>,
    /// The index of each row's text, if it differs from the row's number. Each index is valid, even that of a null.
    pub picks: Option<&'a [u32]>,
    /// The offsets at which the texts begin.
    pub offsets: Offsets<'a>,
    /// The bytes of the texts.
    pub data: &'a [u8],
    /// True if it is known that no text is longer than [`SHORT_TEXT_BYTES`](super::SHORT_TEXT_BYTES).
    pub short: bool,
}

impl TextLookup<'_> {
    /// Add the length of each text of `rows` to `lengths`, which has one entry for each row.
    pub(super) fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        self.each_length(rows.zip(lengths), |sum, length| *sum += length);
    }

    /// Return the sum of the lengths of the texts of `rows`.
    pub(super) fn total_length(&self, rows: Range<usize>) -> usize {
        let mut total = 0;
        self.each_length(rows.map(|row| (row, ())), |(), length| total += length);
        total
    }

    #[inline]
    fn each_length<T>(&self, rows: impl Iterator<Item = (usize, T)>, take: impl FnMut(T, usize)) {
        /// The loop, compiled for each combination, so that it has no unnecessary branches.
        #[inline]
        fn each<T, O: OffsetSizeTrait>(
            offsets: &[O],
            nulls: Option<&NullBuffer>,
            rows: impl Iterator<Item = (usize, T)>,
            mut take: impl FnMut(T, usize),
            text: impl Fn(usize) -> usize,
        ) {
            let length = |row| (offsets[text(row) + 1] - offsets[text(row)]).as_usize();
            match nulls {
                None => rows.for_each(|(row, to)| take(to, length(row))),
                Some(nulls) => {
                    rows.for_each(|(row, to)| take(to, if nulls.is_null(row) { NONE.len() } else { length(row) }));
                }
            }
        }
        match (self.offsets, self.picks) {
            (Offsets::Narrow(offsets), Some(picks)) => {
                each(offsets, self.nulls, rows, take, |row| picks[row] as usize);
            }
            (Offsets::Wide(offsets), Some(picks)) => each(offsets, self.nulls, rows, take, |row| picks[row] as usize),
            (Offsets::Narrow(offsets), None) => each(offsets, self.nulls, rows, take, |row| row),
            (Offsets::Wide(offsets), None) => each(offsets, self.nulls, rows, take, |row| row),
        }
    }
}
