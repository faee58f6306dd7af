//! List columns side by side: the first elements together, then the second ones, as Python's `zip` does.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use crate::error::{Code, Error, Result};
use crate::render::input::{sound, taken};

/// The elements of a batch's lists: one row a place in them.
pub(super) struct Zipped {
    /// A column for each list column.
    pub table: RecordBatch,
    /// Where each sample's rows start; one more than there are samples.
    pub starts: Vec<usize>,
}

impl Zipped {
    /// Zip lists of as many samples, each sample's cut to the shortest.
    ///
    /// # Errors
    ///
    /// `RenderError` if the elements can't be copied.
    pub fn new(lists: &[(&str, LargeListArray)], samples: usize) -> Result<Self> {
        // The usual table has lists of the same lengths, without gaps between them: nothing has to be moved.
        if let [(_, first), rest @ ..] = lists
            && rest.iter().all(|(_, list)| list.value_offsets() == first.value_offsets())
        {
            let offsets = first.value_offsets();
            let (start, end) = (offsets[0] as usize, offsets[samples] as usize);
            let columns = lists.iter().map(|(_, list)| list.values().slice(start, end - start)).collect();
            return Self::of_columns(lists, columns, offsets.iter().map(|at| *at as usize - start).collect());
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

    /// The sample that a row of the table is of.
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
    taken(list.values(), rows.into_iter().map(Some)).ok_or_else(|| {
        Error::render(Code::OffsetOverflow, "the entries don't fit one array; render fewer rows at once")
    })
}
