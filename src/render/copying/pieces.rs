//! The pieces that a text is made of, each bound to its bytes; `put` copies them.

use std::ops::Range;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::NullBuffer;
use multiversion::multiversion;

use super::put::{STEP_BYTES, put, put_literal, put_short};
use super::words::Words;
use crate::python_text::{NONE, Offsets, TextColumn, TextLookup};
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::template::FragmentRef;

/// A piece of a text, bound to its bytes.
#[derive(Clone, Copy)]
pub enum Step<'a> {
    /// The bytes `.1..=.2` of the buffer of all literals.
    Lit(&'a [u8], usize, usize),
    /// A column without nulls, with 32-bit offsets.
    Narrow(&'a [i32], &'a [u8]),
    /// A column without nulls, with 64-bit offsets.
    Wide(&'a [i64], &'a [u8]),
    /// A column whose rows may be null, or show texts in another order, or are short.
    Lookup(TextLookup<'a>),
    /// Any column.
    Field(&'a TextColumn),
    /// A part of the fragment in this slot.
    Fragment(u32, u32, &'a FragmentStore),
    /// A part of the fragment in this slot, if all fragments have the same number of parts: this number, the offsets of
    /// the parts, and the bytes.
    EvenFragment(u32, u32, usize, &'a [i32], &'a [u8]),
    /// A part of the fragment in this slot that is a plain column, with 32-bit offsets.
    NarrowFragment(u32, &'a [i32], &'a [u8]),
    /// A newline if any of the next steps (that many) writes anything.
    LineIf(usize),
}

impl<'a> Step<'a> {
    /// Make the step of a column's texts.
    pub fn column(texts: &'a TextColumn) -> Self {
        match texts.plain().filter(|_| !texts.is_short()) {
            Some((Offsets::Narrow(offsets), data)) => Self::Narrow(offsets, data),
            Some((Offsets::Wide(offsets), data)) => Self::Wide(offsets, data),
            None => texts.lookup().map_or(Self::Field(texts), Self::Lookup),
        }
    }

    /// Make the step of a fragment, which stays in its store.
    pub fn fragment(reference: FragmentRef, stores: FragmentStores<'a>) -> Self {
        let FragmentRef { set, slot, part } = reference;
        let store = stores.of(set);
        match (store.as_column(part), store.even()) {
            (Some(column), _) => match column.plain() {
                Some((Offsets::Narrow(offsets), data)) => Self::NarrowFragment(slot, offsets, data),
                _ => Self::Fragment(slot, part, store),
            },
            (None, Some((each, offsets, bytes))) => Self::EvenFragment(slot, part, each, offsets, bytes),
            (None, None) => Self::Fragment(slot, part, store),
        }
    }

    /// Return true if the pieces of all rows are contiguous.
    pub fn is_joined(&self) -> bool {
        matches!(self, Self::Narrow(..) | Self::Wide(..) | Self::Lookup(TextLookup { nulls: None, picks: None, .. }))
    }

    /// Return the bytes that hold a row's piece, and the start and end of the piece among them.
    #[allow(clippy::inline_always, reason = "the row loop; a call here costs as much as the piece")]
    #[inline(always)]
    pub fn location(&self, row: usize, row_fragments: &[u32]) -> (&'a [u8], usize, usize) {
        match *self {
            Self::Lit(bytes, start, end) => (bytes, start, end),
            Self::Narrow(offsets, data) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Self::Wide(offsets, data) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Self::Lookup(lookup) => {
                let text = lookup.picks.map_or(row, |picks| picks[row] as usize);
                let (start, end) = match lookup.offsets {
                    Offsets::Narrow(offsets) => (offsets[text] as usize, offsets[text + 1] as usize),
                    Offsets::Wide(offsets) => (offsets[text] as usize, offsets[text + 1] as usize),
                };
                or_none(lookup.nulls, row, (lookup.data, start, end))
            }
            Self::Field(texts) => texts.location(row),
            Self::Fragment(slot, part, store) => store.location(row_fragments[slot as usize], part),
            Self::EvenFragment(slot, part, each, offsets, bytes) => {
                let index = row_fragments[slot as usize] as usize * each + part as usize;
                (bytes, offsets[index] as usize, offsets[index + 1] as usize)
            }
            Self::NarrowFragment(slot, offsets, data) => {
                let row = row_fragments[slot as usize] as usize;
                (data, offsets[row] as usize, offsets[row + 1] as usize)
            }
            Self::LineIf(_) => (b"\n", 0, 1),
        }
    }
}

/// Steps in the form that nearly all programs have: literals alternate with values, and all values have the same kind,
/// or were joined with their literals as words. A loop over these pairs needs almost no branches.
pub struct Pairs<'a, O> {
    literals: &'a [u8],
    all: Vec<Pair<'a, O>>,
    /// The literal after the last value.
    end: (usize, usize),
}

/// A part of a text; the parts are written in order.
enum Pair<'a, O> {
    /// A literal with its start and end, followed by a value.
    Two((usize, usize), PairValue<'a, O>),
    /// A value that is one of a few, joined with the literals around it.
    Joined(Words<'a>),
}

/// The value of a pair: the index of its text among contiguous texts.
#[derive(Clone, Copy)]
pub struct PairValue<'a, O> {
    which: Which<'a>,
    /// The rows whose text is `None`.
    nulls: Option<&'a NullBuffer>,
    offsets: &'a [O],
    /// The bytes of the texts, and the text of nulls.
    data: [&'a [u8]; 2],
    /// True if all texts are short.
    short: bool,
}

impl<'a, O> PairValue<'a, O> {
    fn new(which: Which<'a>, offsets: &'a [O], data: &'a [u8]) -> Self {
        Self { which, nulls: None, offsets, data: [data, &NONE_WITH_ROOM], short: false }
    }

    fn of_lookup(lookup: TextLookup<'a>, offsets: &'a [O]) -> Self {
        let TextLookup { nulls, picks, data, short, .. } = lookup;
        Self { nulls, short, ..Self::new(picks.map_or(Which::Row, Which::Picked), offsets, data) }
    }
}

#[derive(Clone, Copy)]
enum Which<'a> {
    /// The text of the row.
    Row,
    /// A part of the fragment in a slot: the number of parts of each fragment, and the index of this part.
    Fragment(u32, usize, usize),
    /// The text that the row picks.
    Picked(&'a [u32]),
}

/// Return the text of nulls if the row is null, else `location`.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn or_none<'a>(nulls: Option<&NullBuffer>, row: usize, location: (&'a [u8], usize, usize)) -> (&'a [u8], usize, usize) {
    if nulls.is_some_and(|nulls| nulls.is_null(row)) { (&NONE_WITH_ROOM, 0, NONE.len()) } else { location }
}

/// The text of nulls, followed by bytes that may be copied along with it.
static NONE_WITH_ROOM: [u8; STEP_BYTES] = {
    let mut bytes = [0; STEP_BYTES];
    let mut index = 0;
    while index < NONE.len() {
        bytes[index] = NONE[index];
        index += 1;
    }
    bytes
};

/// Offsets of the same width, and the values of steps that have such offsets.
pub trait Width: OffsetSizeTrait {
    /// Return the value of a step with offsets of this width.
    fn value<'a>(step: &Step<'a>) -> Option<PairValue<'a, Self>>;
}

impl Width for i32 {
    fn value<'a>(step: &Step<'a>) -> Option<PairValue<'a, Self>> {
        Some(match *step {
            Step::Narrow(offsets, data) => PairValue::new(Which::Row, offsets, data),
            Step::Lookup(lookup) => match lookup.offsets {
                Offsets::Narrow(offsets) => PairValue::of_lookup(lookup, offsets),
                Offsets::Wide(_) => return None,
            },
            Step::NarrowFragment(slot, offsets, data) => PairValue::new(Which::Fragment(slot, 1, 0), offsets, data),
            Step::EvenFragment(slot, part, each, offsets, data) => {
                PairValue::new(Which::Fragment(slot, each, part as usize), offsets, data)
            }
            _ => return None,
        })
    }
}

impl Width for i64 {
    fn value<'a>(step: &Step<'a>) -> Option<PairValue<'a, Self>> {
        Some(match *step {
            Step::Wide(offsets, data) => PairValue::new(Which::Row, offsets, data),
            Step::Lookup(lookup) => match lookup.offsets {
                Offsets::Wide(offsets) => PairValue::of_lookup(lookup, offsets),
                Offsets::Narrow(_) => return None,
            },
            _ => return None,
        })
    }
}

impl<'a, O: Width> Pairs<'a, O> {
    /// Convert `steps` into pairs, for about `rows` rows; None if they don't have this form.
    pub fn new(steps: &[Step<'a>], literals: &'a [u8], rows: usize) -> Option<Self> {
        let fits = |step: &Step<'a>| matches!(step, Step::Lit(..) | Step::Lookup(_)) || O::value(step).is_some();
        if !steps.iter().all(fits) {
            return None;
        }
        let mut out = Self { literals, all: Vec::new(), end: (0, 0) };
        let mut rest = steps;
        while let [step, after @ ..] = rest {
            rest = after;
            if let Step::Lit(_, start, end) = *step
                && out.end.0 == out.end.1
            {
                out.end = (start, end);
                continue;
            }
            let literal = std::mem::take(&mut out.end);
            let (next, after) = match after {
                [Step::Lit(_, start, end), after @ ..] => (*start..*end, after),
                _ => (0..0, after),
            };
            if let Step::Lookup(lookup) = *step
                && let Some(words) = Words::new(&literals[literal.0..literal.1], lookup, &literals[next], rows)
            {
                out.all.push(Pair::Joined(words));
                rest = after;
            } else {
                out.all.push(Pair::Two(literal, O::value(step)?));
            }
        }
        Some(out)
    }

    /// Write a row's text to `to[position..]`, and return the position of the next text.
    #[allow(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub fn write(&self, to: &mut [u8], mut position: usize, row: usize, row_fragments: &[u32]) -> usize {
        for pair in &self.all {
            let (literal, value) = match pair {
                Pair::Two(literal, value) => (literal, value),
                Pair::Joined(words) => {
                    position = words.put(to, position, row);
                    continue;
                }
            };
            position = put_literal(to, position, self.literals, literal.0, literal.1);
            let PairValue { which, nulls, offsets, data, short } = *value;
            let text = match which {
                Which::Row => row,
                Which::Fragment(slot, each, part) => row_fragments[slot as usize] as usize * each + part,
                Which::Picked(picks) => picks[row] as usize,
            };
            let (start, end) = (offsets[text].as_usize(), offsets[text + 1].as_usize());
            position = match nulls {
                None if short => put_short(to, position, data[0], start, end),
                None => put(to, position, data[0], start, end),
                // Nulls are unpredictable, so their text is looked up without a branch.
                Some(nulls) => {
                    let null = usize::from(nulls.is_null(row));
                    put(to, position, data[null], [start, 0][null], [end, NONE.len()][null])
                }
            };
        }
        if self.end.0 == self.end.1 { position } else { put(to, position, self.literals, self.end.0, self.end.1) }
    }
}

/// Call [`Pairs::write`] for some rows. This function is compiled a second time for processors with AVX2, which copy a
/// piece in half as many loads and stores.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub fn write_rows<O: Width>(
    pairs: &Pairs<'_, O>,
    to: &mut [u8],
    position: usize,
    rows: Range<usize>,
    row_fragments: &RowFragments,
) -> usize {
    rows.fold(position, |position, row| pairs.write(to, position, row, row_fragments.of(row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [i32; 18] = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 256, 257, 300, 512, 513, 900];
    const ROWS: usize = LENGTHS.len();

    fn bytes(len: usize) -> Vec<u8> {
        (b'a'..=b'z').cycle().take(len).collect()
    }

    /// Check that both ways of writing give the same bytes, with and without room after the pieces. Some processors run
    /// another writer than the others.
    fn assert_written<O: Width>(steps: &[Step], literals: &[u8], rows: usize, row_fragments: &RowFragments) {
        let mut expected = Vec::new();
        for row in 0..ROWS {
            for step in steps {
                let (bytes, start, end) = step.location(row, row_fragments.of(row));
                expected.extend_from_slice(&bytes[start..end]);
            }
        }
        let pairs = Pairs::<O>::new(steps, literals, rows).unwrap();
        for room in [0, 5, 31, 40, 1000] {
            let (mut one_by_one, mut all) = (vec![b'#'; expected.len() + room], vec![b'#'; expected.len() + room]);
            let end =
                (0..ROWS).fold(0, |position, row| pairs.write(&mut one_by_one, position, row, row_fragments.of(row)));
            assert_eq!(
                (end, write_rows(&pairs, &mut all, 0, 0..ROWS, row_fragments)),
                (expected.len(), expected.len())
            );
            assert!(one_by_one[..end] == expected && all[..end] == expected, "{room}");
        }
    }

    #[test]
    fn rows_together_are_the_rows_one_by_one() {
        let mut offsets = vec![0];
        for length in LENGTHS {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let wide: Vec<i64> = offsets.iter().map(|offset| i64::from(*offset)).collect();
        // No bytes follow the last of the texts.
        let data = bytes(offsets[ROWS] as usize);
        let nulls: NullBuffer = (0..ROWS).map(|row| row % 3 != 1).collect();
        let picks: Vec<u32> = (0..ROWS as u32).map(|row| row * 5 % ROWS as u32).collect();
        let (few, shorts): (Vec<u32>, Vec<i32>) =
            (picks.iter().map(|pick| pick % 2).collect(), (0..=ROWS as i32).collect());
        let row_fragments = RowFragments {
            bounds: (0..ROWS).map(|row| (row, row + 1)).collect(),
            fragments: (0..ROWS as u32).rev().collect(),
        };
        let narrow = Offsets::Narrow(&offsets);
        let lookup = TextLookup { nulls: None, picks: None, offsets: narrow, data: &data, short: false };
        let lookups = [
            TextLookup { nulls: Some(&nulls), ..lookup },
            TextLookup { picks: Some(&picks), ..lookup },
            TextLookup { nulls: Some(&nulls), picks: Some(&picks), ..lookup },
            TextLookup { offsets: Offsets::Narrow(&shorts), short: true, ..lookup },
            // Words, which are made for this number of rows.
            TextLookup { picks: Some(&few), offsets: Offsets::Narrow(&[0, 3, 40]), ..lookup },
            TextLookup { picks: Some(&few), offsets: Offsets::Narrow(&[0, 3, 8]), nulls: Some(&nulls), ..lookup },
        ];
        for literal in [0, 3, 16, 17, 64, 65, 257, 600] {
            let literals = bytes(7 + literal);
            let (first, last) = (Step::Lit(&literals, 0, literal), Step::Lit(&literals, 7, 7 + literal));
            for lookup in lookups {
                for rows in [ROWS, 1000] {
                    let steps = [
                        first,
                        Step::Narrow(&offsets, &data),
                        last,
                        Step::Lookup(lookup),
                        Step::NarrowFragment(0, &offsets, &data),
                        first,
                        Step::EvenFragment(0, 0, 1, &offsets, &data),
                        last,
                    ];
                    assert_written::<i32>(&steps, &literals, rows, &row_fragments);
                }
            }
            let lookup = TextLookup { nulls: Some(&nulls), offsets: Offsets::Wide(&wide), ..lookup };
            let steps = [first, Step::Wide(&wide, &data), last, Step::Lookup(lookup)];
            assert_written::<i64>(&steps, &literals, ROWS, &row_fragments);
        }
    }
}
