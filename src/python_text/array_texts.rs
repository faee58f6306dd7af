//! Makes the texts of an array: shares them with it, prints them, or picks them from few texts.

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

/// One thread prints at least so many rows.
const MIN_PRINTED_ROWS: usize = 4096;
/// So many bytes follow the last of a few texts.
const ROOM_BYTES: usize = 512;
const MAX_ROOM_BYTES: usize = 64 << 10;

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl TextColumn {
    /// Make the texts of `array`.
    ///
    /// # Errors
    ///
    /// An error at the first row, from 0, whose value Python can't have either (a date after the year 9999, a time that
    /// isn't whole microseconds), or whose bytes aren't UTF-8 or are outside the array's buffers. An error with the
    /// type if [`is_native`](super::is_native) is false for it. The caller adds the column's name.
    pub fn new(array: &dyn Array) -> Result<Self> {
        Self::build(array, None, false)
    }

    /// Do the same as [`Self::new`] on all threads of the current pool. The second result is true if `look` is true for
    /// all bytes. It is called for one piece of the bytes after another, while they are in cache; the result is false
    /// if the bytes aren't adjacent. A thread that waits for others takes up any work of the pool, so the caller
    /// mustn't hold anything that other work of the pool may wait for.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::new`].
    pub fn new_with_scan(array: &dyn Array, look: &(dyn Fn(&[u8]) -> bool + Sync)) -> Result<(Self, bool)> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        match Slices::of(array) {
            Some(slices) if is_string(array.data_type()) => {
                let holds = slices.check(array.len(), nulls, None, Some(look))?;
                Ok((Self::of_slices(array.len(), nulls.cloned(), slices), holds))
            }
            _ if *array.data_type() == DataType::Boolean => Ok((Self::truths(array.as_boolean()), false)),
            _ => Ok((Self::build(array, None, true)?, false)),
        }
    }

    /// Make a string column whose bytes haven't been checked yet. None if `array` isn't one, or if it is malformed.
    /// [`Self::checked`] has to check a row before its use.
    pub fn unread(array: &dyn Array) -> Option<Self> {
        let slices = Slices::of(array).filter(|_| is_string(array.data_type()))?;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        slices.in_order().then(|| Self::of_slices(array.len(), nulls, slices))
    }

    /// Make the texts of the rows of `array` that are valid in `live`. The other rows are never used, and may contain
    /// anything.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::new`].
    pub fn of_live(array: &dyn Array, live: &NullBuffer) -> Result<Self> {
        Self::build(array, Some(live), false)
    }

    /// Make the texts; with `pool`, on all threads of the current pool.
    fn build(array: &dyn Array, live: Option<&NullBuffer>, pool: bool) -> Result<Self> {
        let len = array.len();
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        match array.data_type() {
            data_type if is_string(data_type) => {
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

    /// Make truth values as picks from their two texts, which is faster than printing them.
    fn truths(array: &BooleanArray) -> Self {
        let slices = Slices::Narrow { offsets: ScalarBuffer::from(vec![0, 5, 9]), data: Buffer::from(b"FalseTrue") };
        let values = Box::new(Self::of_slices(2, None, slices).with_room(None));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let layout = TextLayout::Picked { picks: truth_picks(array), values, whole: true };
        Self { len: array.len(), nulls, layout, short: true }
    }

    /// Make texts that `picks` selects from `values`. Only the selected values are printed and checked.
    fn picked(
        mut picks: Vec<u32>,
        nulls: Option<NullBuffer>,
        live: Option<&NullBuffer>,
        values: &dyn Array,
        pool: bool,
    ) -> Result<Self> {
        let len = picks.len();
        // A null's pick may be anything, and isn't used.
        if let Some(nulls) = &nulls {
            picks.iter_mut().zip(nulls).filter(|(_, valid)| !valid).for_each(|(pick, _)| *pick = 0);
        }
        // If there are few values and all are valid, it doesn't matter which ones are picked.
        if live.is_none()
            && values.len() <= len
            && picks.iter().max().is_some_and(|last| (*last as usize) < values.len())
            && let Ok(values) = Self::build(values, None, pool)
        {
            let values = Box::new(values.with_room(None));
            let short = values.short;
            return Ok(Self { len, nulls, layout: TextLayout::Picked { picks, values, whole: true }, short });
        }
        let is_used = |row: &usize| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row)) && live.is_none_or(|live| live.is_valid(*row))
        };
        let mut used = BooleanBufferBuilder::new(values.len());
        used.append_n(values.len(), false);
        for row in (0..len).filter(is_used) {
            let pick = picks[row] as usize;
            if pick >= values.len() {
                return Err(no_such_value(values.len()).at_row(row));
            }
            used.set_bit(pick, true);
        }
        let used = NullBuffer::new(used.finish());
        let used = Some(used).filter(|used| used.null_count() > 0);
        let texts = Self::build(values, used.as_ref(), pool).map_err(|error| {
            // The row among the values means nothing to the user, so the error names the first row of the column with
            // that value.
            let Some(index) = error.location().row else { return error };
            match (0..len).filter(is_used).find(|row| picks[*row] as usize == index) {
                Some(row) => error.at_row(row),
                None => error,
            }
        })?;
        // The pick of a row that isn't live may be anything as well.
        if live.is_some() {
            picks.iter_mut().filter(|pick| **pick as usize >= values.len()).for_each(|pick| *pick = 0);
        }
        let values = Box::new(texts.with_room(used.as_ref()));
        let short = values.short;
        Ok(Self { len, nulls, layout: TextLayout::Picked { picks, values, whole: false }, short })
    }

    /// Return the same rows with other texts to pick from, which have to be as many. None if the rows have their own
    /// texts.
    #[must_use]
    pub fn picking_from(&self, values: Self) -> Option<Self> {
        let TextLayout::Picked { picks, whole, .. } = &self.layout else { return None };
        let values = Box::new(values.with_room(None));
        let short = values.short;
        let layout = TextLayout::Picked { picks: picks.clone(), values, whole: *whole };
        Some(Self { len: self.len, nulls: self.nulls.clone(), layout, short })
    }

    /// Add bytes after the last text, so that each text can be copied together with the bytes after it. If there are
    /// many texts, nothing is added, because few of them are near the end. Texts that aren't in `used` are never read,
    /// and their offsets may be invalid.
    fn with_room(mut self, used: Option<&NullBuffer>) -> Self {
        if let TextLayout::Plain(Slices::Narrow { data, .. } | Slices::Wide { data, .. }) = &mut self.layout
            && data.len() <= MAX_ROOM_BYTES
        {
            let mut data_with_room = Vec::with_capacity(data.len() + ROOM_BYTES);
            data_with_room.extend_from_slice(data);
            data_with_room.resize(data.len() + ROOM_BYTES, 0);
            *data = Buffer::from_vec(data_with_room);
            let is_used = |row: &usize| !self.is_null(*row) && used.is_none_or(|used| used.is_valid(*row));
            self.short = (0..self.len).filter(is_used).all(|row| self.length(row) <= SHORT_TEXT_BYTES);
        }
        self
    }

    /// Make the texts of an array whose values have to be printed.
    fn printed(array: &dyn Array, live: Option<&NullBuffer>, pool: bool) -> Result<Self> {
        let len = array.len();
        let printer = printer(array)?;
        let print = |rows: Range<usize>| {
            let mut out = Printed::new(rows.len());
            printer.print_all(rows, live, &mut out).map(|()| out)
        };
        let parts = if pool { threads::count() } else { 1 };
        let rows = if parts > 1 { len.div_ceil(2 * parts).max(MIN_PRINTED_ROWS) } else { len.max(1) };
        // The error names the first row that fails, in whatever order the threads find failing rows, so a failure
        // doesn't stop the others.
        let printed: Result<Vec<Printed>> = threads::map(threads::chunks(0..len, rows), print).into_iter().collect();
        let slices = Printed::joined(printed?).into_slices();
        Ok(Self { short: printer.is_short(), ..Self::of_slices(len, None, slices) })
    }

    /// Return true if the values of a type are printed one by one: they aren't text, and rows don't pick from other
    /// values.
    pub fn prints_by_row(data_type: &DataType) -> bool {
        use DataType as T;
        let others = matches!(data_type, T::Null | T::Boolean | T::Dictionary(..) | T::RunEndEncoded(..));
        !is_string(data_type) && !others
    }
}
