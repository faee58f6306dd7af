//! The texts of one column of one batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::fill::{Printed, SLOT_BYTES};
use super::none::NONE;
use super::picks::{dictionary_picks, no_such_value, run_picks, truth_picks};
use super::printer::printer;
use super::slices::Slices;
use crate::error::Result;
use crate::threads;

/// The texts of one column of one batch.
///
/// String columns are shared with the array, checked; other values are printed once, here, or picked from few texts.
#[derive(Clone, Debug)]
pub struct TextColumn {
    len: usize,
    nulls: Option<NullBuffer>,
    layout: TextLayout,
    /// Whether no text is longer than [`SHORT_TEXT_BYTES`], where that is known.
    short: bool,
}

/// The length of numbers and moments, at most: a text known to be no longer is copied in fewer steps.
pub const SHORT_TEXT_BYTES: usize = SLOT_BYTES;

#[derive(Clone, Debug)]
enum TextLayout {
    Plain(Slices),
    /// Which of `values` each row shows; a null row's pick means nothing.
    Picked {
        picks: Vec<u32>,
        values: Box<TextColumn>,
        /// Whether all values were printed and checked, and not those alone that are picked.
        whole: bool,
    },
    /// Stretches of the texts of other columns.
    Spans {
        bases: Arc<[TextColumn]>,
        spans: Vec<TextSpan>,
    },
}

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
    /// Whether no text is longer than [`SHORT_TEXT_BYTES`], where that is known.
    pub short: bool,
}

impl TextLookup<'_> {
    fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        self.each_length(rows.zip(lengths), |sum, length| *sum += length);
    }

    fn total_length(&self, rows: Range<usize>) -> usize {
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

/// A text of [`TextColumn::spans`].
#[derive(Clone, Debug)]
pub enum TextSpan {
    /// A stretch of a text of another column; it begins and ends between characters.
    Of {
        /// Which of the other columns.
        base: usize,
        /// The row of its text.
        row: usize,
        /// The bytes of the text.
        range: Range<usize>,
    },
    /// A text of its own.
    Own(Box<str>),
}

/// Rows that are worth a thread's while.
const MIN_PRINTED_ROWS: usize = 4096;
/// Bytes behind the last of a few texts, and how many bytes are a few.
const ROOM_BYTES: usize = 512;
const MAX_ROOM_BYTES: usize = 64 << 10;

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl TextColumn {
    fn of_slices(len: usize, nulls: Option<NullBuffer>, slices: Slices) -> Self {
        Self { len, nulls, layout: TextLayout::Plain(slices), short: false }
    }

    /// The texts of `array`.
    ///
    /// # Errors
    ///
    /// The first row, from 0, whose value Python couldn't have either (a date after the year 9999, a time that isn't
    /// whole microseconds), or whose bytes aren't UTF-8 or lie outside the array's buffers; or the type, if
    /// [`is_native`](super::is_native) denies it. The caller adds the column's name.
    pub fn new(array: &dyn Array) -> Result<Self> {
        Self::build(array, None, false)
    }

    /// [`Self::new`], on all threads of the pool that is at work; and whether `look` is pleased with all bytes, which is
    /// asked about them piece by piece while they are near: false where they don't lie together. A thread that waits for
    /// others takes up any work of the pool: nothing that this could wait for in turn may be held.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn looked_through(array: &dyn Array, look: &(dyn Fn(&[u8]) -> bool + Sync)) -> Result<(Self, bool)> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        match Slices::of(array) {
            Some(slices) if is_string(array.data_type()) => {
                let pleased = slices.check(array.len(), nulls, None, Some(look))?;
                Ok((Self::of_slices(array.len(), nulls.cloned(), slices), pleased))
            }
            _ if *array.data_type() == DataType::Boolean => Ok((Self::truths(array.as_boolean()), false)),
            _ => Ok((Self::build(array, None, true)?, false)),
        }
    }

    /// Truth values as picks from the two texts that they have, which rows are told from sooner than texts are printed.
    fn truths(array: &BooleanArray) -> Self {
        let slices = Slices::Narrow { offsets: ScalarBuffer::from(vec![0, 5, 9]), data: Buffer::from(b"FalseTrue") };
        let values = Box::new(Self::of_slices(2, None, slices).with_room(None));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let layout = TextLayout::Picked { picks: truth_picks(array), values, whole: true };
        Self { len: array.len(), nulls, layout, short: true }
    }

    /// A string column whose bytes haven't been looked at yet; None if `array` is none, or malformed.
    /// Whoever uses a row has it checked before, by [`Self::checked`].
    pub fn unread(array: &dyn Array) -> Option<Self> {
        let slices = Slices::of(array).filter(|_| is_string(array.data_type()))?;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        slices.in_order().then(|| Self::of_slices(array.len(), nulls, slices))
    }

    /// All bytes of some rows of a column that is [`unread`](Self::unread), those that stand behind nulls among them, if
    /// they are UTF-8 row by row.
    pub fn checked(&self, rows: Range<usize>) -> Option<&[u8]> {
        match &self.layout {
            TextLayout::Plain(slices) => slices.texts(rows),
            _ => None,
        }
    }

    /// Where the text ends that byte `at` of [`checked`](Self::checked) stands in; both count from the first row of `rows`.
    ///
    /// # Panics
    ///
    /// If there are no such rows, or no such byte.
    pub fn end_around(&self, rows: Range<usize>, at: usize) -> usize {
        fn end<O: OffsetSizeTrait>(offsets: &[O], at: usize) -> usize {
            let first = offsets[0].as_usize();
            let behind = offsets.partition_point(|offset| offset.as_usize() <= first + at);
            offsets[behind].as_usize() - first
        }
        match &self.layout {
            TextLayout::Plain(Slices::Narrow { offsets, .. }) => end(&offsets[rows.start..=rows.end], at),
            TextLayout::Plain(Slices::Wide { offsets, .. }) => end(&offsets[rows.start..=rows.end], at),
            _ => unreachable!("rows that were checked together lie together"),
        }
    }

    /// Stretches of the texts of other columns, none of them copied.
    pub fn spans(bases: Arc<[TextColumn]>, spans: Vec<TextSpan>) -> Self {
        Self { len: spans.len(), nulls: None, layout: TextLayout::Spans { bases, spans }, short: false }
    }

    /// Whether the values of a type are printed one by one: they aren't text, and rows don't pick from others.
    pub fn prints_by_row(data_type: &DataType) -> bool {
        use DataType as T;
        let others = matches!(data_type, T::Null | T::Boolean | T::Dictionary(..) | T::RunEndEncoded(..));
        !is_string(data_type) && !others
    }

    /// The texts of some rows, as those of a column; None where they aren't slices of anything.
    ///
    /// # Panics
    ///
    /// If there are no such rows.
    pub fn slice(&self, rows: Range<usize>) -> Option<Self> {
        let layout = match &self.layout {
            TextLayout::Plain(slices) => TextLayout::Plain(slices.slice(&rows)),
            TextLayout::Picked { picks, values, whole } => {
                let picks = picks[rows.clone()].to_vec();
                TextLayout::Picked { picks, values: values.clone(), whole: *whole }
            }
            TextLayout::Spans { .. } => return None,
        };
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(rows.start, rows.len()));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Some(Self { len: rows.len(), nulls, layout, short: self.short })
    }

    /// The texts of the rows of `array` that `live` has as valid; the others are never asked for, and may be anything.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn of_live(array: &dyn Array, live: &NullBuffer) -> Result<Self> {
        Self::build(array, Some(live), false)
    }

    /// With `pool`, on all threads of the pool that is at work.
    fn build(array: &dyn Array, live: Option<&NullBuffer>, pool: bool) -> Result<Self> {
        let len = array.len();
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        match array.data_type() {
            own if is_string(own) => {
                if let Some(slices) = Slices::of(array) {
                    slices.check(len, nulls.as_ref(), live, None)?;
                    return Ok(Self::of_slices(len, nulls, slices));
                }
            }
            DataType::Null => {
                let slices = Slices::Narrow { offsets: ScalarBuffer::from(vec![0; len + 1]), data: Buffer::default() };
                return Ok(Self { short: true, ..Self::of_slices(len, Some(NullBuffer::new_null(len)), slices) });
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                return Self::picked(dictionary_picks(dictionary), nulls, live, dictionary.values(), pool);
            }
            DataType::RunEndEncoded(..) => {
                let (picks, values) = run_picks(array)?;
                return Self::picked(picks, nulls, live, values, pool);
            }
            _ => {}
        }
        Self::printed(array, live, pool)
    }

    /// The texts of `values` by `picks`. Only what is picked is printed and checked.
    fn picked(
        mut picks: Vec<u32>,
        nulls: Option<NullBuffer>,
        live: Option<&NullBuffer>,
        values: &dyn Array,
        pool: bool,
    ) -> Result<Self> {
        let len = picks.len();
        // A null's pick may be anything, and isn't looked at.
        if let Some(nulls) = &nulls {
            picks.iter_mut().zip(nulls).filter(|(_, valid)| !valid).for_each(|(pick, _)| *pick = 0);
        }
        // Where few values are all fine, it doesn't matter which are picked.
        if live.is_none()
            && values.len() <= len
            && picks.iter().max().is_some_and(|last| (*last as usize) < values.len())
            && let Ok(values) = Self::build(values, None, pool)
        {
            let values = Box::new(values.with_room(None));
            let short = values.short;
            return Ok(Self { len, nulls, layout: TextLayout::Picked { picks, values, whole: true }, short });
        }
        let asked = |row: &usize| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row)) && live.is_none_or(|live| live.is_valid(*row))
        };
        let mut used = BooleanBufferBuilder::new(values.len());
        used.append_n(values.len(), false);
        for row in (0..len).filter(asked) {
            let pick = picks[row] as usize;
            if pick >= values.len() {
                return Err(no_such_value(values.len()).at_row(row));
            }
            used.set_bit(pick, true);
        }
        let used = NullBuffer::new(used.finish());
        let used = Some(used).filter(|used| used.null_count() > 0);
        let texts = Self::build(values, used.as_ref(), pool).map_err(|error| {
            // The values' row says nothing to the user: name the first row of the column that shows it.
            let Some(at) = error.place().row else { return error };
            match (0..len).filter(asked).find(|row| picks[*row] as usize == at) {
                Some(row) => error.at_row(row),
                None => error,
            }
        })?;
        // Nor is the pick of a row that isn't live.
        if live.is_some() {
            picks.iter_mut().filter(|pick| **pick as usize >= values.len()).for_each(|pick| *pick = 0);
        }
        let values = Box::new(texts.with_room(used.as_ref()));
        let short = values.short;
        Ok(Self { len, nulls, layout: TextLayout::Picked { picks, values, whole: false }, short })
    }

    /// The same with bytes behind the last text, so that each can be copied together with what follows it. Texts that are
    /// many are left as they are: few of them stand near the end. Of `used` texts those that aren't are never asked for,
    /// and may lead anywhere.
    fn with_room(mut self, used: Option<&NullBuffer>) -> Self {
        if let TextLayout::Plain(Slices::Narrow { data, .. } | Slices::Wide { data, .. }) = &mut self.layout
            && data.len() <= MAX_ROOM_BYTES
        {
            let mut own = Vec::with_capacity(data.len() + ROOM_BYTES);
            own.extend_from_slice(data);
            own.resize(data.len() + ROOM_BYTES, 0);
            *data = Buffer::from_vec(own);
            let asked = |row: &usize| !self.is_null(*row) && used.is_none_or(|used| used.is_valid(*row));
            self.short = (0..self.len).filter(asked).all(|row| self.length(row) <= SHORT_TEXT_BYTES);
        }
        self
    }

    /// The texts of an array whose values have to be printed.
    fn printed(array: &dyn Array, live: Option<&NullBuffer>, pool: bool) -> Result<Self> {
        let len = array.len();
        let printer = printer(array)?;
        let print = |rows: Range<usize>| {
            let mut out = Printed::new(rows.len());
            printer.print_all(rows, live, &mut out).map(|()| out)
        };
        let parts = if pool { threads::count() } else { 1 };
        let rows = if parts > 1 { len.div_ceil(2 * parts).max(MIN_PRINTED_ROWS) } else { len.max(1) };
        // The first row that fails is named, whoever comes upon one first: so none stops the others.
        let printed: Result<Vec<Printed>> = threads::map(threads::chunks(0..len, rows), print).into_iter().collect();
        let slices = Printed::joined(printed?).into_slices();
        Ok(Self { short: printer.is_short(), ..Self::of_slices(len, None, slices) })
    }

    /// Whether the value of row `row` is missing.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Whether any value is missing.
    pub fn has_nulls(&self) -> bool {
        self.nulls.is_some()
    }

    /// The length of the text of row `row`, in bytes.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn length(&self, row: usize) -> usize {
        let (_, start, end) = self.place(row);
        end - start
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text of row `row`, valid UTF-8; a null's is `None`.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn bytes(&self, row: usize) -> &[u8] {
        if let Some(nulls) = &self.nulls
            && nulls.is_null(row)
        {
            return NONE;
        }
        match &self.layout {
            TextLayout::Plain(slices) => slices.get(row),
            TextLayout::Picked { picks, values, .. } => values.bytes(picks[row] as usize),
            TextLayout::Spans { bases, spans } => match &spans[row] {
                TextSpan::Of { base, row, range } => &bases[*base].bytes(*row)[range.clone()],
                TextSpan::Own(text) => text.as_bytes(),
            },
        }
    }

    /// The text of row `row`, valid UTF-8: what it is part of, its first byte and the byte after its last.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn place(&self, row: usize) -> (&[u8], usize, usize) {
        match self.plain() {
            Some((Offsets::Narrow(offsets), data)) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Some((Offsets::Wide(offsets), data)) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            None => match &self.layout {
                // There may be room behind the value, of which nothing is known of a text by itself.
                TextLayout::Picked { picks, values, .. } if !self.is_null(row) => values.place(picks[row] as usize),
                _ => {
                    let bytes = self.bytes(row);
                    (bytes, 0, bytes.len())
                }
            },
        }
    }

    /// Where the texts lie, for string views into them: None where nulls are printed, values are picked, or a view can't
    /// reach all bytes.
    pub fn buffers(&self) -> Option<Vec<Buffer>> {
        match (&self.nulls, &self.layout) {
            (None, TextLayout::Plain(slices)) => slices.buffers(),
            _ => None,
        }
    }

    /// The view of row `row`, if the [`buffers`](Self::buffers) stand behind `base` others. An inline view for a column
    /// without any.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn view(&self, row: usize, base: u32) -> u128 {
        match &self.layout {
            TextLayout::Plain(slices) => slices.view(row, base),
            _ => 0,
        }
    }

    /// Offsets and bytes of all texts, where nothing stands between a row and them: no null, no dictionary, no view.
    pub fn plain(&self) -> Option<(Offsets<'_>, &[u8])> {
        match (&self.nulls, &self.layout) {
            (None, TextLayout::Plain(Slices::Narrow { offsets, data })) => Some((Offsets::Narrow(offsets), data)),
            (None, TextLayout::Plain(Slices::Wide { offsets, data })) => Some((Offsets::Wide(offsets), data)),
            _ => None,
        }
    }

    /// All texts that rows pick from, nulls aside; None if rows have texts of their own, or not all of them were checked.
    pub fn picked_from(&self) -> Option<&Self> {
        match &self.layout {
            TextLayout::Picked { values, whole: true, .. } => Some(values),
            _ => None,
        }
    }

    /// The same rows with other texts to pick from, which are as many; None if rows have texts of their own.
    #[must_use]
    pub fn picking_from(&self, values: Self) -> Option<Self> {
        let TextLayout::Picked { picks, whole, .. } = &self.layout else { return None };
        let values = Box::new(values.with_room(None));
        let short = values.short;
        let layout = TextLayout::Picked { picks: picks.clone(), values, whole: *whole };
        Some(Self { len: self.len, nulls: self.nulls.clone(), layout, short })
    }

    /// Whether no text is longer than [`SHORT_TEXT_BYTES`], where that is known.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// How rows lead to their texts, where they all stand in one stretch of bytes but those of nulls.
    pub fn lookup(&self) -> Option<TextLookup<'_>> {
        let (picks, slices) = match &self.layout {
            TextLayout::Plain(slices) => (None, slices),
            TextLayout::Picked { picks, values, .. } => match &**values {
                Self { len: 1.., nulls: None, layout: TextLayout::Plain(slices), .. } => (Some(&picks[..]), slices),
                _ => return None,
            },
            TextLayout::Spans { .. } => return None,
        };
        let (offsets, data) = match slices {
            Slices::Narrow { offsets, data } => (Offsets::Narrow(offsets), data),
            Slices::Wide { offsets, data } => (Offsets::Wide(offsets), data),
            _ => return None,
        };
        Some(TextLookup { nulls: self.nulls.as_ref(), picks, offsets, data, short: self.short })
    }

    /// The lengths of the texts of `rows`, added up.
    ///
    /// # Panics
    ///
    /// If there are no such rows.
    pub fn total_length(&self, rows: Range<usize>) -> usize {
        match (self.plain(), self.lookup()) {
            (Some((Offsets::Narrow(offsets), _)), _) => (offsets[rows.end] - offsets[rows.start]) as usize,
            (Some((Offsets::Wide(offsets), _)), _) => (offsets[rows.end] - offsets[rows.start]) as usize,
            (None, Some(lookup)) => lookup.total_length(rows),
            (None, None) => rows.map(|row| self.length(row)).sum(),
        }
    }

    /// Add the length of each text of `rows` to `lengths`, one place a row.
    ///
    /// # Panics
    ///
    /// If there are no such rows, or fewer places.
    pub fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        // Plain offsets are subtracted as they lie, which the compiler turns into vector code.
        fn differences<O: Copy + Into<i64>>(offsets: &[O], lengths: &mut [usize]) {
            for (length, ends) in lengths.iter_mut().zip(offsets.windows(2)) {
                *length += (ends[1].into() - ends[0].into()) as usize;
            }
        }
        let lengths = &mut lengths[..rows.len()];
        match (self.plain(), self.lookup()) {
            (Some((Offsets::Narrow(offsets), _)), _) => differences(&offsets[rows.start..=rows.end], lengths),
            (Some((Offsets::Wide(offsets), _)), _) => differences(&offsets[rows.start..=rows.end], lengths),
            (None, Some(lookup)) => lookup.add_lengths(rows, lengths),
            (None, None) => {
                for (length, row) in lengths.iter_mut().zip(rows) {
                    *length += self.bytes(row).len();
                }
            }
        }
    }

    /// All value bytes in one slice, for scanning a column at once; `None` if they lie apart (views, dictionaries).
    ///
    /// Of a slice of a larger array it is the slice's range alone. A null's `None` isn't among them where the column
    /// shares the array's buffers, and what stands in a null's place may be any bytes, even invalid UTF-8.
    pub fn contiguous(&self) -> Option<&[u8]> {
        let (first, last, data) = match &self.layout {
            TextLayout::Plain(Slices::Narrow { offsets, data }) => {
                (i64::from(*offsets.first()?), i64::from(*offsets.last()?), data)
            }
            TextLayout::Plain(Slices::Wide { offsets, data }) => (*offsets.first()?, *offsets.last()?, data),
            _ => return None,
        };
        data.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)
    }
}
