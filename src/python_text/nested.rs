//! Printers of lists, structs and maps, and of values with keys or runs.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use super::conversion::Conversion;
use super::none::is_none;
use super::picks::{dictionary_picks, no_such_value, run_picks};
use super::printer::{Printer, printer, printer_of};
use super::quote;
use crate::error::{Code, Error, Result};
use crate::json_text;

/// A child of a nested array.
type Child<'a> = Box<dyn Printer + 'a>;

/// Return the range of the items from `start` to `end`, which come from a foreign producer.
///
/// # Errors
///
/// An error if they aren't all among the child's `len` items.
fn span(start: i64, end: i64, len: usize) -> Result<Range<usize>> {
    if start < 0 || end < start || end as usize > len {
        return Err(Error::render(
            Code::MalformedArray,
            "the list's offsets lead outside its items: the Arrow array is malformed",
        ));
    }
    Ok(start as usize..end as usize)
}

/// `[a, b]`, for each of Arrow's list layouts: `ends` returns the start and end of a row's items in the child.
struct List<'a, F> {
    ends: F,
    nulls: Option<&'a NullBuffer>,
    items: Child<'a>,
    len: usize,
}

/// Make the printer of a list array.
///
/// # Errors
///
/// The same as those of [`printer`] for the items, as for all printers here.
pub(super) fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<Child<'_>> {
    let offsets = array.value_offsets();
    let ends = move |row: usize| (wide(offsets[row]), wide(offsets[row + 1]));
    list_by(ends, array.nulls(), item_field(array.data_type()), array.values())
}

/// Make the printer of a list-view array.
pub(super) fn list_view<O: OffsetSizeTrait>(array: &GenericListViewArray<O>) -> Result<Child<'_>> {
    let (offsets, sizes) = (array.value_offsets(), array.value_sizes());
    let ends = move |row: usize| (wide(offsets[row]), wide(offsets[row]).saturating_add(wide(sizes[row])));
    list_by(ends, array.nulls(), item_field(array.data_type()), array.values())
}

/// Make the printer of an array of lists of one size.
pub(super) fn fixed_size_list(array: &FixedSizeListArray) -> Result<Child<'_>> {
    let size = i64::from(array.value_length());
    let ends = move |row: usize| (row as i64 * size, (row as i64 + 1) * size);
    list_by(ends, array.nulls(), item_field(array.data_type()), array.values())
}

fn list_by<'a>(
    ends: impl Fn(usize) -> (i64, i64) + Send + Sync + 'a,
    nulls: Option<&'a NullBuffer>,
    field: Option<&Field>,
    items: &'a dyn Array,
) -> Result<Child<'a>> {
    let printer = match field {
        Some(field) => printer_of(field, items),
        None => printer(items),
    };
    Ok(Box::new(List { ends, nulls, len: items.len(), items: printer? }))
}

/// Return the field of a list's items.
fn item_field(data_type: &DataType) -> Option<&Field> {
    use DataType as T;
    match data_type {
        T::List(field)
        | T::LargeList(field)
        | T::ListView(field)
        | T::LargeListView(field)
        | T::FixedSizeList(field, _) => Some(field),
        _ => None,
    }
}

fn wide<O: OffsetSizeTrait>(offset: O) -> i64 {
    offset.to_i64().unwrap_or(-1)
}

impl<F: Fn(usize) -> (i64, i64) + Send + Sync> Printer for List<'_, F> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) {
            return Ok(());
        }
        let (start, end) = (self.ends)(row);
        let range = span(start, end, self.len)?;
        out.push(b'[');
        self.items.print_items(range, conversion.within(), out)?;
        out.push(b']');
        Ok(())
    }
}

struct DictField<'a> {
    /// The text before the value, for `repr` and for JSON: `'a': ` and `"a": `.
    key: Vec<u8>,
    json_key: Vec<u8>,
    value: Child<'a>,
}

/// `{'name': value}`. Field names are unique, because [`is_native`](super::is_native) checks it.
pub(super) struct Dict<'a> {
    nulls: Option<&'a NullBuffer>,
    fields: Vec<DictField<'a>>,
}

impl<'a> Dict<'a> {
    /// Make the printer of a struct array.
    pub(super) fn of(array: &'a StructArray) -> Result<Self> {
        let mut fields = Vec::with_capacity(array.num_columns());
        for (field, column) in array.fields().iter().zip(array.columns()) {
            if column.len() < array.len() {
                return Err(Error::render(
                    Code::MalformedArray,
                    "the struct has a field with fewer rows: the Arrow array is malformed",
                ));
            }
            let (mut key, mut json_key) = (Vec::new(), Vec::new());
            quote::string(field.name(), &mut key);
            key.extend_from_slice(b": ");
            json_text::string(field.name(), &mut json_key);
            json_key.extend_from_slice(b": ");
            fields.push(DictField { key, json_key, value: printer_of(field, column)? });
        }
        Ok(Self { nulls: array.nulls(), fields })
    }
}

impl Printer for Dict<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) {
            return Ok(());
        }
        out.push(b'{');
        let first = out.len();
        for field in &self.fields {
            if conversion == Conversion::JsonWithoutNulls && field.value.is_null(row) {
                continue;
            }
            if out.len() > first {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(if conversion.is_json() { &field.json_key } else { &field.key });
            field.value.print(row, conversion.within(), out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// `[(key, value)]`: in Python, a map is a list of pairs, including repeated keys.
pub(super) struct MapPairs<'a> {
    offsets: &'a [i32],
    nulls: Option<&'a NullBuffer>,
    keys: Child<'a>,
    values: Child<'a>,
    len: usize,
}

impl<'a> MapPairs<'a> {
    /// Make the printer of a map array.
    pub(super) fn of(array: &'a MapArray) -> Result<Self> {
        let (keys, values) = (array.keys(), array.values());
        let (key_field, value_field) = array.entries_fields();
        Ok(Self {
            offsets: array.value_offsets(),
            nulls: array.nulls(),
            len: keys.len().min(values.len()),
            keys: printer_of(key_field, keys)?,
            values: printer_of(value_field, values)?,
        })
    }
}

impl Printer for MapPairs<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) {
            return Ok(());
        }
        let range = span(self.offsets[row].into(), self.offsets[row + 1].into(), self.len)?;
        let first = range.start;
        out.push(b'[');
        // In JSON, tuples become lists, and values inside them keep their nulls.
        let (open, close, within) =
            if conversion.is_json() { (b'[', b']', Conversion::Json) } else { (b'(', b')', Conversion::Repr) };
        for entry in range {
            if entry > first {
                out.extend_from_slice(b", ");
            }
            out.push(open);
            self.keys.print(entry, within, out)?;
            out.extend_from_slice(b", ");
            self.values.print(entry, within, out)?;
            out.push(close);
        }
        out.push(b']');
        Ok(())
    }
}

/// Values of a dictionary or of a run-end encoding.
pub(super) struct Picked<'a> {
    picks: Vec<u32>,
    nulls: Option<&'a NullBuffer>,
    values: Child<'a>,
    len: usize,
}

impl<'a> Picked<'a> {
    /// Make the printer of a dictionary array.
    pub(super) fn of_dictionary(array: &'a dyn Array) -> Result<Self> {
        let values = printer(array.as_any_dictionary().values())?;
        Ok(Self::of_dictionary_values(array, values))
    }

    /// Make the printer of a dictionary array whose values have another printer than usual.
    pub(super) fn of_dictionary_values(array: &'a dyn Array, values: Child<'a>) -> Self {
        let dictionary = array.as_any_dictionary();
        Self { picks: dictionary_picks(dictionary), nulls: array.nulls(), len: dictionary.values().len(), values }
    }

    /// Make the printer of a run-end encoded array.
    pub(super) fn of_runs(array: &'a dyn Array) -> Result<Self> {
        let (picks, values) = run_picks(array)?;
        Ok(Self { picks, nulls: None, len: values.len(), values: printer(values)? })
    }
}

impl Printer for Picked<'_> {
    fn is_null(&self, row: usize) -> bool {
        let pick = self.picks[row] as usize;
        self.nulls.is_some_and(|nulls| nulls.is_null(row)) || (pick < self.len && self.values.is_null(pick))
    }

    fn print(&self, row: usize, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
        if is_none(self.nulls, row, conversion, out) {
            return Ok(());
        }
        let pick = self.picks[row] as usize;
        if pick >= self.len {
            return Err(no_such_value(self.len));
        }
        self.values.print(pick, conversion, out)
    }
}
