//! Media of samples: tagged texts are cut into stretches (`tagged`) from the columns that hold them (`sources`), and
//! stretches become parts of messages (`media_parts`, `part_type`).
//!
//! A payload may have megabytes. It isn't copied before it is written into the texts of the parts. The parts are
//! assembled like messages, from numbered constants and a single block of texts.

mod media_finding;
mod media_parts;
mod part_type;
mod sources;
mod tagged;

pub use media_finding::MediaFinding;
pub use media_parts::MediaParts;
pub use part_type::part_type;
