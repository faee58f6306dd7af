//! Memory for what is rendered: `pages` gives it and takes it back, `texts` lie in it, and `string_arrays` shows
//! them as Arrow's strings.

mod pages;
mod string_arrays;
mod texts;

pub use pages::{Bytes, Scratch, out_of_memory, reserved};
pub use string_arrays::{TextBlock, limit, views};
pub use texts::Texts;
