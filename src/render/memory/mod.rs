//! Memory for what is rendered: `pages` gives it and takes it back, `texts` lie in it where `text_offsets` say, and
//! `string_arrays` shows them as Arrow's strings.

mod pages;
mod string_arrays;
mod text_offsets;
mod texts;

pub use pages::{Bytes, Scratch, out_of_memory, reserved};
pub use string_arrays::{TextBlock, limit, views};
pub use text_offsets::{OffsetSlot, OffsetSlots, TextOffsets};
pub use texts::{Texts, WrittenTexts};
