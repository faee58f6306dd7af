//! Values copied into new arrays, by the one kernel that arrow-data has for all types: where a row comes after the other,
//! no such copy is made. What has a kernel for each type takes half as long to compile as this crate does.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::GenericStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

/// The values at these places of an array, null for none; None where they pass what one array can hold.
pub fn taken(array: &dyn Array, places: impl IntoIterator<Item = Option<usize>>) -> Option<ArrayRef> {
    interleaved(&[array], places.into_iter().map(|place| place.map(|place| (0, place))))
}

/// All values of an array, so many times; None where they pass what one array can hold.
pub fn repeated(array: &dyn Array, times: usize) -> Option<ArrayRef> {
    copied(&[array], std::iter::repeat_n(Run::Of(0, 0..array.len()), times), array.len() * times)
}

/// Values of arrays of one type in this order: which array, and the place in it, null for none. None where they pass what
/// one array can hold.
pub fn interleaved(
    arrays: &[&dyn Array],
    places: impl IntoIterator<Item = Option<(usize, usize)>>,
) -> Option<ArrayRef> {
    let mut runs: Vec<Run> = Vec::new();
    let mut len = 0;
    for place in places {
        len += 1;
        match (runs.last_mut(), place) {
            (Some(Run::Of(last, run)), Some((array, at))) if *last == array && run.end == at => run.end += 1,
            (Some(Run::Null(count)), None) => *count += 1,
            (_, Some((array, at))) => runs.push(Run::Of(array, at..at + 1)),
            (_, None) => runs.push(Run::Null(1)),
        }
    }
    match arrays[0].data_type() {
        DataType::Utf8 => strings::<i32>(arrays, &runs, len),
        DataType::LargeUtf8 => strings::<i64>(arrays, &runs, len),
        _ => copied(arrays, runs, len),
    }
}

/// Strings, of which each message of a batch may have some: the kernel takes twice as long for one by one.
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
                run.clone().for_each(|at| copy.append_option(array.is_valid(at).then(|| array.value(at))));
            }
            Run::Null(count) => copy.append_nulls(*count),
        }
    }
    Some(Arc::new(copy.finish()))
}

/// Arrays one behind the other; None where they pass what one array can hold.
pub(super) fn end_to_end(arrays: &[ArrayRef], len: usize) -> Option<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    copied(&arrays, arrays.iter().enumerate().map(|(n, array)| Run::Of(n, 0..array.len())), len)
}

/// What is copied at once.
#[derive(Clone)]
enum Run {
    /// Values side by side of one array.
    Of(usize, Range<usize>),
    /// So many nulls.
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
        // All that is refused is what has no room.
        match run {
            Run::Of(array, run) => copy.try_extend(array, run.start, run.end).ok()?,
            Run::Null(count) => copy.try_extend_nulls(count).ok()?,
        }
    }
    Some(make_array(copy.freeze()))
}

/// Whether keys have room for the values of all arrays' dictionaries, at any depth: the kernel takes it for granted.
fn dictionaries_fit(all: &[&ArrayData]) -> bool {
    let children = all[0].child_data().len();
    let child = |n: usize| all.iter().map(|one| &one.child_data()[n]).collect::<Vec<&ArrayData>>();
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
    // One dictionary is used as it is. Where there are more, an empty one begins where the last one ends.
    if values.windows(2).all(|two| two[0].ptr_eq(two[1])) {
        return values[0].len() <= room + 1;
    }
    values.iter().map(|one| one.len()).sum::<usize>() <= room && dictionaries_fit(&values)
}

#[cfg(test)]
pub(super) mod tests {
    use arrow_array::{DictionaryArray, Int8Array, Int64Array, StringArray, StringViewArray, StructArray};

    use super::*;

    /// Numbers from `first` on in a dictionary of as many values.
    pub fn dictionary(first: i64, len: i8) -> ArrayRef {
        let values = Int64Array::from_iter_values(first..first + i64::from(len));
        Arc::new(DictionaryArray::new(Int8Array::from_iter_values(0..len), Arc::new(values)))
    }

    #[test]
    fn values_are_copied_in_order() {
        let (a, b) = (StringArray::from(vec![Some("a"), None]), StringArray::from(vec!["b", "c"]));
        let places = [Some((1, 0)), Some((1, 1)), None, None, Some((0, 1)), Some((0, 0)), Some((0, 0))];
        let expected = StringArray::from(vec![Some("b"), Some("c"), None, None, None, Some("a"), Some("a")]);
        assert_eq!(&*interleaved(&[&a, &b], places).unwrap(), &expected as &dyn Array);
        let views = StringViewArray::from(vec!["one that is longer than a view", "b"]);
        let twice = ["one that is longer than a view", "b"].repeat(2);
        assert_eq!(&*repeated(&views, 2).unwrap(), &StringViewArray::from(twice) as &dyn Array);
        assert_eq!(taken(&views, []).unwrap().len(), 0);
        assert_eq!(repeated(&StructArray::new_empty_fields(2, None), 3).unwrap().len(), 6);
    }

    #[test]
    fn a_dictionary_without_room_is_refused() {
        let (a, b) = (dictionary(0, 100), dictionary(100, 100));
        assert!(interleaved(&[&a, &b], [Some((0, 0))]).is_none());
        assert_eq!(repeated(&a, 3).unwrap().len(), 300);
    }
}
