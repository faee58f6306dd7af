//! The columns of a batch that programs read.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::column::Column;
use super::program::Program;
use crate::error::{Code, Error, Result};

/// Return the columns of a batch that programs read, and for each program the index of each of its columns among these.
pub(super) fn bound<'a>(
    programs: &'a [Option<&'a Program>],
    batch: &'a RecordBatch,
    read: impl Fn(&Program) -> Vec<bool>,
) -> Result<(Vec<Column<'a>>, Vec<Vec<usize>>)> {
    let schema = batch.schema_ref();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let (mut columns, mut bound) = (vec![Column::unread()], Vec::with_capacity(programs.len()));
    for program in programs {
        let mut of_program = Vec::new();
        let names = program.iter().flat_map(|program| program.columns.iter().zip(read(program)));
        for (name, read) in names {
            if !read {
                of_program.push(0);
                continue;
            }
            if let Some(number) = numbers.get(&**name) {
                of_program.push(*number);
                continue;
            }
            let missing = |_| Error::render(Code::MissingColumn, "the table has no such column").in_column(name);
            let index = schema.index_of(name).map_err(missing)?;
            let column =
                Column::new(schema.field(index), batch.column(index)).map_err(|error| error.in_column(name))?;
            numbers.insert(name, columns.len());
            of_program.push(columns.len());
            columns.push(column);
        }
        bound.push(of_program);
    }
    Ok((columns, bound))
}
