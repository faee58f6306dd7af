//! Rendered texts as Arrow string arrays, without copying them.
//!
//! This is one of the crate's few places with unsafe code. Building a string array with checks reads all of the output
//! again.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::texts::Texts;
use crate::plan::Layout;
use crate::python_text::lead_inside;

/// Return the number of bytes that an array of a layout can hold.
pub fn limit(layout: Layout) -> usize {
    match layout {
        Layout::String | Layout::StringView => i32::MAX as usize,
        Layout::LargeString => i64::MAX as usize,
    }
}

/// Texts in memory.
#[derive(Clone, Debug)]
pub struct TextBlock {
    offsets: BlockOffsets,
    bytes: Buffer,
}

/// The offsets of texts, shared with the arrays that are made of the texts.
#[derive(Clone, Debug)]
enum BlockOffsets {
    Narrow(ScalarBuffer<i32>),
    Wide(Arc<[usize]>),
}

impl TextBlock {
    /// Make a block of rendered texts.
    pub fn new(texts: Texts) -> Self {
        let offsets = match texts.offsets.into_scalars() {
            Ok(narrow) => {
                // The bytes were written piece by piece into memory with arbitrary content.
                debug_assert!(lead_inside(&narrow, texts.bytes.len()), "every offset was written");
                BlockOffsets::Narrow(narrow)
            }
            Err(wide) => BlockOffsets::Wide(wide.into()),
        };
        Self { offsets, bytes: texts.bytes.into_buffer() }
    }

    /// Return the number of texts.
    pub fn len(&self) -> usize {
        match &self.offsets {
            BlockOffsets::Narrow(offsets) => offsets.len() - 1,
            BlockOffsets::Wide(offsets) => offsets.len() - 1,
        }
    }

    #[inline]
    fn offset(&self, n: usize) -> usize {
        match &self.offsets {
            BlockOffsets::Narrow(offsets) => offsets[n] as usize,
            BlockOffsets::Wide(offsets) => offsets[n],
        }
    }

    /// Return the bytes of all texts, one after the other.
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// Return the view of a text, for an array whose first buffer is this block.
    #[inline]
    pub fn view(&self, n: usize) -> u128 {
        make_view(self.get(n), 0, self.offset(n) as u32)
    }

    /// Return a text.
    pub fn get(&self, n: usize) -> &[u8] {
        &self.bytes[self.offset(n)..self.offset(n + 1)]
    }

    /// Return the texts as a string array; the block's size must be within [`limit`].
    pub fn array(&self, layout: Layout, nulls: Option<NullBuffer>) -> ArrayRef {
        match layout {
            Layout::String => Arc::new(match &self.offsets {
                BlockOffsets::Narrow(offsets) => self.with_offsets(offsets.clone(), nulls),
                BlockOffsets::Wide(_) => self.with_offsets(self.converted::<i32>(), nulls),
            }),
            Layout::LargeString => Arc::new(self.with_offsets(self.converted::<i64>(), nulls)),
            Layout::StringView => Arc::new(self.views(nulls)),
        }
    }

    fn converted<O: OffsetSizeTrait>(&self) -> ScalarBuffer<O> {
        (0..=self.len()).map(|n| O::usize_as(self.offset(n))).collect()
    }

    /// Return the texts as a string array with `offsets`, which are the block's.
    fn with_offsets<O: OffsetSizeTrait>(
        &self,
        offsets: ScalarBuffer<O>,
        nulls: Option<NullBuffer>,
    ) -> GenericStringArray<O> {
        assert!(O::from_usize(self.bytes.len()).is_some(), "the engine keeps blocks within the layout's limit");
        // SAFETY: offsets start at 0 and only add lengths, so they ascend, and the assertion above shows that the last,
        // and so all, fit `O`. Where they are written by several threads, each writes all of its own: the pieces that
        // `TextOffsets` is split into have the sizes of what is zipped with them.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        // SAFETY: the engine writes every text whole, and a text is made of strings only: literals of `str`, fields
        // that `TextColumn` has validated or `super::plain` has while it copied them (it gives up what it wrote
        // otherwise), and parts of examples, which are texts themselves. Filling column by column cuts at `{name}`
        // tokens, which are `str` too, so it cuts between characters. Jinja's programs (`crate::jinja`) write slices of
        // such texts that begin and end between characters, and what they put together of them. Texts within JSON are such
        // texts with escapes, which are ASCII, in the place of ASCII (`crate::json_text`); their columns have been checked
        // before (`Batch::texts`, and `Unread::are_plain` for those that are escaped part by part). What stands around them in
        // lines is `str`, and digits. The last offset is the length of `bytes`.
        unsafe { GenericStringArray::new_unchecked(offsets, self.bytes.clone(), nulls) }
    }

    fn views(&self, nulls: Option<NullBuffer>) -> StringViewArray {
        assert!(i32::try_from(self.bytes.len()).is_ok(), "the engine keeps blocks within the layout's limit");
        let views: ScalarBuffer<u128> = (0..self.len()).map(|n| self.view(n)).collect();
        // SAFETY: each view is made from the bytes that it points to, in the only buffer; those are valid UTF-8 as
        // above.
        unsafe { StringViewArray::new_unchecked(views, Arc::new([self.bytes.clone()]), nulls) }
    }
}

/// Make an array of string views: views of rendered texts ([`TextBlock::view`]), of literals, and of the texts of
/// columns ([`crate::python_text::TextColumn::view`]). Each view refers to one of `buffers`.
pub fn views(views: Vec<u128>, buffers: Vec<Buffer>) -> ArrayRef {
    // SAFETY: whoever makes the views (`crate::render::messages::ContentViews`) counts the buffers in the same order as
    // here, and makes each view from the bytes that it points to. These are texts as above; a column that views point
    // into has been checked.
    Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), buffers.into(), None) })
}
