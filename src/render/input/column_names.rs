//! The names of a table's columns.

use std::sync::Arc;

use arrow_schema::Schema;

use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;

/// The names of a schema's columns as they are used everywhere.
pub fn names(schema: &Schema) -> impl Iterator<Item = Arc<str>> {
    schema.fields().iter().map(|f| Arc::from(f.name().as_str()))
}

/// Columns that a template reads in any case.
pub fn present<'n>(schema: &Schema, mut wanted: impl Iterator<Item = &'n str>) -> Result<()> {
    match wanted.find(|name| schema.index_of(name).is_err()) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<String> = names(schema).map(|n| format!("{n:?}")).collect();
            let hint = did_you_mean(name, schema.fields().iter().map(|f| f.name().as_str()));
            let message = format!("the template needs this column, and the table has only {}{hint}", known.join(", "));
            Err(Error::render(Code::MissingColumn, message).in_column(name))
        }
    }
}
