//! The casts that plans need: from columns of any width, layout and encoding to those that the core reads.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Float64Array, GenericListArray, GenericListViewArray, GenericStringArray, Int64Array,
    OffsetSizeTrait, StringViewArray, new_null_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, FieldRef};

use super::copies::{interleaved, take_rows};
use crate::error::{Code, Error, Result};

/// Convert an array to another type that can hold each of its values. A value that the type lacks doesn't become null.
///
/// Dictionaries and runs are unpacked, integers become 64-bit ones, floats and decimals become 64-bit floats, and
/// strings and lists change their layout, with the items of lists. No plan reads the result of any other conversion.
///
/// # Errors
///
/// `RenderError` for such a value, or for types without a common type.
pub fn cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    Ok(match (array.data_type(), to) {
        (from, to) if from == to => array.slice(0, array.len()),
        (T::Null, to) => new_null_array(to, array.len()),
        (T::Dictionary(..), to) => {
            let dictionary = array.as_any_dictionary();
            let keys = integers(dictionary.keys())?;
            let rows = keys.iter().map(|key| key.map(|key| key as usize));
            cast(&take_rows(dictionary.values(), rows).ok_or_else(|| too_large(array, to))?, to)?
        }
        (T::RunEndEncoded(ends, _), to) => {
            let values = match ends.data_type() {
                T::Int16 => unpacked::<Int16Type>(array),
                T::Int32 => unpacked::<Int32Type>(array),
                _ => unpacked::<Int64Type>(array),
            };
            cast(&values.ok_or_else(|| too_large(array, to))?, to)?
        }
        (from, T::Int64) if from.is_integer() => Arc::new(integers(array)?),
        (from, T::Float64) if from.is_numeric() => Arc::new(floats(array)?),
        (T::Utf8, T::Utf8View) => Arc::new(StringViewArray::from(array.as_string::<i32>())),
        (T::LargeUtf8, T::Utf8View) => Arc::new(StringViewArray::from(array.as_string::<i64>())),
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8) => Arc::new(strings::<i32>(array, to)?),
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::LargeUtf8) => Arc::new(strings::<i64>(array, to)?),
        (_, T::List(item)) => Arc::new(lists::<i32>(array, item, to)?),
        (_, T::LargeList(item)) => Arc::new(lists::<i64>(array, item, to)?),
        _ => return Err(unrelated(array, to)),
    })
}

fn fault(message: String) -> Error {
    Error::render(Code::UnconvertibleValue, message)
}

fn unrelated(array: &dyn Array, to: &DataType) -> Error {
    fault(format!("values of type {} can't be cast to {to}", array.data_type()))
}

fn too_large(array: &dyn Array, to: &DataType) -> Error {
    fault(format!("{} values of type {} don't fit one array of type {to}", array.len(), array.data_type()))
}

/// Expand run-end encoded values to a value for each row.
fn unpacked<R: RunEndIndexType>(array: &dyn Array) -> Option<ArrayRef> {
    let runs = array.as_run::<R>();
    let (ends, start) = (runs.run_ends().values(), runs.run_ends().offset());
    let mut run = runs.run_ends().get_start_physical_index();
    let indices = (start..start + array.len()).map(|row| {
        while ends[run].as_usize() <= row {
            run += 1;
        }
        Some(run)
    });
    take_rows(runs.values(), indices)
}

fn integers(array: &dyn Array) -> Result<Int64Array> {
    fn all<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Int64Array {
        array.as_primitive::<T>().unary(Into::into)
    }
    Ok(match array.data_type() {
        DataType::Int8 => all::<Int8Type>(array),
        DataType::Int16 => all::<Int16Type>(array),
        DataType::Int32 => all::<Int32Type>(array),
        DataType::Int64 => all::<Int64Type>(array),
        DataType::UInt8 => all::<UInt8Type>(array),
        DataType::UInt16 => all::<UInt16Type>(array),
        DataType::UInt32 => all::<UInt32Type>(array),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().try_unary(|value| {
            i64::try_from(value).map_err(|_| fault(format!("{value} is no 64-bit integer with a sign")))
        })?,
        _ => return Err(unrelated(array, &DataType::Int64)),
    })
}

fn floats(array: &dyn Array) -> Result<Float64Array> {
    /// Convert decimals to floats by a division of floats, as all of Arrow's casts of decimals do.
    fn decimals<T: ArrowPrimitiveType>(array: &dyn Array, scale: i8, of: impl Fn(T::Native) -> f64) -> Float64Array {
        array.as_primitive::<T>().unary(|value| of(value) / 10_f64.powi(scale.into()))
    }
    let wide = |value: i256| value.to_string().parse().unwrap_or(f64::NAN);
    Ok(match array.data_type() {
        DataType::Float16 => array.as_primitive::<Float16Type>().unary(|value| value.to_f64()),
        DataType::Float32 => array.as_primitive::<Float32Type>().unary(f64::from),
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|value| value as f64),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale, f64::from),
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale, |value| value as f64),
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale, |value| value as f64),
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(array, *scale, wide),
        _ => integers(array)?.unary(|value| value as f64),
    })
}

fn strings<O: OffsetSizeTrait>(array: &dyn Array, to: &DataType) -> Result<GenericStringArray<O>> {
    fn moved<I: OffsetSizeTrait, O: OffsetSizeTrait>(source: &GenericStringArray<I>) -> Option<GenericStringArray<O>> {
        let offsets = narrowed(source.value_offsets().iter().map(|offset| offset.as_usize()))?;
        GenericStringArray::try_new(offsets, source.values().clone(), source.nulls().cloned()).ok()
    }
    let converted = match array.data_type() {
        DataType::Utf8 => moved(array.as_string::<i32>()),
        DataType::LargeUtf8 => moved(array.as_string::<i64>()),
        _ => {
            let views = array.as_string_view();
            let size: usize = views.iter().flatten().map(str::len).sum();
            O::from_usize(size).map(|_| views.iter().collect())
        }
    };
    converted.ok_or_else(|| too_large(array, to))
}

/// Convert offsets to another width; None if an offset is too large for it.
fn narrowed<O: OffsetSizeTrait>(offsets: impl Iterator<Item = usize>) -> Option<OffsetBuffer<O>> {
    let offsets = offsets.map(O::from_usize).collect::<Option<ScalarBuffer<O>>>()?;
    // The offsets come from an array, so they ascend.
    Some(OffsetBuffer::new(offsets))
}

fn lists<O: OffsetSizeTrait>(array: &dyn Array, item: &FieldRef, to: &DataType) -> Result<GenericListArray<O>> {
    type Parts<O> = (Option<OffsetBuffer<O>>, ArrayRef, Option<NullBuffer>);
    fn plain<I: OffsetSizeTrait, O: OffsetSizeTrait>(source: &GenericListArray<I>) -> Parts<O> {
        let offsets = source.value_offsets().iter().map(|offset| offset.as_usize());
        (narrowed(offsets), source.values().clone(), source.nulls().cloned())
    }
    fn views<I: OffsetSizeTrait, O: OffsetSizeTrait>(source: &GenericListViewArray<I>) -> Option<Parts<O>> {
        let lists = || {
            source
                .value_offsets()
                .iter()
                .zip(source.value_sizes())
                .map(|(offset, size)| (offset.as_usize(), size.as_usize()))
        };
        let values = lists().flat_map(|(offset, size)| (offset..offset + size).map(|index| Some((0, index))));
        let values = interleaved(&[source.values()], values)?;
        let ends = lists().scan(0, |end, (_, size)| {
            *end += size;
            Some(*end)
        });
        Some((narrowed(std::iter::once(0).chain(ends)), values, source.nulls().cloned()))
    }
    let parts = match array.data_type() {
        DataType::List(_) => Some(plain(array.as_list::<i32>())),
        DataType::LargeList(_) => Some(plain(array.as_list::<i64>())),
        DataType::FixedSizeList(_, size) => {
            let source = array.as_fixed_size_list();
            let offsets = narrowed((0..=source.len()).map(|row| row * *size as usize));
            Some((offsets, source.values().clone(), source.nulls().cloned()))
        }
        DataType::ListView(_) => views(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => views(array.as_list_view::<i64>()),
        _ => return Err(unrelated(array, to)),
    };
    let Some((Some(offsets), values, nulls)) = parts else { return Err(too_large(array, to)) };
    GenericListArray::try_new(item.clone(), offsets, cast(&values, item.data_type())?, nulls)
        .map_err(|e| fault(e.to_string()))
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListViewBuilder, StringBuilder, StringDictionaryBuilder};
    use arrow_array::{
        Decimal128Array, Decimal256Array, Float32Array, Int8Array, Int32Array, LargeListArray, LargeStringArray,
        ListArray, RunArray, StringArray, UInt64Array,
    };
    use arrow_schema::Field;

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(values.iter().collect::<StringArray>())
    }

    #[test]
    fn numbers_keep_their_value_or_are_refused() {
        let to_int = |array: &dyn Array| {
            cast(array, &DataType::Int64).map(|integers| integers.as_primitive::<Int64Type>().clone())
        };
        let ints: Int64Array = [Some(-1), None, Some(7)].into_iter().collect();
        assert_eq!(to_int(&Int8Array::from(vec![Some(-1), None, Some(7)])).unwrap(), ints);
        assert_eq!(to_int(&UInt64Array::from(vec![7])).unwrap(), Int64Array::from(vec![7]));
        let error = to_int(&UInt64Array::from(vec![7, 1 << 63])).unwrap_err();
        assert!(error.to_string().contains("9223372036854775808 is no 64-bit integer"), "{error}");

        let to_float =
            |array: &dyn Array| cast(array, &DataType::Float64).unwrap().as_primitive::<Float64Type>().clone();
        assert_eq!(to_float(&Float32Array::from(vec![Some(0.5), None])), Float64Array::from(vec![Some(0.5), None]));
        assert_eq!(to_float(&UInt64Array::from(vec![u64::MAX])), Float64Array::from(vec![u64::MAX as f64]));
        let cents = Decimal128Array::from(vec![-110]).with_precision_and_scale(5, 2).unwrap();
        assert_eq!(to_float(&cents), Float64Array::from(vec![-1.1]));
        let wide = Decimal256Array::from(vec![i256::from_i128(i128::MAX)]).with_precision_and_scale(60, 0).unwrap();
        assert_eq!(to_float(&wide), Float64Array::from(vec![i128::MAX as f64]));
    }

    #[test]
    fn strings_change_their_layout() {
        let all = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
        let plain = texts(&[Some("a text of more than twelve bytes"), None, Some("é"), Some("")]);
        for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let converted =
                cast(&cast(&cast(&plain, from).unwrap().slice(1, 3), to).unwrap(), &DataType::Utf8).unwrap();
            assert_eq!(&converted, &plain.slice(1, 3), "{from} to {to}");
        }
        assert!(cast(&plain, &DataType::Int64).is_err());
    }

    #[test]
    fn dictionaries_and_runs_are_unpacked() {
        let mut words = StringDictionaryBuilder::<Int8Type>::new();
        words.extend([Some("a"), None, Some("b"), Some("a")]);
        let words = words.finish();
        assert_eq!(&cast(&words.slice(1, 3), &DataType::Utf8).unwrap(), &texts(&[None, Some("b"), Some("a")]));
        let runs = RunArray::try_new(&Int32Array::from(vec![2, 3, 6]), &texts(&[Some("a"), None, Some("b")])).unwrap();
        let plain = texts(&[Some("a"), Some("a"), None, Some("b"), Some("b"), Some("b")]);
        for (start, len) in [(0, 6), (1, 3), (3, 3), (2, 0), (6, 0)] {
            assert_eq!(&cast(&runs.slice(start, len), &DataType::Utf8).unwrap(), &plain.slice(start, len));
        }
    }

    #[test]
    fn lists_change_their_layout_with_their_items() {
        let lists = [Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(3), Some(4)])];
        let item: FieldRef = Arc::new(Field::new_list_field(DataType::Int64, true));
        let expected = LargeListArray::from_iter_primitive::<Int64Type, _, _>(lists.clone());
        let narrow: FieldRef = Arc::new(Field::new_list_field(DataType::Int8, true));
        let items = Arc::new(Int8Array::from(vec![Some(1), None, Some(3), Some(4)]));
        let nulls = expected.nulls().cloned();
        let source = ListArray::new(narrow, OffsetBuffer::from_lengths([2, 0, 0, 2]), items, nulls);
        let converted = cast(&source.slice(1, 3), &DataType::LargeList(item.clone())).unwrap();
        assert_eq!(converted.as_list::<i64>(), &expected.slice(1, 3));
        assert_eq!(cast(&expected, &DataType::List(item)).unwrap().as_list::<i32>().value_offsets(), [0, 2, 2, 2, 4]);

        let mut views = ListViewBuilder::new(StringBuilder::new());
        for words in [&["a", "b"][..], &[], &["c"]] {
            for word in words {
                views.values().append_value(word);
            }
            views.append(true);
        }
        views.append(false);
        let item: FieldRef = Arc::new(Field::new_list_field(DataType::LargeUtf8, true));
        let converted = cast(&views.finish().slice(1, 3), &DataType::List(item)).unwrap();
        assert_eq!(converted.as_list::<i32>().value_offsets(), [0, 0, 1, 1]);
        assert_eq!(converted.as_list::<i32>().values().as_string::<i64>(), &LargeStringArray::from(vec!["c"]));
        assert!(converted.is_null(2));
    }
}
