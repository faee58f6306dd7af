//! Messages as Arrow arrays, for requests that aren't plain texts.
//!
//! A `message_type` is decided before the first row. `message_arrays` assembles the messages of the configuration, and
//! those of list columns (`expansion`), as lists of structs, from arrays that `fitted` converts, or as JSON.
//! `copied_json` writes JSON by copying: it runs a `json_plan` over an `escaped_batch` (with its `escaped_texts`),
//! alone or within the `line_frame` of each line. If copying isn't enough, `messages_json` and `text_json` write
//! requests one by one. `text_parts` converts texts among lists of parts, and `sent_parts` converts those of a column.
//! `content_views` refers to contents without a copy; `slice_cache` keeps data that slices of a table share, and
//! `repeated` data that batches share.

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
pub use copied_json::{CopiedJson, CopiedLines, copied_json, copied_lines, escaped_fragments, holds_empty_text};
pub use expansion::expanded;
pub use line_frame::{FramePiece, LineFrame};
pub use message_arrays::MessageArrays;
pub use message_type::MessageType;
pub use opened::Opened;
pub use repeated::RepeatedColumns;
pub use slice_cache::SliceCache;
pub use text_json::text_json;
