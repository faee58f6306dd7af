//! Plans run over record batches.
//!
//! A batch passes the rooms in this order; each uses only those before it.
//!
//! | room | what |
//! |---|---|
//! | `input` | tables as they come in, checked, and the texts of their columns |
//! | `values` | values of a configuration as Arrow and JSON, and cells as values |
//! | `memory` | memory for what is rendered, shown as Arrow's strings |
//! | `fragments` | texts that were rendered before the requests that show them |
//! | `copying` | copying what a text is made of |
//! | `substitution` | filling in fields where copying isn't enough |
//! | `rows` | the row loop |
//! | `media` | parts of messages from the samples' images, videos and sounds |
//! | `messages` | requests as Arrow arrays, where they are more than texts |
//! | `conversations` | requests of conversations and chats |
//!
//! The files beside the rooms put them to use.

mod batches;
mod bound;
mod compiled;
mod conversation_requests;
mod conversations;
mod copying;
mod divergence;
mod example_columns;
mod examples;
mod explain;
mod findings;
mod fragment_traces;
mod fragments;
mod input;
mod labels;
mod media;
mod memory;
mod messages;
mod origin_spans;
mod origin_totals;
mod outcomes;
mod output_schema;
mod request_origins;
mod request_spans;
mod row_plans;
mod rows;
mod schema_binding;
mod shown_columns;
mod span_arrays;
mod span_steps;
#[cfg(test)]
mod stage_after_messages;
mod substitution;
mod traced_request;
mod values;

pub use batches::{render, render_turn};
pub use compiled::CompiledConfig;
pub(crate) use copying::{Pairs, Step as CopyStep, put};
pub use divergence::{Divergence, divergence};
pub use example_columns::{example_columns, template_columns};
pub use explain::explain;
pub use findings::findings;
pub use input::{Host, NoHost, array_of, joined};
pub(crate) use input::{cast, element_type, is_list, is_row_numbers, is_text, large_lists, lists_in_bounds, sound};
pub use labels::{label_column, labels_of};
pub use media::Found;
pub(crate) use memory::{Bytes, TextBlock, Texts, limit};
pub use messages::{FramePiece, LineFrame};
pub use origin_spans::OriginSpan;
pub use origin_totals::origin_totals;
pub use outcomes::{Outcome, Wanted};
pub use output_schema::{output_fields, spans_field};
pub use request_origins::OriginTotals;
pub use shown_columns::{RowMask, ShownColumns, shown_columns};
pub use span_arrays::Spans;
pub use substitution::replaced;
pub use values::{SaidColumn, said_length, value_at};

pub use crate::template::{Origin, Source};
