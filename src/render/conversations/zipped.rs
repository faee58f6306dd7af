//! List columns side by side: first elements with first elements, then second ones, as Python's `zip` does.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use crate::error::{Code, Error, Result};
use crate::render::input::{sound, take_rows};

/// The elements of a batch's lists, with a row for each index in the lists.
pub(super) struct Zipped {
    /// A column for each list column.
    pub table: RecordBatch,
    /// The index of each sample's first row, then the number of all rows.
    pub starts: Vec<usize>,
}

impl Zipped {
    /// Zip lists, and cut those of each sample to the shortest.
    ///
    /// # Errors
    ///
    /// `RenderError` if the elements can't be copied.
    pub fn new(lists: &[(&str, LargeListArray)], samples: usize) -> Result<Self> {
        // The usual table has lists of the same lengths, without gaps between them, so nothing has to be moved.
        if let [(_, first), rest @ ..] = lists
            && rest.iter().all(|(_, list)| list.value_offsets() == first.value_offsets())
        {
            let offsets = first.value_offsets();
            let (start, end) = (offsets[0] as usize, offsets[samples] as usize);
            let columns = lists.iter().map(|(_, list)| list.values().slice(start, end - start)).collect();
            return Self::of_columns(lists, columns, offsets.iter().map(|offset| *offset as usize - start).collect());
        }
        let mut starts = Vec::with_capacity(samples + 1);
        starts.push(0);
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); lists.len()];
        for sample in 0..samples {
            let bounds = |list: &LargeListArray| {
                let offsets = list.value_offsets();
                (offsets[sample], offsets[sample + 1])
            };
            let length = lists.iter().map(|(_, list)| bounds(list)).map(|(start, end)| end - start).min().unwrap_or(0);
            for ((_, list), rows) in lists.iter().zip(&mut rows) {
                let start = bounds(list).0;
                rows.extend((start..start + length).map(|n| n as usize));
            }
            starts.push(starts[sample] + length as usize);
        }
        let columns = lists.iter().zip(rows).map(|((_, list), rows)| take(list, rows)).collect::<Result<Vec<_>>>()?;
        Self::of_columns(lists, columns, starts)
    }

    fn of_columns(lists: &[(&str, LargeListArray)], columns: Vec<ArrayRef>, starts: Vec<usize>) -> Result<Self> {
        let fields = lists.iter().zip(&columns).map(|((name, _), c)| Field::new(*name, c.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let options = RecordBatchOptions::new().with_row_count(starts.last().copied());
        let table = RecordBatch::try_new_with_options(schema, columns, &options);
        Ok(Self { table: table.map_err(|e| Error::render(Code::InternalError, e.to_string()))?, starts })
    }

    /// Return the sample that a row of the table belongs to.
    pub fn sample(&self, row: usize) -> usize {
        self.starts.partition_point(|start| *start <= row) - 1
    }
}

fn take(list: &LargeListArray, rows: Vec<usize>) -> Result<ArrayRef> {
    if rows.windows(2).all(|w| w[0] + 1 == w[1]) {
        let start = rows.first().copied().unwrap_or(0);
        return Ok(list.values().slice(start, rows.len()));
    }
    sound(list.values())?;
    take_rows(list.values(), rows.into_iter().map(Some)).ok_or_else(|| {
        Error::render(Code::OffsetOverflow, "the entries don't fit one array; render fewer rows at once")
    })
}
