//! The bytes of each row in Arrow's string and binary layouts.
//!
//! Buffers from the C interface are promises of their producer, not facts. Offsets, views and UTF-8 are checked here
//! once, so that [`Slices::get`] needs no checks.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::offsets::lead_inside;
use crate::error::{Code, Error, Result, excerpt};
use crate::threads;

/// A text of at most so many bytes is stored in its view.
const INLINE_VIEW_BYTES: usize = 12;
/// The size of a view.
const VIEW_BYTES: usize = 16;

/// The bytes of each row of a string or binary array; shares the array's buffers.
#[derive(Clone, Debug)]
pub(super) enum Slices {
    /// 32-bit offsets, one more than rows.
    Narrow { offsets: ScalarBuffer<i32>, data: Buffer },
    /// 64-bit offsets, one more than rows.
    Wide { offsets: ScalarBuffer<i64>, data: Buffer },
    /// 16 bytes for each row: the length, then the bytes or their location in one of `buffers`.
    Views { views: Buffer, buffers: Arc<[Buffer]> },
    /// `size` bytes for each row.
    Fixed { data: Buffer, size: usize },
}

impl Slices {
    /// Return the slices of `array`, without checks; `None` if it has neither strings nor binaries.
    pub(super) fn of(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::narrow(array.as_string::<i32>()),
            DataType::Binary => Self::narrow(array.as_binary::<i32>()),
            DataType::LargeUtf8 => Self::wide(array.as_string::<i64>()),
            DataType::LargeBinary => Self::wide(array.as_binary::<i64>()),
            DataType::Utf8View => Self::views(array.as_string_view()),
            DataType::BinaryView => Self::views(array.as_binary_view()),
            DataType::FixedSizeBinary(size) => {
                let array = array.as_fixed_size_binary();
                Self::Fixed { data: array.values().clone(), size: usize::try_from(*size).ok()? }
            }
            _ => return None,
        })
    }

    fn narrow<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> Self {
        Self::Narrow { offsets: array.offsets().inner().clone(), data: array.values().clone() }
    }

    fn wide<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> Self {
        Self::Wide { offsets: array.offsets().inner().clone(), data: array.values().clone() }
    }

    fn views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> Self {
        Self::Views { views: array.views().inner().clone(), buffers: array.data_buffers().clone() }
    }

    /// Return the slices of some rows.
    ///
    /// # Panics
    ///
    /// If there are no such rows.
    pub(super) fn slice(&self, rows: &Range<usize>) -> Self {
        match self {
            Self::Narrow { offsets, data } => {
                Self::Narrow { offsets: offsets.slice(rows.start, rows.len() + 1), data: data.clone() }
            }
            Self::Wide { offsets, data } => {
                Self::Wide { offsets: offsets.slice(rows.start, rows.len() + 1), data: data.clone() }
            }
            Self::Views { views, buffers } => {
                let views = views.slice_with_length(rows.start * VIEW_BYTES, rows.len() * VIEW_BYTES);
                Self::Views { views, buffers: buffers.clone() }
            }
            Self::Fixed { data, size } => {
                Self::Fixed { data: data.slice_with_length(rows.start * size, rows.len() * size), size: *size }
            }
        }
    }

    /// Return the bytes of row `row`, whose slice has been checked.
    ///
    /// # Panics
    ///
    /// If the row is out of range, or if its slice wasn't checked.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Narrow { offsets, data } => &data[offsets[row] as usize..offsets[row + 1] as usize],
            Self::Wide { offsets, data } => &data[offsets[row] as usize..offsets[row + 1] as usize],
            Self::Views { views, buffers } => {
                let view = &views[row * VIEW_BYTES..(row + 1) * VIEW_BYTES];
                let len = word(view, 0);
                if len <= INLINE_VIEW_BYTES {
                    &view[4..4 + len]
                } else {
                    let start = word(view, 12);
                    &buffers[word(view, 8)][start..start + len]
                }
            }
            Self::Fixed { data, size } => &data[row * size..(row + 1) * size],
        }
    }

    /// Return the bytes of row `row`, or `None` if its offsets or its view are outside the buffers.
    pub(super) fn checked(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Narrow { offsets, data } => between(offsets, data, row),
            Self::Wide { offsets, data } => between(offsets, data, row),
            Self::Views { views, buffers } => {
                let view = views.get(row * VIEW_BYTES..(row + 1) * VIEW_BYTES)?;
                let len = word(view, 0);
                if len <= INLINE_VIEW_BYTES {
                    return view.get(4..4 + len);
                }
                // Lengths and locations have 31 bits: a negative one gives a sum far outside any buffer.
                let start = word(view, 12);
                buffers.get(word(view, 8))?.get(start..start.checked_add(len)?)
            }
            Self::Fixed { data, size } => data.get(row * size..(row + 1) * size),
        }
    }

    /// Return row `row` as text, after a check.
    ///
    /// # Errors
    ///
    /// An error if the row is outside its buffers, or if it isn't UTF-8.
    pub(super) fn text(&self, row: usize) -> Result<&str> {
        let bytes = self.binary(row)?;
        simdutf8::compat::from_utf8(bytes).map_err(|error| {
            let valid_bytes = error.valid_up_to();
            let value = excerpt(&String::from_utf8_lossy(bytes));
            Error::render(Code::InvalidUtf8, format!("invalid UTF-8 at byte {valid_bytes} of the value {value}"))
        })
    }

    /// Return row `row` as bytes, after a check.
    ///
    /// # Errors
    ///
    /// An error if the row is outside its buffers.
    pub(super) fn binary(&self, row: usize) -> Result<&[u8]> {
        self.checked(row).ok_or_else(|| {
            let what = if matches!(self, Self::Views { .. }) { "view points" } else { "offsets lead" };
            Error::render(
                Code::MalformedArray,
                format!("the value's {what} outside its data: the Arrow array is malformed"),
            )
        })
    }

    /// Check every row of a string array that is valid in `nulls` and `live`.
    ///
    /// A valid array passes with one scan of its bytes and one of its offsets. If a scan fails, the rows are checked
    /// one by one, since the bytes of a null may be anything. With `look`, the pool's threads share the scan, and the
    /// result is true if `look` is true for all bytes. It is false if `look` wasn't called for all of them.
    ///
    /// # Errors
    ///
    /// The error of the first row that is outside the buffers, or that isn't UTF-8.
    pub(super) fn check(
        &self,
        rows: usize,
        nulls: Option<&NullBuffer>,
        live: Option<&NullBuffer>,
        look: Option<Look>,
    ) -> Result<bool> {
        // If few rows are live, checking them one by one is faster than a scan of everything.
        let sparse = live.is_some_and(|live| live.null_count() > rows / 2);
        let whole = match self {
            _ if sparse => None,
            Self::Narrow { offsets, data } => all_valid(offsets, data, look),
            Self::Wide { offsets, data } => all_valid(offsets, data, look),
            Self::Views { .. } | Self::Fixed { .. } => None,
        };
        if let Some(holds) = whole {
            return Ok(holds);
        }
        for row in 0..rows {
            let skip = nulls.is_some_and(|nulls| nulls.is_null(row)) || live.is_some_and(|live| live.is_null(row));
            if !skip {
                self.text(row).map_err(|error| error.at_row(row))?;
            }
        }
        Ok(false)
    }
}

impl Slices {
    /// Return the buffers that string views into these slices need; None if a view can't reach all of their bytes.
    pub(super) fn buffers(&self) -> Option<Vec<Buffer>> {
        let buffers = match self {
            Self::Narrow { data, .. } | Self::Wide { data, .. } => vec![data.clone()],
            Self::Views { buffers, .. } => buffers.to_vec(),
            Self::Fixed { .. } => return None,
        };
        buffers.iter().all(|buffer| i32::try_from(buffer.len()).is_ok()).then_some(buffers)
    }

    /// Return the view of row `row` of checked slices, if their buffers follow `base` other buffers.
    #[inline]
    pub(super) fn view(&self, row: usize, base: u32) -> u128 {
        let view_of = |start: usize| make_view(self.get(row), base, start as u32);
        match self {
            Self::Narrow { offsets, .. } => view_of(offsets[row] as usize),
            Self::Wide { offsets, .. } => view_of(offsets[row] as usize),
            Self::Views { views, .. } => {
                let view = &views[row * VIEW_BYTES..(row + 1) * VIEW_BYTES];
                make_view(self.get(row), base + word(view, 8) as u32, word(view, 12) as u32)
            }
            Self::Fixed { .. } => make_view(self.get(row), base, 0),
        }
    }

    /// Return true if offsets are in order and within the bytes. It is false for views.
    pub(super) fn in_order(&self) -> bool {
        match self {
            Self::Narrow { offsets, data } => lead_inside(offsets, data.len()),
            Self::Wide { offsets, data } => lead_inside(offsets, data.len()),
            Self::Views { .. } | Self::Fixed { .. } => false,
        }
    }

    /// Return all bytes of `rows`, if each row is UTF-8.
    pub(super) fn texts(&self, rows: Range<usize>) -> Option<&[u8]> {
        fn texts<'a, O: OffsetSizeTrait>(offsets: &[O], data: &'a [u8]) -> Option<&'a [u8]> {
            let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
            let range = data.get(first..last)?;
            let starts = |offset: &O| range.get(offset.as_usize() - first).is_none_or(|byte| byte & 0xC0 != 0x80);
            let valid = range.is_ascii() || simdutf8::basic::from_utf8(range).is_ok() && offsets.iter().all(starts);
            valid.then_some(range)
        }
        match self {
            Self::Narrow { offsets, data } => texts(offsets.get(rows.start..=rows.end)?, data),
            Self::Wide { offsets, data } => texts(offsets.get(rows.start..=rows.end)?, data),
            Self::Views { .. } | Self::Fixed { .. } => None,
        }
    }
}

/// Return the 32-bit word of a view at byte `offset`.
#[inline]
fn word(view: &[u8], offset: usize) -> usize {
    u32::from_le_bytes([view[offset], view[offset + 1], view[offset + 2], view[offset + 3]]) as usize
}

/// Return the slice of `data` between a row's two offsets, if they are in order and within it.
fn between<'a, O: OffsetSizeTrait>(offsets: &[O], data: &'a [u8], row: usize) -> Option<&'a [u8]> {
    let start = usize::try_from(offsets.get(row)?.to_i64()?).ok()?;
    let end = usize::try_from(offsets.get(row + 1)?.to_i64()?).ok()?;
    data.get(start..end)
}

/// So much of a long text is checked by one thread at once.
const PIECE_BYTES: usize = 256 << 10;

/// Split `bytes` into ranges of about `size` bytes; none begins within a character.
fn pieces(bytes: &[u8], size: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        // A character has at most three bytes after its first. If there are more, the check of the piece finds the
        // fault.
        let end = if rest.len() > size {
            (size..rest.len().min(size + 4)).find(|index| rest[*index] & 0xC0 != 0x80).unwrap_or(size)
        } else {
            rest.len()
        };
        start += end;
        Some(start - end..start)
    })
}

/// So many bytes are surely still in the processor's cache when they are read a second time.
const CACHED_BYTES: usize = 16 << 10;

/// A predicate that is called for all bytes while they are checked. Its result mustn't depend on where they are cut.
pub(super) type Look<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// If all rows between `offsets` are UTF-8, nulls included, return true if `look` is true for all of their bytes.
fn all_valid<O: OffsetSizeTrait>(offsets: &[O], data: &[u8], look: Option<Look>) -> Option<bool> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Some(true) };
    if !lead_inside(offsets, data.len()) {
        return None;
    }
    let (first, last) = (first.as_usize(), last.as_usize());
    let range = data.get(first..last)?;
    // Each row consists of whole characters if no offset is within one.
    let whole = |cached: &Range<usize>| {
        let from = offsets.partition_point(|offset| offset.as_usize() - first < cached.start);
        let mut within =
            offsets[from..].iter().map(|offset| offset.as_usize() - first).take_while(|index| *index < cached.end);
        within.all(|index| range[index] & 0xC0 != 0x80)
    };
    // Bytes are loaded from memory once: a stretch is fully checked while it is in cache.
    let see = |piece: Range<usize>| -> Option<bool> {
        let (mut holds, mut is_ascii) = (look.is_some(), true);
        for cached in pieces(&range[piece.clone()], CACHED_BYTES) {
            let cached = piece.start + cached.start..piece.start + cached.end;
            let bytes = &range[cached.clone()];
            // Most text is ASCII, which a quick check shows. Other text needs a closer check, and so will most of the
            // text after it.
            is_ascii = is_ascii && bytes.is_ascii();
            if !is_ascii && (simdutf8::basic::from_utf8(bytes).is_err() || !whole(&cached)) {
                return None;
            }
            holds = holds && look.is_some_and(|look| look(bytes));
        }
        Some(holds)
    };
    let size = if look.is_some() { PIECE_BYTES } else { range.len() };
    let seen = threads::map(pieces(range, size).collect(), see);
    seen.into_iter().try_fold(look.is_some(), |all, piece| Some(all & piece?))
}
