//! The texts of an array: shared with it, printed, or picked from few.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::column::{SHORT_TEXT_BYTES, TextColumn, TextLayout};
use super::fill::Printed;
use super::picks::{dictionary_picks, no_such_value, run_picks, truth_picks};
use super::printer::printer;
use super::slices::Slices;
use crate::error::Result;
use crate::threads;

/// Rows that are worth a thread's while.
const MIN_PRINTED_ROWS: usize = 4096;
/// Bytes behind the last of a few texts, and how many bytes are a few.
const ROOM_BYTES: usize = 512;
const MAX_ROOM_BYTES: usize = 64 << 10;

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl TextColumn {
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

    /// A string column whose bytes haven't been looked at yet; None if `array` is none, or malformed.
    /// Whoever uses a row has it checked before, by [`Self::checked`].
    pub fn unread(array: &dyn Array) -> Option<Self> {
        let slices = Slices::of(array).filter(|_| is_string(array.data_type()))?;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        slices.in_order().then(|| Self::of_slices(array.len(), nulls, slices))
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

    /// Truth values as picks from the two texts that they have, which rows are told from sooner than texts are printed.
    fn truths(array: &BooleanArray) -> Self {
        let slices = Slices::Narrow { offsets: ScalarBuffer::from(vec![0, 5, 9]), data: Buffer::from(b"FalseTrue") };
        let values = Box::new(Self::of_slices(2, None, slices).with_room(None));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let layout = TextLayout::Picked { picks: truth_picks(array), values, whole: true };
        Self { len: array.len(), nulls, layout, short: true }
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

    /// The same rows with other texts to pick from, which are as many; None if rows have texts of their own.
    #[must_use]
    pub fn picking_from(&self, values: Self) -> Option<Self> {
        let TextLayout::Picked { picks, whole, .. } = &self.layout else { return None };
        let values = Box::new(values.with_room(None));
        let short = values.short;
        let layout = TextLayout::Picked { picks: picks.clone(), values, whole: *whole };
        Some(Self { len: self.len, nulls: self.nulls.clone(), layout, short })
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

    /// Whether the values of a type are printed one by one: they aren't text, and rows don't pick from others.
    pub fn prints_by_row(data_type: &DataType) -> bool {
        use DataType as T;
        let others = matches!(data_type, T::Null | T::Boolean | T::Dictionary(..) | T::RunEndEncoded(..));
        !is_string(data_type) && !others
    }
}
