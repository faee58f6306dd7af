//! The names of a table's columns.

use std::sync::Arc;

use arrow_schema::Schema;

use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;

/// Return the names of a schema's columns.
pub fn names(schema: &Schema) -> impl Iterator<Item = Arc<str>> {
    schema.fields().iter().map(|f| Arc::from(f.name().as_str()))
}

/// Check that the columns that a template always reads exist.
pub fn present<'n>(schema: &Schema, mut required: impl Iterator<Item = &'n str>) -> Result<()> {
    match required.find(|name| schema.index_of(name).is_err()) {
        None => Ok(()),
        Some(name) => {
            let columns: Vec<String> = names(schema).map(|n| format!("{n:?}")).collect();
            let hint = did_you_mean(name, schema.fields().iter().map(|f| f.name().as_str()));
            let message =
                format!("the template needs this column, and the table has only {}{hint}", columns.join(", "));
            Err(Error::render(Code::MissingColumn, message).in_column(name))
        }
    }
}
