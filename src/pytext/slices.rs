//! Where Arrow keeps the bytes of a row, for the string and the binary layouts.
//!
//! Buffers that come over the C interface are promises of their producer, not facts: offsets, views and UTF-8 are
//! checked here once, so that [`Slices::get`] can go without.

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

/// Up to so many bytes a text stands in its view itself.
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
    /// 16 bytes a row: length, then the bytes or their place in one of `buffers`.
    Views { views: Buffer, buffers: Arc<[Buffer]> },
    /// `size` bytes a row.
    Fixed { data: Buffer, size: usize },
}

impl Slices {
    /// The slices of `array`, nothing checked yet; `None` if it is neither strings nor binary.
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
        Self::Views { views: array.views().inner().clone(), buffers: array.data_buffers().into() }
    }

    /// Those of some rows.
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

    /// The bytes of row `row` of slices that were checked.
    ///
    /// # Panics
    ///
    /// If the row is out of range, or its slice never passed a check.
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

    /// The bytes of row `row`, or `None` if its offsets or its view lead out of the buffers.
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
                // Lengths and places are 31 bits: a negative one gives a sum far outside any buffer.
                let start = word(view, 12);
                buffers.get(word(view, 8))?.get(start..start.checked_add(len)?)
            }
            Self::Fixed { data, size } => data.get(row * size..(row + 1) * size),
        }
    }

    /// Row `row` as text, checked.
    ///
    /// # Errors
    ///
    /// If the row leads out of its buffers or isn't UTF-8.
    pub(super) fn text(&self, row: usize) -> Result<&str> {
        let bytes = self.binary(row)?;
        simdutf8::compat::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let value = excerpt(&String::from_utf8_lossy(bytes));
            Error::render(Code::InvalidUtf8, format!("invalid UTF-8 at byte {at} of the value {value}"))
        })
    }

    /// Row `row` as bytes, checked.
    ///
    /// # Errors
    ///
    /// If the row leads out of its buffers.
    pub(super) fn binary(&self, row: usize) -> Result<&[u8]> {
        self.checked(row).ok_or_else(|| {
            let what = if matches!(self, Self::Views { .. }) { "view points" } else { "offsets lead" };
            Error::render(
                Code::MalformedArray,
                format!("the value's {what} outside its data: the Arrow array is malformed"),
            )
        })
    }

    /// Checks every row of a string array that `nulls` and `live` leave.
    ///
    /// A valid array passes by one scan over its bytes and one over its offsets. If that fails it is gone through row
    /// by row, since what stands behind a null may be anything. With `look` the scan is shared among the pool's threads,
    /// and whether all bytes please it is returned; false where it wasn't asked about all of them.
    ///
    /// # Errors
    ///
    /// The first row that leads out of the buffers or isn't UTF-8.
    pub(super) fn check(
        &self,
        rows: usize,
        nulls: Option<&NullBuffer>,
        live: Option<&NullBuffer>,
        look: Option<Look>,
    ) -> Result<bool> {
        // With few rows alive, a scan over everything costs more than looking at each.
        let sparse = live.is_some_and(|live| live.null_count() > rows / 2);
        let whole = match self {
            _ if sparse => None,
            Self::Narrow { offsets, data } => all_valid(offsets, data, look),
            Self::Wide { offsets, data } => all_valid(offsets, data, look),
            Self::Views { .. } | Self::Fixed { .. } => None,
        };
        if let Some(pleased) = whole {
            return Ok(pleased);
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
    /// The buffers that string views into these slices need; None where a view can't reach all of their bytes.
    pub(super) fn buffers(&self) -> Option<Vec<Buffer>> {
        let buffers = match self {
            Self::Narrow { data, .. } | Self::Wide { data, .. } => vec![data.clone()],
            Self::Views { buffers, .. } => buffers.to_vec(),
            Self::Fixed { .. } => return None,
        };
        buffers.iter().all(|buffer| i32::try_from(buffer.len()).is_ok()).then_some(buffers)
    }

    /// The view of row `row` of slices that were checked, if their buffers stand behind `base` others.
    #[inline]
    pub(super) fn view(&self, row: usize, base: u32) -> u128 {
        let at = |start: usize| make_view(self.get(row), base, start as u32);
        match self {
            Self::Narrow { offsets, .. } => at(offsets[row] as usize),
            Self::Wide { offsets, .. } => at(offsets[row] as usize),
            Self::Views { views, .. } => {
                let view = &views[row * VIEW_BYTES..(row + 1) * VIEW_BYTES];
                make_view(self.get(row), base + word(view, 8) as u32, word(view, 12) as u32)
            }
            Self::Fixed { .. } => make_view(self.get(row), base, 0),
        }
    }

    /// Whether offsets are in order and lead into the bytes; views aren't looked at.
    pub(super) fn in_order(&self) -> bool {
        match self {
            Self::Narrow { offsets, data } => lead_inside(offsets, data.len()),
            Self::Wide { offsets, data } => lead_inside(offsets, data.len()),
            Self::Views { .. } | Self::Fixed { .. } => false,
        }
    }

    /// All bytes of `rows`, if each row of them is UTF-8.
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

/// The 32-bit word of a view at byte `at`.
#[inline]
fn word(view: &[u8], at: usize) -> usize {
    u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize
}

/// The slice of `data` between a row's two offsets, if they are in order and inside it.
fn between<'a, O: OffsetSizeTrait>(offsets: &[O], data: &'a [u8], row: usize) -> Option<&'a [u8]> {
    let start = usize::try_from(offsets.get(row)?.to_i64()?).ok()?;
    let end = usize::try_from(offsets.get(row + 1)?.to_i64()?).ok()?;
    data.get(start..end)
}

/// How much of a long text one thread checks at once.
const PIECE_BYTES: usize = 256 << 10;

/// Stretches of about `size` bytes that are `bytes` together; none begins within a character.
fn pieces(bytes: &[u8], size: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        // A character has at most three bytes behind its first; what has more is found out by whoever checks it.
        let end = if rest.len() > size {
            (size..rest.len().min(size + 4)).find(|at| rest[*at] & 0xC0 != 0x80).unwrap_or(size)
        } else {
            rest.len()
        };
        start += end;
        Some(start - end..start)
    })
}

/// How many bytes are surely in the processor's cache still when they are looked at a second time.
const CACHED_BYTES: usize = 16 << 10;

/// What is asked about all bytes while they are checked; it must not matter where they are cut.
pub(super) type Look<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// If all rows between `offsets` are UTF-8, nulls included: whether `look` is pleased with all of their bytes.
fn all_valid<O: OffsetSizeTrait>(offsets: &[O], data: &[u8], look: Option<Look>) -> Option<bool> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Some(true) };
    if !lead_inside(offsets, data.len()) {
        return None;
    }
    let (first, last) = (first.as_usize(), last.as_usize());
    let range = data.get(first..last)?;
    // Each row is a run of whole characters if no offset stands within one.
    let whole = |near: &Range<usize>| {
        let from = offsets.partition_point(|offset| offset.as_usize() - first < near.start);
        let mut within = offsets[from..].iter().map(|offset| offset.as_usize() - first).take_while(|at| *at < near.end);
        within.all(|at| range[at] & 0xC0 != 0x80)
    };
    // Bytes come from memory once: all that is asked about a stretch is asked while it is near.
    let see = |piece: Range<usize>| -> Option<bool> {
        let (mut pleased, mut is_ascii) = (look.is_some(), true);
        for near in pieces(&range[piece.clone()], CACHED_BYTES) {
            let near = piece.start + near.start..piece.start + near.end;
            let bytes = &range[near.clone()];
            // Most text is ASCII, which one look tells; the rest needs a closer one, and so will most of what follows it.
            is_ascii = is_ascii && bytes.is_ascii();
            if !is_ascii && (simdutf8::basic::from_utf8(bytes).is_err() || !whole(&near)) {
                return None;
            }
            pleased = pleased && look.is_some_and(|look| look(bytes));
        }
        Some(pleased)
    };
    let size = if look.is_some() { PIECE_BYTES } else { range.len() };
    let seen = threads::map(pieces(range, size).collect(), see);
    seen.into_iter().try_fold(look.is_some(), |all, own| Some(all & own?))
}
