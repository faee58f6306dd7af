//! The texts of one column of one batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{Buffer, NullBuffer};

use super::fill::SLOT_BYTES;
use super::lookup::{Offsets, TextLookup};
use super::none::NONE;
use super::slices::Slices;

/// The texts of one column of one batch.
///
/// A string column shares its texts with the array, after a check. Other values are printed once, or picked from few
/// texts.
#[derive(Clone, Debug)]
pub struct TextColumn {
    pub(super) len: usize,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) layout: TextLayout,
    /// True if it is known that no text is longer than [`SHORT_TEXT_BYTES`].
    pub(super) short: bool,
}

/// The number of texts that are looked at one after the other, to find the one with a byte.
const NEAR_TEXTS: usize = 16;

/// The maximal length of numbers and timestamps. A text that is known to be no longer is copied in fewer steps.
pub const SHORT_TEXT_BYTES: usize = SLOT_BYTES;

#[derive(Clone, Debug)]
pub(super) enum TextLayout {
    Plain(Slices),
    /// The index in `values` for each row; a null row's pick means nothing.
    Picked {
        picks: Vec<u32>,
        values: Box<TextColumn>,
        /// True if all values were printed and checked, not only those that are picked.
        whole: bool,
    },
    /// Parts of the texts of other columns.
    Spans {
        bases: Arc<[TextColumn]>,
        spans: Vec<TextSpan>,
    },
}

/// A text of [`TextColumn::spans`].
#[derive(Clone, Debug)]
pub enum TextSpan {
    /// A part of a text of another column. It begins and ends between characters.
    Of {
        /// The index of the other column.
        base: usize,
        /// The row of its text.
        row: usize,
        /// The range of bytes in the text.
        range: Range<usize>,
    },
    /// A text that isn't part of a column.
    Literal(Box<str>),
}

impl TextColumn {
    /// Make a column of texts as they are in the slices.
    pub(super) fn of_slices(len: usize, nulls: Option<NullBuffer>, slices: Slices) -> Self {
        Self { len, nulls, layout: TextLayout::Plain(slices), short: false }
    }

    /// Return all bytes of some rows of a column that is [`unread`](Self::unread), if each row is UTF-8. The bytes
    /// after nulls are included.
    pub fn checked(&self, rows: Range<usize>) -> Option<&[u8]> {
        match &self.layout {
            TextLayout::Plain(slices) => slices.texts(rows),
            _ => None,
        }
    }

    /// Return the row of the text that contains byte `index` of [`checked`](Self::checked), and the end of this text.
    /// All count from the first row of `rows`; the row is `from` or a later one, mostly one soon after.
    ///
    /// # Panics
    ///
    /// If there are no such rows, or no such byte.
    #[inline]
    pub fn text_around(&self, rows: Range<usize>, from: usize, index: usize) -> (usize, usize) {
        #[inline]
        fn text<O: OffsetSizeTrait>(offsets: &[O], from: usize, index: usize) -> (usize, usize) {
            let first = offsets[0].as_usize();
            let next = &offsets[from + 1..];
            let is_before = |offset: &O| offset.as_usize() <= first + index;
            // A few texts are looked at one after the other, before the others are searched.
            let few = next.len().min(NEAR_TEXTS);
            let row = match next[..few].iter().position(|offset| !is_before(offset)) {
                Some(row) => row,
                None => few + next[few..].partition_point(is_before),
            };
            (from + row, next[row].as_usize() - first)
        }
        match &self.layout {
            TextLayout::Plain(Slices::Narrow { offsets, .. }) => text(&offsets[rows.start..=rows.end], from, index),
            TextLayout::Plain(Slices::Wide { offsets, .. }) => text(&offsets[rows.start..=rows.end], from, index),
            _ => unreachable!("rows that were checked together lie together"),
        }
    }

    /// Return the texts of some rows, in ascending order, as a column.
    ///
    /// # Panics
    ///
    /// If there are no such rows.
    #[must_use]
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        // Rows that lie together stay so, and are searched together.
        if let [first, .., last] = *rows
            && last - first == rows.len() - 1
            && let Some(slice) = self.slice(first..last + 1)
        {
            return slice;
        }
        let picks = rows.iter().map(|row| *row as u32).collect();
        let layout = TextLayout::Picked { picks, values: Box::new(self.clone()), whole: false };
        Self { len: rows.len(), nulls: None, layout, short: self.short }
    }

    /// Make a column of parts of the texts of other columns, without a copy.
    pub fn spans(bases: Arc<[TextColumn]>, spans: Vec<TextSpan>) -> Self {
        Self { len: spans.len(), nulls: None, layout: TextLayout::Spans { bases, spans }, short: false }
    }

    /// Return the texts of some rows as a column; None for parts of other columns.
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

    /// Return true if the value of row `row` is missing.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Return true if any value is missing.
    pub fn has_nulls(&self) -> bool {
        self.nulls.is_some()
    }

    /// Return the length of the text of row `row`, in bytes.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn length(&self, row: usize) -> usize {
        let (_, start, end) = self.location(row);
        end - start
    }

    /// Give the number of bytes of each of some rows to `each`.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn each_length(&self, rows: Range<usize>, mut each: impl FnMut(usize)) {
        match self.plain() {
            Some((Offsets::Narrow(offsets), _)) => {
                offsets[rows.start..=rows.end].windows(2).for_each(|ends| each((ends[1] - ends[0]) as usize));
            }
            Some((Offsets::Wide(offsets), _)) => {
                offsets[rows.start..=rows.end].windows(2).for_each(|ends| each((ends[1] - ends[0]) as usize));
            }
            None => rows.for_each(|row| each(self.length(row))),
        }
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Return true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Return the text of row `row`, which is valid UTF-8; for a null, `None`.
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
                TextSpan::Literal(text) => text.as_bytes(),
            },
        }
    }

    /// Return the bytes that contain the text of row `row`, and the start and end of the text in them. The text is
    /// valid UTF-8.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline]
    pub fn location(&self, row: usize) -> (&[u8], usize, usize) {
        match self.plain() {
            Some((Offsets::Narrow(offsets), data)) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            Some((Offsets::Wide(offsets), data)) => (data, offsets[row] as usize, offsets[row + 1] as usize),
            None => match &self.layout {
                // There may be room after a picked value, which a single text wouldn't show.
                TextLayout::Picked { picks, values, .. } if !self.is_null(row) => values.location(picks[row] as usize),
                _ => {
                    let bytes = self.bytes(row);
                    (bytes, 0, bytes.len())
                }
            },
        }
    }

    /// Return the buffers of the texts, for string views into them. None if nulls are printed, values are picked, or a
    /// view can't reach all bytes.
    pub fn buffers(&self) -> Option<Vec<Buffer>> {
        match (&self.nulls, &self.layout) {
            (None, TextLayout::Plain(slices)) => slices.buffers(),
            _ => None,
        }
    }

    /// Return the view of row `row`, if the [`buffers`](Self::buffers) follow `base` other buffers. For a column
    /// without buffers, the view is inline.
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

    /// Return offsets and bytes of all texts, if they are direct: without nulls, dictionaries or views.
    pub fn plain(&self) -> Option<(Offsets<'_>, &[u8])> {
        match (&self.nulls, &self.layout) {
            (None, TextLayout::Plain(Slices::Narrow { offsets, data })) => Some((Offsets::Narrow(offsets), data)),
            (None, TextLayout::Plain(Slices::Wide { offsets, data })) => Some((Offsets::Wide(offsets), data)),
            _ => None,
        }
    }

    /// Return all texts that rows pick from, except for nulls. None if the rows have their own texts, or if not all of
    /// the texts were checked.
    pub fn picked_from(&self) -> Option<&Self> {
        match &self.layout {
            TextLayout::Picked { values, whole: true, .. } => Some(values),
            _ => None,
        }
    }

    /// Return true if it is known that no text is longer than [`SHORT_TEXT_BYTES`].
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// Return the lookup from rows to texts, if all texts except for those of nulls are in one stretch of bytes.
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

    /// Return the sum of the lengths of the texts of `rows`.
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

    /// Add the length of each text of `rows` to `lengths`, which has one entry for each row.
    ///
    /// # Panics
    ///
    /// If there are no such rows, or fewer entries.
    pub fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) {
        // Plain offsets are subtracted without branches, so that the compiler makes vector code.
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

    /// Return all value bytes in one slice, for scanning a column at once; `None` if they aren't adjacent (views,
    /// dictionaries).
    ///
    /// For a slice of a larger array, only the slice's range is returned. If the column shares the array's buffers, the
    /// text `None` of a null isn't included, and the bytes of a null may be anything, even invalid UTF-8.
    pub fn contiguous(&self) -> Option<&[u8]> {
        self.stretch(0..self.len)
    }

    /// [`Self::contiguous`] for some rows.
    pub fn stretch(&self, rows: Range<usize>) -> Option<&[u8]> {
        let (first, last, data) = match &self.layout {
            TextLayout::Plain(Slices::Narrow { offsets, data }) => {
                (i64::from(*offsets.get(rows.start)?), i64::from(*offsets.get(rows.end)?), data)
            }
            TextLayout::Plain(Slices::Wide { offsets, data }) => {
                (*offsets.get(rows.start)?, *offsets.get(rows.end)?, data)
            }
            _ => return None,
        };
        data.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)
    }
}
