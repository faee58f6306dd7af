//! Media of samples: tagged texts cut into stretches (`tagged`) from the columns that hold them (`sources`), and
//! stretches made into parts of messages (`media_parts`, `part_type`).
//!
//! A payload may be megabytes. It is looked at in place, and copied once: into the texts of the parts. The parts
//! themselves are put together like messages, from constants by number and one block of texts.

mod found;
mod media_parts;
mod part_type;
mod sources;
mod tagged;

pub use found::Found;
pub use media_parts::MediaParts;
pub use part_type::part_type;
