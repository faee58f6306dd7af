//! Values that are few, each with the literals beside it: what a row shows of a dictionary is one piece then, not three.

use super::put::{put, put_short};
use crate::plan::LITERAL_PADDING_BYTES;
use crate::pytext::{Offsets, SHORT_TEXT_BYTES, TextLookup};

/// Bytes of all words of a place at most: they have to stay near while rows are written.
const MAX_BYTES: usize = 8192;
/// Rows for a word at least, so that it pays to put them together.
const MIN_ROWS: usize = 8;

/// Each value that rows pick from, between the literals that stand before and behind it.
pub struct Words<'a> {
    /// Which word each row shows.
    picks: &'a [u32],
    /// Where each begins; one more than there are.
    starts: Vec<u32>,
    /// The words, and room to copy more than the last.
    bytes: Vec<u8>,
    /// Whether none is longer than [`SHORT_TEXT_BYTES`].
    short: bool,
}

impl<'a> Words<'a> {
    /// The values of a column that rows pick from; None where the values are many, rows few, or some row is null.
    pub fn new(before: &[u8], lookup: TextLookup<'a>, behind: &[u8]) -> Option<Self> {
        let picks = lookup.picks.filter(|_| lookup.nulls.is_none())?;
        let values = match lookup.offsets {
            Offsets::Narrow(offsets) => offsets.len(),
            Offsets::Wide(offsets) => offsets.len(),
        };
        let values = values.checked_sub(1)?;
        if values.checked_mul(MIN_ROWS)? > picks.len() || values.checked_mul(before.len() + behind.len())? > MAX_BYTES {
            return None;
        }
        let (mut starts, mut bytes) = (vec![0], Vec::new());
        for value in 0..values {
            let (start, end) = match lookup.offsets {
                Offsets::Narrow(offsets) => (usize::try_from(offsets[value]), usize::try_from(offsets[value + 1])),
                Offsets::Wide(offsets) => (usize::try_from(offsets[value]), usize::try_from(offsets[value + 1])),
            };
            // A value that no row picks may lead anywhere.
            let text = lookup.data.get(start.ok()?..end.ok()?)?;
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
        Some(Self { picks, starts, bytes, short })
    }

    /// Copy a row's word to `to[at..]`, and return where the next piece goes; as [`put`].
    #[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
    #[inline(always)]
    pub fn put(&self, to: &mut [u8], at: usize, row: usize) -> usize {
        let word = self.picks[row] as usize;
        let (start, end) = (self.starts[word] as usize, self.starts[word + 1] as usize);
        if self.short { put_short(to, at, &self.bytes, start, end) } else { put(to, at, &self.bytes, start, end) }
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::NullBuffer;

    use super::*;

    const DATA: &[u8] = b"redgreen";

    fn lookup<'a>(picks: &'a [u32], offsets: &'a [i32]) -> TextLookup<'a> {
        TextLookup { nulls: None, picks: Some(picks), offsets: Offsets::Narrow(offsets), data: DATA, short: false }
    }

    fn written(words: &Words, rows: usize, room: usize) -> String {
        let mut to = vec![b'#'; 4096 + room];
        let at = (0..rows).fold(0, |at, row| words.put(&mut to, at, row));
        String::from_utf8(to[..at].to_vec()).unwrap()
    }

    #[test]
    fn values_stand_between_their_literals() {
        let picks = [0, 1, 1, 0, 1].repeat(4);
        for (before, behind) in [("", ""), ("a ", "."), ("é", &*"-".repeat(70))] {
            let words = Words::new(before.as_bytes(), lookup(&picks, &[0, 3, 8]), behind.as_bytes()).unwrap();
            let one = |pick: &u32| format!("{before}{}{behind}", ["red", "green"][*pick as usize]);
            assert_eq!(written(&words, picks.len(), 0), picks.iter().map(one).collect::<String>());
        }
    }

    #[test]
    fn many_values_few_rows_long_literals_and_nulls_are_left_alone() {
        let picks = [0; 2 * MIN_ROWS];
        let made = |before: &[u8], lookup| Words::new(before, lookup, b"").is_some();
        assert!(made(b"", lookup(&picks, &[0, 3, 8])));
        assert!(!made(b"", lookup(&picks[1..], &[0, 3, 8])));
        assert!(made(&[b'a'; MAX_BYTES / 2 - 4], lookup(&picks, &[0, 3, 8])));
        assert!(!made(&[b'a'; MAX_BYTES / 2 - 3], lookup(&picks, &[0, 3, 8])));
        let nulls = NullBuffer::from(vec![false; picks.len()]);
        assert!(!made(b"", TextLookup { nulls: Some(&nulls), ..lookup(&picks, &[0, 3, 8]) }));
        assert!(!made(b"", TextLookup { picks: None, ..lookup(&picks, &[0, 3, 8]) }));
    }

    #[test]
    fn a_value_that_nobody_picks_may_lead_anywhere() {
        for bad in [[0, 3, 9], [0, 3, 2], [0, 3, -1]] {
            assert!(Words::new(b"", lookup(&[0; 99], &bad), b"").is_none());
        }
    }
}
