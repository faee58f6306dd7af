//! Messages as Arrow arrays, where they are more than texts.
//!
//! A `message_type` is decided before the first row. `message_arrays` puts the messages of the configuration, and those
//! that a list column brings (`expansion`), together as lists of structs, from arrays that `fitted` makes to fit, or as JSON:
//! `copied_json` by copying a `json_plan` of an `escaped_batch` (its `escaped_texts`), alone or within the `line_frame` of each
//! line, and where that isn't enough `messages_json` and `text_json` one by one.
//! `text_parts` is for texts among lists of parts, and `sent_parts` for those of a column.
//! `content_views` shows contents where they lie; `slice_cache` keeps what slices of a table have in common,
//! `repeated` what batches have.

mod content_views;
mod copied_json;
mod escaped_batch;
mod escaped_texts;
mod expansion;
mod fitted;
mod json_plan;
mod line_frame;
mod message_arrays;
mod message_refs;
mod message_type;
mod messages_json;
mod opened;
mod repeated;
mod sent_parts;
mod slice_cache;
mod text_json;
mod text_parts;

pub use content_views::ContentViews;
pub use copied_json::{CopiedLines, copied_json, copied_lines, escaped_fragments, holds_empty_text};
pub use expansion::expanded;
pub use line_frame::{FramePiece, LineFrame};
pub use message_arrays::MessageArrays;
pub use message_type::MessageType;
pub use opened::Opened;
pub use repeated::RepeatedColumns;
pub use slice_cache::SliceCache;
pub use text_json::text_json;
