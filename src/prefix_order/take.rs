//! Rows of a column in any order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericBinaryArray, GenericListArray, GenericStringArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use crate::error::{Code, Error, Result};
use crate::render::{Bytes, interleaved};
use crate::threads;

/// So many rows are copied by one thread at a time.
const CHUNK_ROWS: usize = 2048;

/// The chunk of a row, and the row's number in it.
type Location = (usize, usize);

/// Return rows of a column that has several chunks. Texts come as binaries, so that they needn't be UTF-8.
///
/// # Errors
///
/// `RenderError` if the rows exceed the size of an array, a text leads out of its buffer, or there is no such row.
pub fn take(chunks: &[ArrayRef], rows: &[i64]) -> Result<ArrayRef> {
    let arrays: Vec<&ArrayRef> = chunks.iter().collect();
    let locations = locations(chunks, rows)?;
    match chunks[0].data_type() {
        DataType::Utf8 => binaries::<i32>(&arrays, &locations),
        DataType::LargeUtf8 => binaries::<i64>(&arrays, &locations),
        // Values that aren't as their types say are copied by the kernel that doesn't look at them.
        DataType::List(_) | DataType::LargeList(_) | DataType::Struct(_) => {
            values(&arrays, &locations).or_else(|_| others(&arrays, &locations))
        }
        _ => others(&arrays, &locations),
    }
}

/// Return the location of each row.
fn locations(chunks: &[ArrayRef], rows: &[i64]) -> Result<Vec<Location>> {
    let mut starts = Vec::with_capacity(chunks.len());
    let mut end = 0;
    for chunk in chunks {
        starts.push(end);
        end += chunk.len();
    }
    let location = |row: &i64| {
        let row = usize::try_from(*row).ok().filter(|row| *row < end)?;
        let chunk = if starts.len() == 1 { 0 } else { starts.partition_point(|start| *start <= row) - 1 };
        Some((chunk, row - starts[chunk]))
    };
    let no_row = || Error::render(Code::InternalError, "a row to take is outside the table");
    rows.iter().map(location).collect::<Option<Vec<_>>>().ok_or_else(no_row)
}

fn too_large() -> Error {
    Error::render(Code::OffsetOverflow, "its rows don't fit one array; use a type of larger offsets or keys")
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn malformed(error: ArrowError) -> Error {
    Error::render(Code::MalformedArray, error.to_string())
}

/// Copy values of any type.
fn others(arrays: &[&ArrayRef], locations: &[Location]) -> Result<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &***array).collect();
    interleaved(&arrays, locations.iter().copied().map(Some)).ok_or_else(too_large)
}

/// Copy values of any type; texts within lists and structs far faster than the kernel of [`others`].
fn values(arrays: &[&ArrayRef], locations: &[Location]) -> Result<ArrayRef> {
    match arrays[0].data_type() {
        DataType::Utf8 => strings::<i32>(arrays, locations),
        DataType::LargeUtf8 => strings::<i64>(arrays, locations),
        DataType::List(field) => lists::<i32>(field, arrays, locations),
        DataType::LargeList(field) => lists::<i64>(field, arrays, locations),
        DataType::Struct(fields) => {
            let columns = fields.iter().enumerate().map(|(n, _)| {
                let columns: Vec<&ArrayRef> = arrays.iter().map(|array| array.as_struct().column(n)).collect();
                values(&columns, locations)
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let nulls = nulls(arrays, locations);
            let array = StructArray::try_new_with_length(fields.clone(), columns, nulls, locations.len());
            Ok(Arc::new(array.map_err(malformed)?))
        }
        _ => others(arrays, locations),
    }
}

fn lists<O: OffsetSizeTrait>(field: &Arc<Field>, arrays: &[&ArrayRef], locations: &[Location]) -> Result<ArrayRef> {
    let lists: Vec<&GenericListArray<O>> = arrays.iter().map(|array| array.as_list::<O>()).collect();
    let (mut items, mut offsets) = (Vec::new(), Vec::with_capacity(locations.len() + 1));
    offsets.push(O::zero());
    for (chunk, row) in locations {
        let ends = lists[*chunk].value_offsets();
        let range = ends[*row].as_usize()..ends[*row + 1].as_usize();
        if range.end > lists[*chunk].values().len() {
            return Err(too_large());
        }
        items.extend(range.map(|item| (*chunk, item)));
        offsets.push(O::from_usize(items.len()).ok_or_else(too_large)?);
    }
    let of_items: Vec<&ArrayRef> = lists.iter().map(|list| list.values()).collect();
    let copied = values(&of_items, &items)?;
    let array = GenericListArray::<O>::try_new(
        field.clone(),
        OffsetBuffer::new(offsets.into()),
        copied,
        nulls(arrays, locations),
    );
    Ok(Arc::new(array.map_err(malformed)?))
}

fn nulls(arrays: &[&ArrayRef], locations: &[Location]) -> Option<NullBuffer> {
    let has_nulls = arrays.iter().any(|array| array.null_count() > 0);
    has_nulls.then(|| locations.iter().map(|(chunk, row)| arrays[*chunk].is_valid(*row)).collect())
}

fn binaries<O: OffsetSizeTrait>(arrays: &[&ArrayRef], locations: &[Location]) -> Result<ArrayRef> {
    let (offsets, data) = texts::<O>(arrays, locations)?;
    let array = GenericBinaryArray::<O>::try_new(offsets, data, nulls(arrays, locations));
    Ok(Arc::new(array.map_err(malformed)?))
}

fn strings<O: OffsetSizeTrait>(arrays: &[&ArrayRef], locations: &[Location]) -> Result<ArrayRef> {
    let (offsets, data) = texts::<O>(arrays, locations)?;
    let array = GenericStringArray::<O>::try_new(offsets, data, nulls(arrays, locations));
    Ok(Arc::new(array.map_err(malformed)?))
}

/// Copy the bytes of texts, on all threads.
fn texts<O: OffsetSizeTrait>(arrays: &[&ArrayRef], locations: &[Location]) -> Result<(OffsetBuffer<O>, Buffer)> {
    let opened: Vec<_> = arrays.iter().map(|array| array.as_string::<O>()).collect();
    let opened: Vec<_> = opened.iter().map(|texts| (texts.value_offsets(), texts.value_data())).collect();
    let outside =
        || Error::render(Code::MalformedArray, "a text leads out of its buffer: the Arrow array is malformed");
    let (mut texts, mut offsets) = (Vec::with_capacity(locations.len()), Vec::with_capacity(locations.len() + 1));
    let mut end = 0_usize;
    offsets.push(O::zero());
    for (chunk, row) in locations {
        let (ends, data) = opened[*chunk];
        let text = data.get(ends[*row].as_usize()..ends[*row + 1].as_usize()).ok_or_else(outside)?;
        texts.push(text);
        end += text.len();
        offsets.push(O::from_usize(end).ok_or_else(too_large)?);
    }
    // Batch after batch is copied into the same memory, as they are rendered.
    let mut data = Bytes::new(end)?;
    let (mut parts, mut rest) = (Vec::new(), &mut data[..]);
    for texts in texts.chunks(CHUNK_ROWS) {
        let (part, after) = rest.split_at_mut(texts.iter().map(|text| text.len()).sum());
        parts.push((texts, part));
        rest = after;
    }
    threads::map(parts, |(texts, mut part): (&[&[u8]], &mut [u8])| {
        for text in texts {
            let (target, after) = part.split_at_mut(text.len());
            target.copy_from_slice(text);
            part = after;
        }
    });
    Ok((OffsetBuffer::new(offsets.into()), data.into_buffer()))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn lists_of_structs_are_copied_as_the_kernel_copies_them() {
        use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
        let fields = vec![Field::new("role", DataType::Utf8, true), Field::new("content", DataType::Utf8, true)];
        let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, 0));
        for row in 0..7 {
            for item in 0..row % 3 {
                let message = lists.values();
                message.field_builder::<StringBuilder>(0).unwrap().append_value(format!("r{item}"));
                message.field_builder::<StringBuilder>(1).unwrap().append_option((item > 0).then_some("é"));
                message.append(row != 4);
            }
            lists.append(row != 5);
        }
        let all: ArrayRef = Arc::new(lists.finish());
        let chunks = [all.slice(1, 3), all.slice(0, 1), all.slice(4, 3)];
        let rows = [6, 0, 2, 5, 1, 1, 4, 3];
        let arrays: Vec<&ArrayRef> = chunks.iter().collect();
        let expected = others(&arrays, &locations(&chunks, &rows).unwrap()).unwrap();
        assert_eq!(values(&arrays, &locations(&chunks, &rows).unwrap()).unwrap().to_data(), expected.to_data());
        assert_eq!(take(&chunks, &rows).unwrap().to_data(), expected.to_data());
    }

    #[test]
    fn rows_come_in_any_order_from_any_chunk() {
        let texts = |texts: &[Option<&str>]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let chunks = [texts(&[Some("a"), None]), texts(&[]), texts(&[Some("bc"), Some("")]).slice(0, 1)];
        let result = take(&chunks, &[2, 0, 1, 2]).unwrap();
        assert_eq!(
            result.as_binary::<i32>().iter().collect::<Vec<_>>(),
            [Some(&b"bc"[..]), Some(b"a"), None, Some(b"bc")]
        );
        let numbers = [Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef, Arc::new(Int64Array::from(vec![3]))];
        assert_eq!(*take(&numbers, &[2, 0]).unwrap().as_primitive::<Int64Type>(), Int64Array::from(vec![3, 1]));
        assert!(take(&numbers, &[3]).is_err() && take(&numbers, &[-1]).is_err());
        assert_eq!(take(&chunks, &[]).unwrap().len(), 0);
    }
}
