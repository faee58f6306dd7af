//! Rendered rows: the output columns of some rows, and their schema.

mod output_schema;
mod rendered_rows;

pub use output_schema::{output_fields, spans_field};
pub use rendered_rows::{RenderRequest, RenderedRows};
pub(in crate::render) use rendered_rows::{RenderedRowsSink, Rows};
