//! Copies values into new arrays with arrow-data's kernel, which covers all types; no copy is made if rows are
//! consecutive. Kernels for each type would take half as long to compile as this crate does.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::GenericStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

/// Return the values in these rows of an array, and a null for each None; None if they exceed the size of an array.
pub fn take_rows(array: &dyn Array, rows: impl IntoIterator<Item = Option<usize>>) -> Option<ArrayRef> {
    interleaved(&[array], rows.into_iter().map(|row| row.map(|row| (0, row))))
}

/// Repeat all values of an array `times` times; None if they exceed the size of an array.
pub fn repeated(array: &dyn Array, times: usize) -> Option<ArrayRef> {
    copied(&[array], std::iter::repeat_n(Run::Of(0, 0..array.len()), times), array.len() * times)
}

/// Return values of arrays of the same type in this order: the array and the index in it, or None for a null. None if
/// they exceed the size of an array.
pub fn interleaved(
    arrays: &[&dyn Array],
    locations: impl IntoIterator<Item = Option<(usize, usize)>>,
) -> Option<ArrayRef> {
    let mut runs: Vec<Run> = Vec::new();
    let mut len = 0;
    for location in locations {
        len += 1;
        match (runs.last_mut(), location) {
            (Some(Run::Of(last, run)), Some((array, index))) if *last == array && run.end == index => run.end += 1,
            (Some(Run::Null(count)), None) => *count += 1,
            (_, Some((array, index))) => runs.push(Run::Of(array, index..index + 1)),
            (_, None) => runs.push(Run::Null(1)),
        }
    }
    match arrays[0].data_type() {
        DataType::Utf8 => strings::<i32>(arrays, &runs, len),
        DataType::LargeUtf8 => strings::<i64>(arrays, &runs, len),
        _ => copied(arrays, runs, len),
    }
}

/// Copy strings one by one, which takes half the time of Arrow's kernel.
fn strings<O: OffsetSizeTrait>(arrays: &[&dyn Array], runs: &[Run], len: usize) -> Option<ArrayRef> {
    let arrays: Vec<&GenericStringArray<O>> = arrays.iter().map(|array| array.as_string::<O>()).collect();
    let size = |run: &Run| match run {
        Run::Of(array, run) => {
            let offsets = arrays[*array].value_offsets();
            (offsets[run.end] - offsets[run.start]).as_usize()
        }
        Run::Null(_) => 0,
    };
    let size = runs.iter().map(size).sum();
    O::from_usize(size)?;
    let mut copy = GenericStringBuilder::<O>::with_capacity(len, size);
    for run in runs {
        match run {
            Run::Of(array, run) => {
                let array = arrays[*array];
                run.clone().for_each(|index| copy.append_option(array.is_valid(index).then(|| array.value(index))));
            }
            Run::Null(count) => copy.append_nulls(*count),
        }
    }
    Some(Arc::new(copy.finish()))
}

/// Concatenate arrays; None if they exceed the size of an array.
pub(in crate::render) fn end_to_end(arrays: &[ArrayRef], len: usize) -> Option<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    copied(&arrays, arrays.iter().enumerate().map(|(n, array)| Run::Of(n, 0..array.len())), len)
}

/// Values, or nulls, that are copied in a single step.
#[derive(Clone)]
enum Run {
    /// A range of values of an array.
    Of(usize, Range<usize>),
    /// This number of nulls.
    Null(usize),
}

fn copied(arrays: &[&dyn Array], runs: impl IntoIterator<Item = Run>, len: usize) -> Option<ArrayRef> {
    let data: Vec<ArrayData> = arrays.iter().map(|array| array.to_data()).collect();
    let data: Vec<&ArrayData> = data.iter().collect();
    if !dictionaries_fit(&data) {
        return None;
    }
    let mut copy = MutableArrayData::new(data, true, len);
    for run in runs {
        // The kernel refuses only values that have no room.
        match run {
            Run::Of(array, run) => copy.try_extend(array, run.start, run.end).ok()?,
            Run::Null(count) => copy.try_extend_nulls(count).ok()?,
        }
    }
    Some(make_array(copy.freeze()))
}

/// Return true if the keys have room for the values of all arrays' dictionaries, at any depth. Arrow's kernel doesn't
/// check this.
fn dictionaries_fit(all: &[&ArrayData]) -> bool {
    let children = all[0].child_data().len();
    let child = |n: usize| all.iter().map(|array| &array.child_data()[n]).collect::<Vec<&ArrayData>>();
    let DataType::Dictionary(keys, _) = all[0].data_type() else {
        return (0..children).all(|n| dictionaries_fit(&child(n)));
    };
    let room = match **keys {
        DataType::Int8 => i8::MAX as usize,
        DataType::UInt8 => u8::MAX as usize,
        DataType::Int16 => i16::MAX as usize,
        DataType::UInt16 => u16::MAX as usize,
        _ => i32::MAX as usize,
    };
    let values = child(0);
    // A single dictionary is used unchanged. If there are more, an empty one begins where the last one ends.
    if values.windows(2).all(|two| two[0].ptr_eq(two[1])) {
        return values[0].len() <= room + 1;
    }
    values.iter().map(|dictionary| dictionary.len()).sum::<usize>() <= room && dictionaries_fit(&values)
}

#[cfg(test)]
pub(super) mod tests {
    use arrow_array::{DictionaryArray, Int8Array, Int64Array, StringArray, StringViewArray, StructArray};

    use super::*;

    /// Make a dictionary array of numbers from `first` on, with as many values.
    pub fn dictionary(first: i64, len: i8) -> ArrayRef {
        let values = Int64Array::from_iter_values(first..first + i64::from(len));
        Arc::new(DictionaryArray::new(Int8Array::from_iter_values(0..len), Arc::new(values)))
    }

    #[test]
    fn values_are_copied_in_order() {
        let (a, b) = (StringArray::from(vec![Some("a"), None]), StringArray::from(vec!["b", "c"]));
        let locations = [Some((1, 0)), Some((1, 1)), None, None, Some((0, 1)), Some((0, 0)), Some((0, 0))];
        let expected = StringArray::from(vec![Some("b"), Some("c"), None, None, None, Some("a"), Some("a")]);
        assert_eq!(&*interleaved(&[&a, &b], locations).unwrap(), &expected as &dyn Array);
        let views = StringViewArray::from(vec!["one that is longer than a view", "b"]);
        let twice = ["one that is longer than a view", "b"].repeat(2);
        assert_eq!(&*repeated(&views, 2).unwrap(), &StringViewArray::from(twice) as &dyn Array);
        assert_eq!(take_rows(&views, []).unwrap().len(), 0);
        assert_eq!(repeated(&StructArray::new_empty_fields(2, None), 3).unwrap().len(), 6);
    }

    #[test]
    fn a_dictionary_without_room_is_refused() {
        let (a, b) = (dictionary(0, 100), dictionary(100, 100));
        assert!(interleaved(&[&a, &b], [Some((0, 0))]).is_none());
        assert_eq!(repeated(&a, 3).unwrap().len(), 300);
    }
}
