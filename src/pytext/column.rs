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
/// String columns are shared with the array, checked; other values are printed once, here, or picked from few texts.
#[derive(Clone, Debug)]
pub struct TextColumn {
    pub(super) len: usize,
    pub(super) nulls: Option<NullBuffer>,
    pub(super) layout: TextLayout,
    /// Whether no text is longer than [`SHORT_TEXT_BYTES`], where that is known.
    pub(super) short: bool,
}

/// The length of numbers and moments, at most: a text known to be no longer is copied in fewer steps.
pub const SHORT_TEXT_BYTES: usize = SLOT_BYTES;

#[derive(Clone, Debug)]
pub(super) enum TextLayout {
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

impl TextColumn {
    /// Texts as they lie.
    pub(super) fn of_slices(len: usize, nulls: Option<NullBuffer>, slices: Slices) -> Self {
        Self { len, nulls, layout: TextLayout::Plain(slices), short: false }
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
