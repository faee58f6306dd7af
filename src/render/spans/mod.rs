//! Spans: the origins of the bytes of a request.
//!
//! `request_spans` finds the spans of all requests of a batch, from the steps of the programs that copied them
//! (`span_steps`); `origin_spans` finds those of a traced request. `request_origins` and `origin_totals` count bytes by
//! origin; `shown_columns` and `example_columns` find the columns that requests and examples show.

mod example_columns;
mod origin_spans;
mod origin_totals;
mod request_origins;
mod request_spans;
mod shown_columns;
mod span_steps;

pub use example_columns::{example_columns, template_columns};
pub use origin_spans::OriginSpan;
pub(in crate::render) use origin_spans::spans_of;
pub use origin_totals::origin_totals;
pub use request_origins::OriginTotals;
pub use shown_columns::{RowMask, ShownColumns, shown_columns};
