//! Rendered texts as Arrow string arrays, without copying them.
//!
//! One of the crate's few places with unsafe code: building a string array the checked way reads all of the output
//! once more.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::texts::Texts;
use crate::plan::Layout;

/// Bytes that one array of a layout can hold.
pub fn limit(layout: Layout) -> usize {
    match layout {
        Layout::String | Layout::StringView => i32::MAX as usize,
        Layout::LargeString => i64::MAX as usize,
    }
}

/// Texts as they lie in memory.
#[derive(Clone, Debug)]
pub struct TextBlock {
    offsets: Arc<[usize]>,
    bytes: Buffer,
}

impl TextBlock {
    /// A block of rendered texts.
    pub fn new(texts: Texts) -> Self {
        Self { offsets: texts.offsets.into(), bytes: texts.bytes.into_buffer() }
    }

    /// How many texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All texts, one after the other.
    pub fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// The view of a text, in the first of an array's buffers.
    #[inline]
    pub fn view(&self, n: usize) -> u128 {
        make_view(self.get(n), 0, self.offsets[n] as u32)
    }

    /// One text.
    pub fn get(&self, n: usize) -> &[u8] {
        &self.bytes[self.offsets[n]..self.offsets[n + 1]]
    }

    /// The texts as a string array; the block's size must be within [`limit`].
    pub fn array(&self, layout: Layout, nulls: Option<NullBuffer>) -> ArrayRef {
        match layout {
            Layout::String => Arc::new(self.with_offsets::<i32>(nulls)),
            Layout::LargeString => Arc::new(self.with_offsets::<i64>(nulls)),
            Layout::StringView => Arc::new(self.views(nulls)),
        }
    }

    fn with_offsets<O: OffsetSizeTrait>(&self, nulls: Option<NullBuffer>) -> GenericStringArray<O> {
        assert!(O::from_usize(self.bytes.len()).is_some(), "the engine keeps blocks within the layout's limit");
        let offsets: ScalarBuffer<O> = self.offsets.iter().map(|o| O::usize_as(*o)).collect();
        // SAFETY: offsets start at 0 and only add lengths, so they ascend, and the assertion above shows that the last,
        // and so all, fit `O`.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        // SAFETY: the engine writes every text whole, and a text is made of strings only: literals of `str`, fields
        // that `TextColumn` has validated or `super::plain` has while it copied them (it gives up what it wrote
        // otherwise), and parts of examples, which are texts themselves. Filling column by column cuts at `{name}`
        // tokens, which are `str` too, so it cuts between characters. Jinja's programs (`crate::jinja`) write slices of
        // such texts that begin and end between characters, and what they put together of them. The last offset is the
        // length of
        // `bytes`.
        unsafe { GenericStringArray::new_unchecked(offsets, self.bytes.clone(), nulls) }
    }

    fn views(&self, nulls: Option<NullBuffer>) -> StringViewArray {
        assert!(i32::try_from(self.bytes.len()).is_ok(), "the engine keeps blocks within the layout's limit");
        let views: ScalarBuffer<u128> = (0..self.len()).map(|n| self.view(n)).collect();
        // SAFETY: each view is made from the bytes that it points to, in the only buffer; those are valid UTF-8 as
        // above.
        unsafe { StringViewArray::new_unchecked(views, vec![self.bytes.clone()], nulls) }
    }
}

/// An array of string views: of rendered texts ([`TextBlock::view`]), of literals, and of the texts of columns
/// ([`crate::pytext::TextColumn::view`]), each into its place among `buffers`.
pub fn views(views: Vec<u128>, buffers: Vec<Buffer>) -> ArrayRef {
    // SAFETY: whoever makes the views (`super::borrowed`) counts the buffers in the same order as here, and makes each
    // view from the bytes that it points to. These are texts as above; a column that views point into has been checked.
    Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), buffers, None) })
}
