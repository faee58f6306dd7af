//! Batches put together as one.

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};

use super::cast::cast;
use super::copies::end_to_end;
use crate::error::{Code, Error, Result};

/// Join batches of the same schema. A dictionary whose keys have no room for the values of all batches is unpacked.
///
/// # Errors
///
/// `RenderError` that names a column whose values exceed the size of an array.
pub fn joined(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let schema = batches[0].schema();
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (n, field) in schema.fields().iter().enumerate() {
        let arrays: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(n).clone()).collect();
        let all = match (end_to_end(&arrays, rows), field.data_type()) {
            (None, DataType::Dictionary(_, values)) => {
                let plain = arrays.iter().map(|array| cast(array, values)).collect::<Result<Vec<_>>>();
                end_to_end(&plain.map_err(|e| e.in_column(field.name()))?, rows)
            }
            (all, _) => all,
        };
        let column = all.ok_or_else(|| {
            Error::render(Code::OffsetOverflow, "its chunks don't fit one array; use a type of larger offsets or keys")
                .in_column(field.name())
        })?;
        fields.push(Field::clone(field).with_data_type(column.data_type().clone()));
        columns.push(column);
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.into(), columns, &options)
        .map_err(|e| Error::render(Code::MalformedArray, e.to_string()))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int8Type, Int64Type};

    use super::super::copies::tests::dictionary;
    use super::*;

    #[test]
    fn a_dictionary_without_room_is_unpacked() {
        let a = dictionary(0, 100);
        let b = dictionary(100, 100);
        let batch = |column: &ArrayRef| RecordBatch::try_from_iter([("n", column.clone())]).unwrap();
        let all = joined(&[batch(&a), batch(&b)]).unwrap();
        assert_eq!(all.column(0).as_primitive::<Int64Type>().values(), &(0..200).collect::<Vec<i64>>()[..]);
        let half = joined(&[batch(&a), batch(&dictionary(100, 27))]).unwrap();
        assert_eq!(half.column(0).as_dictionary::<Int8Type>().keys().values().last(), Some(&126));
        let whole: Vec<RecordBatch> = (0..3).map(|n| batch(&a.slice(n, 1))).collect();
        assert_eq!(joined(&whole).unwrap().column(0).data_type(), a.data_type());
    }
}
