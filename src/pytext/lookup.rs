//! How the rows of a column lead to their texts.

use std::ops::Range;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::NullBuffer;

use super::none::NONE;

/// Where texts that lie one behind the other begin; one more than there are texts. All have been checked.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// 32 bits each.
    Narrow(&'a [i32]),
    /// 64 bits each.
    Wide(&'a [i64]),
}

/// How the rows of a column lead to their texts.
#[derive(Clone, Copy, Debug)]
pub struct TextLookup<'a> {
    /// Rows whose text is `None`, whatever else is said of them.
    pub nulls: Option<&'a NullBuffer>,
    /// Which text each row shows, if it isn't the one of its own number; each is there, a null's too.
    pub picks: Option<&'a [u32]>,
    /// Where the texts begin.
    pub offsets: Offsets<'a>,
    /// What they are made of.
    pub data: &'a [u8],
    /// Whether no text is longer than [`SHORT_TEXT_BYTES`](super::SHORT_TEXT_BYTES), where that is known.
    pub short: bool,
}

impl TextLookup<'_> {
    /// Add the length of each text of `rows` to `lengths`, one place a row.
    pub(super) fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        self.each_length(rows.zip(lengths), |sum, length| *sum += length);
    }

    /// The lengths of the texts of `rows`, added up.
    pub(super) fn total_length(&self, rows: Range<usize>) -> usize {
        let mut total = 0;
        self.each_length(rows.map(|row| (row, ())), |(), length| total += length);
        total
    }

    #[inline]
    fn each_length<T>(&self, rows: impl Iterator<Item = (usize, T)>, take: impl FnMut(T, usize)) {
        /// The loop for each way to a text: what isn't asked isn't in it.
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
