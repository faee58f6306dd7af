//! Hashes of rows by content, whatever holds it: string layouts, dictionaries, integer widths, batches.
//!
//! A row's hash covers its columns that aren't null, in the order of their names: for each, the column's name, the kind
//! of the value and the value. A text is hashed as it is; other values are serialised as in hashes of messages
//! (`statistics`). So neither the order of columns nor the layout of a value matters.

use std::hash::{BuildHasher, Hasher};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use foldhash::quality::{FixedState, FoldHasher};

use super::normalised::normalised;
use super::texts::readable_here;
use crate::error::{Code, Error, Result};
use crate::python_text::{TextColumn, is_native};
use crate::render::{MessageColumn, sound};
use crate::statistics::{HASH_BYTES, RequestHash, unchanged, write};
use crate::template::keys;
use crate::threads;

/// So many rows are hashed by one thread at a time.
const CHUNK_ROWS: usize = 1024;

/// The seeds of the two halves of a hash, for rows as they are and for normalised rows. No hash of one kind equals a
/// hash of the other.
///
/// Rows are compared within a run, and nobody gains from a forged collision. A cryptographic hash would take ten times
/// as long, which is as long as the rest of an audit.
const SEEDS: [[u64; 2]; 2] =
    [[0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F], [0x1656_67B1_9E37_79F9, 0x27D4_EB2F_1656_67C5]];

/// A column, opened for hashing.
enum Column {
    /// Values that are identified by their kind and their printed text.
    Printed(u8, TextColumn, Option<NullBuffer>),
    /// Texts, and values that contain texts.
    Textual(MessageColumn),
}

impl Column {
    fn new(field: &Field, array: &ArrayRef) -> Result<Self> {
        readable_here(field)?;
        if !is_native(array.data_type()) {
            let message = format!("values of type {} can't be compared here; cast the column first", array.data_type());
            return Err(Error::render(Code::UnsupportedColumnType, message));
        }
        let tag = match array.data_type() {
            data_type if data_type.is_integer() => b'i',
            data_type if data_type.is_temporal() || data_type.is_decimal() => b'o',
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => b'o',
            _ => return Ok(Self::Textual(MessageColumn::new(array)?)),
        };
        sound(array)?;
        Ok(Self::Printed(tag, TextColumn::new(array)?, array.nulls().filter(|nulls| nulls.null_count() > 0).cloned()))
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Printed(_, _, nulls) => nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)),
            Self::Textual(column) => column.is_null(row),
        }
    }

    /// Return the kind of a row's value and its bytes: those in `written`, or the text itself.
    fn content<'a>(&'a self, row: usize, normalise: bool, written: &'a mut Vec<u8>) -> (u8, &'a [u8]) {
        let (tag, texts) = match self {
            Self::Printed(tag, texts, _) => return (*tag, texts.bytes(row)),
            Self::Textual(MessageColumn::Text(texts, _)) => (b's', texts),
            Self::Textual(column) => {
                written.clear();
                write(column, row, if normalise { normalised } else { unchanged }, written);
                return (b'w', written);
            }
        };
        if !normalise {
            return (tag, texts.bytes(row));
        }
        written.clear();
        normalised(texts.bytes(row), written);
        (tag, written)
    }
}

/// The state of each half of a hash.
type Halves = [FixedState; 2];

/// Update a hash with a value of a column. `name` is a number for the column's name.
#[inline]
fn update(halves: &Halves, from: &mut [u64; 2], name: u64, tag: u8, value: &[u8]) {
    for (half, state) in from.iter_mut().zip(halves) {
        let mut hasher = state.build_hasher();
        hasher.write_u64(*half);
        hasher.write_u64(name);
        hasher.write_u64(value.len() as u64 | u64::from(tag) << 56);
        hasher.write(value);
        *half = hasher.finish();
    }
}

/// Update a hash with a value of a column of lists or structs, whose texts are hashed where they lie.
fn update_nested(
    halves: &Halves,
    from: &mut [u64; 2],
    name: u64,
    column: &MessageColumn,
    row: usize,
    written: &mut Vec<u8>,
) {
    let mut hashers = halves.each_ref().map(|state| state.build_hasher());
    for (hasher, half) in hashers.iter_mut().zip(&*from) {
        hasher.write_u64(*half);
        hasher.write_u64(name);
    }
    add_value(column, row, &mut hashers, written);
    *from = hashers.map(|hasher| hasher.finish());
}

/// Add what [`write`] writes of a value, each text with its length and each list and struct with the number of its items.
fn add_value(column: &MessageColumn, row: usize, to: &mut [FoldHasher<'_>; 2], written: &mut Vec<u8>) {
    if column.is_null(row) {
        return add_number(b'n', 0, to);
    }
    match column {
        MessageColumn::Text(texts, _) => add_text(texts.bytes(row), to),
        MessageColumn::List(ends, items, _) => {
            add_number(b'l', ends[row + 1] - ends[row], to);
            (ends[row]..ends[row + 1]).for_each(|item| add_value(items, item, to, written));
        }
        MessageColumn::Struct(fields, _) => {
            let mut present = fields.iter().filter(|(_, field)| !field.is_null(row));
            // A bare string among messages is such a struct.
            if let (Some((name, MessageColumn::Text(prompt, _))), None) = (present.next(), present.next())
                && name == keys::PROMPT
            {
                return add_text(prompt.bytes(row), to);
            }
            for (name, field) in fields.iter().filter(|(_, field)| !field.is_null(row)) {
                add_text(name.as_bytes(), to);
                add_value(field, row, to, written);
            }
            add_number(b'd', 0, to);
        }
        MessageColumn::Other(_) => {
            written.clear();
            write(column, row, unchanged, written);
            add_number(b'w', written.len(), to);
            for hasher in to {
                hasher.write(written);
            }
        }
    }
}

fn add_text(text: &[u8], to: &mut [FoldHasher<'_>; 2]) {
    add_number(b's', text.len(), to);
    for hasher in to {
        hasher.write(text);
    }
}

fn add_number(tag: u8, number: usize, to: &mut [FoldHasher<'_>; 2]) {
    for hasher in to {
        hasher.write_u64(number as u64 | u64::from(tag) << 56);
    }
}

/// Return a hash of each row's content. With `normalise`, the case, punctuation and spacing of its texts don't count.
///
/// # Errors
///
/// `RenderError` for an array whose offsets or bytes are wrong, and for values of a type that only Python reads.
pub fn row_hashes(batch: &RecordBatch, normalise: bool) -> Result<Vec<RequestHash>> {
    let schema = batch.schema();
    let halves: Halves = SEEDS[usize::from(normalise)].map(FixedState::with_seed);
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let mut name = [0; 2];
        update(&halves, &mut name, 0, 0, field.name().as_bytes());
        let column = Column::new(field, array).map_err(|error| error.in_column(field.name()))?;
        columns.push((field.name(), name[0], column));
    }
    columns.sort_by_key(|(name, _, _)| *name);
    let chunk = |rows: std::ops::Range<usize>| -> Vec<RequestHash> {
        let mut written = Vec::new();
        let hash = |row: usize| {
            let mut hash = [0; 2];
            for (_, name, column) in columns.iter().filter(|(_, _, column)| !column.is_null(row)) {
                match column {
                    Column::Textual(of @ (MessageColumn::List(..) | MessageColumn::Struct(..))) if !normalise => {
                        update_nested(&halves, &mut hash, *name, of, row, &mut written);
                    }
                    _ => {
                        let (tag, value) = column.content(row, normalise, &mut written);
                        update(&halves, &mut hash, *name, tag, value);
                    }
                }
            }
            let mut out = [0; HASH_BYTES];
            for (half, value) in out.chunks_exact_mut(HASH_BYTES / 2).zip(hash) {
                half.copy_from_slice(&value.to_le_bytes());
            }
            out
        };
        rows.map(hash).collect()
    };
    Ok(threads::map(threads::chunks(0..batch.num_rows(), CHUNK_ROWS), chunk).concat())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{
        Date32Array, DictionaryArray, Float64Array, Int8Array, Int64Array, LargeStringArray, ListArray, StringArray,
        StringViewArray, UInt64Array,
    };

    use super::*;

    fn hashes(columns: Vec<(&str, ArrayRef)>, normalise: bool) -> Vec<RequestHash> {
        row_hashes(
            &RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap(),
            normalise,
        )
        .unwrap()
    }

    #[test]
    fn what_holds_a_row_makes_no_difference() {
        let texts = [Some("a"), None, Some("a"), Some("")];
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 1, 2]));
        let narrow: ArrayRef = Arc::new(Int8Array::from(vec![1, 1, 1, 2]));
        let strings: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let expected = hashes(vec![("q", strings.clone()), ("n", numbers.clone())], false);
        assert_eq!(expected[0], expected[2]);
        assert!(expected[0] != expected[1] && expected[1] != expected[3] && expected[0] != expected[3]);
        let keys: DictionaryArray<Int8Type> = texts.into_iter().collect();
        for other in [
            vec![("n", narrow), ("q", strings.clone())],
            vec![("q", Arc::new(LargeStringArray::from(texts.to_vec())) as ArrayRef), ("n", numbers.clone())],
            vec![("n", numbers.clone()), ("q", Arc::new(StringViewArray::from(texts.to_vec())))],
            vec![("q", Arc::new(keys)), ("n", Arc::new(UInt64Array::from(vec![1, 1, 1, 2])))],
        ] {
            assert_eq!(hashes(other, false), expected);
        }
        assert_eq!(hashes(vec![("q", strings.slice(2, 2)), ("n", numbers.slice(2, 2))], false), expected[2..]);
        assert_ne!(hashes(vec![("r", strings), ("n", numbers)], false)[0], expected[0]);
    }

    #[test]
    fn values_of_other_kinds_differ() {
        let hash_of = |array: ArrayRef| hashes(vec![("c", array)], false)[0];
        let all = [
            hash_of(Arc::new(Int64Array::from(vec![1]))),
            hash_of(Arc::new(Float64Array::from(vec![1.0]))),
            hash_of(Arc::new(StringArray::from(vec!["1"]))),
            hash_of(Arc::new(Date32Array::from(vec![1]))),
            hash_of(Arc::new(Date32Array::from(vec![2]))),
            hash_of(Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some([Some(1)])]))),
        ];
        for (index, hash) in all.iter().enumerate() {
            assert!(!all[..index].contains(hash), "{index}");
        }
    }

    #[test]
    fn normalised_texts_count_wherever_they_stand() {
        let of = |text: &str| {
            let strings: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let keys: DictionaryArray<Int8Type> = [text].into_iter().collect();
            let mut lists = arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
            lists.append_value([Some(text)]);
            vec![("s", strings), ("k", Arc::new(keys) as ArrayRef), ("l", Arc::new(lists.finish()) as ArrayRef)]
        };
        assert_eq!(hashes(of("Hello,  World!"), true), hashes(of("hello world"), true));
        assert_ne!(hashes(of("Hello,  World!"), false), hashes(of("hello world"), false));
        assert_ne!(hashes(of("hello world"), true), hashes(of("hello world"), false));
        assert_ne!(hashes(of("hello world"), true), hashes(of("helloworld"), true));
    }
}
