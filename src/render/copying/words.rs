//! Values that are few, each with the literals beside it: what a row shows of a dictionary is one piece then, not three.

use arrow_buffer::NullBuffer;

use super::put::{put, put_short};
use crate::plan::LITERAL_PADDING_BYTES;
use crate::pytext::{NONE, Offsets, SHORT_TEXT_BYTES, TextLookup};

/// Bytes of all words of a place at most: they have to stay near while rows are written.
const MAX_BYTES: usize = 8192;
/// Rows for a word at least, so that it pays to put them together.
const MIN_ROWS: usize = 16;

/// Each value that rows pick from, and what nulls show, between the literals that stand before and behind it.
pub struct Words<'a> {
    /// Which word each row shows ...
    picks: &'a [u32],
    /// ... unless it is null: then the last one.
    nulls: Option<&'a NullBuffer>,
    /// Where each begins; one more than there are.
    starts: Vec<u32>,
    /// The words, and room to copy more than the last.
    bytes: Vec<u8>,
    /// Whether none is longer than [`SHORT_TEXT_BYTES`].
    short: bool,
}

impl<'a> Words<'a> {
    /// The values of a column that rows pick from, for about `rows` rows; None where they are too many.
    pub fn new(before: &[u8], lookup: TextLookup<'a>, behind: &[u8], rows: usize) -> Option<Self> {
        let picks = lookup.picks?;
        let count = match lookup.offsets {
            Offsets::Narrow(offsets) => offsets.len(),
            Offsets::Wide(offsets) => offsets.len(),
        };
        if count.checked_mul(MIN_ROWS)? > rows || count.checked_mul(before.len() + behind.len())? > MAX_BYTES {
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
                // A value that no row picks may lead anywhere.
                lookup.data.get(start.ok()?..end.ok()?)?
            };
            if bytes.len() + before.len() + text.len() + behind.len() > MAX_BYTES {
                return None;
            }
            for piece in [before, text, behind] {
                bytes.extend_from_slice(piece);
            }
            starts.push(bytes.len() as u32);
        }
        bytes.resize(bytes.len() + LITERAL_PADDING_BYTES, 0);
        let short = starts.windows(2).all(|two| (two[1] - two[0]) as usize <= SHORT_TEXT_BYTES);
        Some(Self { picks, nulls: lookup.nulls, starts, bytes, short })
    }

    /// Copy a row's word to `to[at..]`, and return where the next piece goes; as [`put`].
    #[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
    #[inline(always)]
    pub fn put(&self, to: &mut [u8], at: usize, row: usize) -> usize {
        let word = match self.nulls {
            Some(nulls) if nulls.is_null(row) => self.starts.len() - 2,
            _ => self.picks[row] as usize,
        };
        let (start, end) = (self.starts[word] as usize, self.starts[word + 1] as usize);
        if self.short { put_short(to, at, &self.bytes, start, end) } else { put(to, at, &self.bytes, start, end) }
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
        let at = (0..rows).fold(0, |at, row| words.put(&mut to, at, row));
        String::from_utf8(to[..at].to_vec()).unwrap()
    }

    #[test]
    fn values_and_nulls_stand_between_their_literals() {
        let picks = [0, 1, 1, 0, 1].repeat(4);
        let nulls = NullBuffer::from([true, true, false, true].repeat(5));
        for (before, behind) in [("", ""), ("a ", "."), ("é", &*"-".repeat(70))] {
            for nulls in [None, Some(&nulls)] {
                let lookup = TextLookup { nulls, ..lookup(&picks, &[0, 3, 8]) };
                let words = Words::new(before.as_bytes(), lookup, behind.as_bytes(), 1000).unwrap();
                let text = |row: usize| match nulls {
                    Some(nulls) if nulls.is_null(row) => "None",
                    _ => ["red", "green"][picks[row] as usize],
                };
                let expected = (0..picks.len()).map(|row| format!("{before}{}{behind}", text(row)));
                assert_eq!(written(&words, picks.len()), expected.collect::<String>());
            }
        }
    }

    #[test]
    fn many_values_few_rows_and_long_literals_are_left_alone() {
        let made = |before: usize, lookup, rows| Words::new(&vec![b'a'; before], lookup, b"", rows).is_some();
        let two = lookup(&[0], &[0, 3, 8]);
        assert!(made(0, two, 3 * MIN_ROWS) && !made(0, two, 3 * MIN_ROWS - 1));
        // Both values, and what nulls show.
        let most = (MAX_BYTES - 8 - NONE.len()) / 3;
        assert!(made(most, two, 1000) && !made(most + 1, two, 1000));
        assert!(!made(0, TextLookup { picks: None, ..two }, 1000));
    }

    #[test]
    fn a_value_that_nobody_picks_may_lead_anywhere() {
        for bad in [[0, 3, 9], [0, 3, 2], [0, 3, -1]] {
            assert!(Words::new(b"", lookup(&[0], &bad), b"", 1000).is_none());
        }
    }
}
