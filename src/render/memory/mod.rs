//! Memory for rendered texts: `pages` allocates and reuses it, `texts` lie in it at `text_offsets`, and `string_arrays`
//! makes Arrow strings of them.

mod pages;
mod string_arrays;
mod text_offsets;
mod texts;

pub use pages::{Bytes, Scratch, out_of_memory, reserved};
pub use string_arrays::{TextBlock, limit, views};
pub use text_offsets::{OffsetSlot, OffsetSlots, TextOffsets};
pub use texts::{Texts, WrittenTexts};
