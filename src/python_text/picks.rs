//! The index of each row's value, for dictionaries, run-end encodings and truth values.

use arrow_array::cast::AsArray;
use arrow_array::types::{self as t, RunEndIndexType};
use arrow_array::{AnyDictionaryArray, Array, ArrowPrimitiveType, BooleanArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use crate::error::{Code, Error, Result};

/// Return the error for a key outside `len` values.
pub fn no_such_value(len: usize) -> Error {
    Error::render(
        Code::MalformedArray,
        format!("the dictionary key is outside its {len} values: the Arrow array is malformed"),
    )
}

/// A pick that is outside all arrays of values.
const INVALID_PICK: u32 = u32::MAX;

/// Return each row's key as an index of the values. A null row's key may be anything, so no key is refused here: a key
/// that can't be an index becomes [`INVALID_PICK`].
pub fn dictionary_picks(array: &dyn AnyDictionaryArray) -> Vec<u32> {
    fn of<T: ArrowPrimitiveType>(keys: &dyn Array) -> Vec<u32> {
        let keys = keys.as_primitive::<T>().values();
        keys.iter().map(|key| key.to_usize().and_then(|key| u32::try_from(key).ok()).unwrap_or(INVALID_PICK)).collect()
    }
    let keys = array.keys();
    match keys.data_type() {
        DataType::Int8 => of::<t::Int8Type>(keys),
        DataType::Int16 => of::<t::Int16Type>(keys),
        DataType::Int32 => of::<t::Int32Type>(keys),
        DataType::Int64 => of::<t::Int64Type>(keys),
        DataType::UInt8 => of::<t::UInt8Type>(keys),
        DataType::UInt16 => of::<t::UInt16Type>(keys),
        DataType::UInt32 => of::<t::UInt32Type>(keys),
        DataType::UInt64 => of::<t::UInt64Type>(keys),
        // Arrow has no other keys. A dictionary of a later version would fail at its first row, with a message.
        _ => vec![INVALID_PICK; keys.len()],
    }
}

/// Return each row's run as an index of the values, and the values.
///
/// # Errors
///
/// An error if the runs end before the rows do.
pub fn run_picks(array: &dyn Array) -> Result<(Vec<u32>, &dyn Array)> {
    fn of<T: RunEndIndexType>(array: &dyn Array) -> Result<(Vec<u32>, &dyn Array)> {
        let runs = array.as_run::<T>();
        let (ends, offset) = (runs.run_ends().values(), runs.run_ends().offset());
        let mut picks = Vec::with_capacity(array.len());
        // The ends ascend in a valid array. In an invalid one, the search may stop anywhere within bounds.
        let mut run = ends.partition_point(|end| end.as_usize() <= offset);
        for row in 0..array.len() {
            while ends.get(run).is_some_and(|end| end.as_usize() <= offset + row) {
                run += 1;
            }
            if run >= ends.len().min(runs.values().len()) {
                let message = "the runs end before the rows do: the Arrow array is malformed";
                return Err(Error::render(Code::MalformedArray, message).at_row(row));
            }
            picks.push(u32::try_from(run).unwrap_or(INVALID_PICK));
        }
        Ok((picks, runs.values()))
    }
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int16 => of::<t::Int16Type>(array),
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int32 => of::<t::Int32Type>(array),
        _ => of::<t::Int64Type>(array),
    }
}

/// Return each row's truth as an index: 0 for false, 1 for true; for a null, either.
pub fn truth_picks(array: &BooleanArray) -> Vec<u32> {
    const WORD_BITS: usize = u64::BITS as usize;
    let mut picks = vec![0; array.len()];
    let words = array.values().bit_chunks();
    for (picks, word) in picks.chunks_mut(WORD_BITS).zip(words.iter_padded()) {
        for (bit, pick) in picks.iter_mut().enumerate() {
            *pick = (word >> bit) as u32 & 1;
        }
    }
    picks
}
