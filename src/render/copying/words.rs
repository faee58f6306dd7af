//! Joins each of a few values with the literals around it, so that a row copies one piece instead of three.

use arrow_buffer::NullBuffer;

use super::put::{put, put_short};
use crate::plan::LITERAL_PADDING_BYTES;
use crate::python_text::{NONE, Offsets, SHORT_TEXT_BYTES, TextLookup};

/// The most bytes of all words of a column; they have to stay in cache while rows are written.
const MAX_BYTES: usize = 8192;
/// The least number of rows for each word, so that joining the words pays.
const MIN_ROWS: usize = 16;

/// Each value that rows pick from, and the text of nulls, joined with the literals before and after it.
pub struct Words<'a> {
    /// The word that each row shows ...
    picks: &'a [u32],
    /// ... unless the row is null: then it shows the last word.
    nulls: Option<&'a NullBuffer>,
    /// The start of each word, then the end of the last word.
    starts: Vec<u32>,
    /// The words, followed by room to copy more than the last word.
    bytes: Vec<u8>,
    /// True if no word is longer than [`SHORT_TEXT_BYTES`].
    short: bool,
}

impl<'a> Words<'a> {
    /// Join the values of a column that rows pick from, for about `rows` rows; None if there are too many.
    pub fn new(before: &[u8], lookup: TextLookup<'a>, after: &[u8], rows: usize) -> Option<Self> {
        let picks = lookup.picks?;
        let count = match lookup.offsets {
            Offsets::Narrow(offsets) => offsets.len(),
            Offsets::Wide(offsets) => offsets.len(),
        };
        if count.checked_mul(MIN_ROWS)? > rows || count.checked_mul(before.len() + after.len())? > MAX_BYTES {
            return None;
        }
        let (mut starts, mut bytes) = (vec![0], Vec::new());
        for value in 1..=count {
            let text = if value == count {
                NONE
            } else {
                let (start, end) = match lookup.offsets {
                    Offsets::Narrow(offsets) => (usize::try_from(offsets[value - 1]), usize::try_from(offsets[value])),
                    Offsets::Wide(offsets) => (usize::try_from(offsets[value - 1]), usize::try_from(offsets[value])),
                };
                // The offsets of a value that no row picks may be invalid.
                lookup.data.get(start.ok()?..end.ok()?)?
            };
            if bytes.len() + before.len() + text.len() + after.len() > MAX_BYTES {
                return None;
            }
            for piece in [before, text, after] {
                bytes.extend_from_slice(piece);
            }
            starts.push(bytes.len() as u32);
        }
        bytes.resize(bytes.len() + LITERAL_PADDING_BYTES, 0);
        let short = starts.windows(2).all(|two| (two[1] - two[0]) as usize <= SHORT_TEXT_BYTES);
        Some(Self { picks, nulls: lookup.nulls, starts, bytes, short })
    }

    /// Copy a row's word to `to[position..]`, and return the position of the next piece, as [`put`] does.
    #[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
    #[inline(always)]
    pub fn put(&self, to: &mut [u8], position: usize, row: usize) -> usize {
        let word = match self.nulls {
            Some(nulls) if nulls.is_null(row) => self.starts.len() - 2,
            _ => self.picks[row] as usize,
        };
        let (start, end) = (self.starts[word] as usize, self.starts[word + 1] as usize);
        if self.short {
            put_short(to, position, &self.bytes, start, end)
        } else {
            put(to, position, &self.bytes, start, end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"redgreen";

    fn lookup<'a>(picks: &'a [u32], offsets: &'a [i32]) -> TextLookup<'a> {
        TextLookup { nulls: None, picks: Some(picks), offsets: Offsets::Narrow(offsets), data: DATA, short: false }
    }

    fn written(words: &Words, rows: usize) -> String {
        let mut to = vec![b'#'; 4096];
        let position = (0..rows).fold(0, |position, row| words.put(&mut to, position, row));
        String::from_utf8(to[..position].to_vec()).unwrap()
    }

    #[test]
    fn values_and_nulls_stand_between_their_literals() {
        let picks = [0, 1, 1, 0, 1].repeat(4);
        let nulls = NullBuffer::from([true, true, false, true].repeat(5));
        for (before, after) in [("", ""), ("a ", "."), ("é", &*"-".repeat(70))] {
            for nulls in [None, Some(&nulls)] {
                let lookup = TextLookup { nulls, ..lookup(&picks, &[0, 3, 8]) };
                let words = Words::new(before.as_bytes(), lookup, after.as_bytes(), 1000).unwrap();
                let text = |row: usize| match nulls {
                    Some(nulls) if nulls.is_null(row) => "None",
                    _ => ["red", "green"][picks[row] as usize],
                };
                let expected = (0..picks.len()).map(|row| format!("{before}{}{after}", text(row)));
                assert_eq!(written(&words, picks.len()), expected.collect::<String>());
            }
        }
    }

    #[test]
    fn many_values_few_rows_and_long_literals_are_left_alone() {
        let is_joined = |before: usize, lookup, rows| Words::new(&vec![b'a'; before], lookup, b"", rows).is_some();
        let two = lookup(&[0], &[0, 3, 8]);
        assert!(is_joined(0, two, 3 * MIN_ROWS) && !is_joined(0, two, 3 * MIN_ROWS - 1));
        // Both values, and the text of nulls.
        let most = (MAX_BYTES - 8 - NONE.len()) / 3;
        assert!(is_joined(most, two, 1000) && !is_joined(most + 1, two, 1000));
        assert!(!is_joined(0, TextLookup { picks: None, ..two }, 1000));
    }

    #[test]
    fn a_value_that_nobody_picks_may_lead_anywhere() {
        for bad in [[0, 3, 9], [0, 3, 2], [0, 3, -1]] {
            assert!(Words::new(b"", lookup(&[0], &bad), b"", 1000).is_none());
        }
    }
}
