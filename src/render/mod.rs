//! Runs plans over record batches.
//!
//! A batch passes the folders in this order; each folder uses only those before it.
//!
//! | folder | contents |
//! |---|---|
//! | `input` | tables after their checks, with the texts of their columns |
//! | `values` | values of a configuration as Arrow and JSON, and cells as values |
//! | `memory` | memory for rendered texts, and Arrow strings made of them |
//! | `fragments` | texts that are rendered before the requests that show them |
//! | `copying` | copying the pieces of texts |
//! | `substitution` | filling in fields if copying isn't enough |
//! | `rows` | the row loop |
//! | `media` | parts of messages from the samples' images, videos and sounds |
//! | `messages` | requests as Arrow arrays, if they are more than texts |
//! | `conversations` | requests of conversations and chats |
//! | `compiled` | configurations compiled for the row loop |
//! | `traces` | the origins of the texts of requests |
//! | `rendered` | the output columns of some rows, and their schema |
//! | `spans` | the origins of the bytes of each request |
//!
//! The files next to the folders use them.

mod batches;
mod compiled;
mod conversations;
mod copying;
mod divergence;
mod explain;
mod findings;
mod fragments;
mod input;
mod media;
mod memory;
mod messages;
mod rendered;
mod row_errors;
mod rows;
mod spans;
#[cfg(test)]
mod stage_after_messages;
mod substitution;
mod traces;
mod values;

pub use batches::{render, render_turn};
pub use compiled::{CompiledConfig, label_column, labels_of};
pub(crate) use copying::{Pairs, Step as CopyStep, put};
pub use divergence::{
    Divergence, divergence, divergence_from, examples_differ, only_copies, opposite, plans_differ, shape_differs,
};
pub use explain::explain;
pub use findings::findings;
pub use input::{NoPython, PythonCallbacks, array_of, imported, joined};
pub(crate) use input::{
    cast, element_type, interleaved, is_list, is_row_numbers, is_text, large_lists, lists_in_bounds, sound,
};
pub use media::MediaFinding;
pub(crate) use memory::{Bytes, TextBlock, Texts, limit};
pub use messages::{FramePiece, LineFrame};
pub use rendered::{RenderRequest, RenderedRows, output_fields, spans_field};
pub use row_errors::render_or_errors;
pub use spans::{
    OriginSpan, OriginTotals, RowMask, ShownColumns, example_columns, origin_totals, shown_columns, template_columns,
};
pub use substitution::replaced;
pub use traces::Spans;
pub use values::{MessageColumn, TextLocation, text_length, text_location, value_at};

pub use crate::template::{Origin, Source};
