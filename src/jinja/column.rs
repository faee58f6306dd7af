//! Columns of a table as values. Each row has the value that pyarrow's `to_pylist()` returns.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

use super::ends::Ends;
use super::value::Value;
use crate::error::{Code, Error, Result};
use crate::python_text::{JsonColumn, TextColumn, dictionary_picks, is_native, no_such_value, run_picks};

/// The key of an extension type's name in the metadata of an Arrow field.
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// A column of a table, or of the items, fields or values in a column.
pub(super) struct Column<'a> {
    nulls: Option<NullBuffer>,
    cells: Cells<'a>,
}

enum Cells<'a> {
    Nothing,
    Bools(BooleanBuffer),
    Ints(ScalarBuffer<i64>),
    Floats(ScalarBuffer<f64>),
    Texts(TextColumn),
    Lists(Rows<'a>),
    Records(Record<'a>),
    /// The index of each row's value, and the values.
    Picked(Vec<u32>, Box<Column<'a>>),
    /// Values that can only be printed. The flag is true if the kind of their type is `other`.
    Printed(JsonColumn<'a>, bool),
    /// Values of types that only Python can read.
    Unknown,
}

/// A column's rows that are lists.
pub(super) struct Rows<'a> {
    ends: Ends,
    items: Box<Column<'a>>,
}

/// A column's rows that are dicts.
pub(super) struct Record<'a> {
    names: Vec<Box<str>>,
    fields: Vec<Column<'a>>,
    /// The fields' numbers in the order of their names.
    sorted: Vec<usize>,
}

/// Returns the rows of an array that are used. It is called only if some row can't be read.
type Live<'f> = &'f dyn Fn() -> Option<NullBuffer>;

/// Return true if a field has an extension type, or contains one. Only Python knows the values of these types.
pub(super) fn is_foreign(field: &Field) -> bool {
    use DataType as T;
    field.metadata().contains_key(EXTENSION_NAME)
        || match field.data_type() {
            T::List(item)
            | T::LargeList(item)
            | T::ListView(item)
            | T::LargeListView(item)
            | T::FixedSizeList(item, _)
            | T::Map(item, _)
            | T::RunEndEncoded(_, item) => is_foreign(item),
            T::Struct(fields) => fields.iter().any(|field| is_foreign(field)),
            _ => false,
        }
}

impl<'a> Column<'a> {
    /// Read a column of a table.
    ///
    /// # Errors
    ///
    /// If a row's bytes aren't UTF-8 or are outside of the array's buffers. The error names the first such row.
    pub(super) fn new(field: &Field, array: &'a dyn Array) -> Result<Self> {
        Self::of(field, array, &|| None)
    }

    /// Return a placeholder for a column that isn't read.
    pub(super) fn unread() -> Self {
        Self { nulls: None, cells: Cells::Unknown }
    }

    fn of(field: &Field, array: &'a dyn Array, live: Live) -> Result<Self> {
        use DataType as T;
        fn ints<N: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Cells<'static> {
            Cells::Ints(array.as_primitive::<N>().values().iter().map(|value| (*value).into()).collect())
        }
        let cells = match array.data_type() {
            _ if field.metadata().contains_key(EXTENSION_NAME) => Cells::Unknown,
            T::Null => Cells::Nothing,
            T::Boolean => Cells::Bools(array.as_boolean().values().clone()),
            T::Int8 => ints::<t::Int8Type>(array),
            T::Int16 => ints::<t::Int16Type>(array),
            T::Int32 => ints::<t::Int32Type>(array),
            T::Int64 => Cells::Ints(array.as_primitive::<t::Int64Type>().values().clone()),
            T::UInt8 => ints::<t::UInt8Type>(array),
            T::UInt16 => ints::<t::UInt16Type>(array),
            T::UInt32 => ints::<t::UInt32Type>(array),
            T::UInt64 => {
                let values = array.as_primitive::<t::UInt64Type>().values();
                match values.iter().map(|value| i64::try_from(*value)).collect::<std::result::Result<Vec<_>, _>>() {
                    Ok(values) => Cells::Ints(values.into()),
                    Err(_) => Cells::Printed(JsonColumn::new(array)?, false),
                }
            }
            T::Float16 => {
                Cells::Floats(array.as_primitive::<t::Float16Type>().values().iter().map(|v| v.to_f64()).collect())
            }
            T::Float32 => {
                Cells::Floats(array.as_primitive::<t::Float32Type>().values().iter().map(|v| f64::from(*v)).collect())
            }
            T::Float64 => Cells::Floats(array.as_primitive::<t::Float64Type>().values().clone()),
            T::Utf8 | T::LargeUtf8 | T::Utf8View => Cells::Texts(texts(array, live)?),
            T::List(item)
            | T::LargeList(item)
            | T::ListView(item)
            | T::LargeListView(item)
            | T::FixedSizeList(item, _) => Cells::Lists(rows(item, array, live)?),
            T::Struct(_) => record(array, live)?,
            T::Dictionary(_, values) => {
                let dictionary = array.as_any_dictionary();
                let item = Field::new("", (**values).clone(), true);
                picked(dictionary_picks(dictionary), &item, dictionary.values(), array.nulls(), live)?
            }
            T::RunEndEncoded(_, item) => {
                let (picks, values) = run_picks(array)?;
                picked(picks, item, values, None, live)?
            }
            // In Python, a map is a list of pairs. Here it can only be printed.
            T::Map(..) if is_native(array.data_type()) && !is_foreign(field) => {
                Cells::Printed(JsonColumn::new(array)?, false)
            }
            data_type if is_native(data_type) && !matches!(data_type, T::Map(..)) => {
                Cells::Printed(JsonColumn::new(array)?, true)
            }
            _ => Cells::Unknown,
        };
        Ok(Self { nulls: array.nulls().filter(|nulls| nulls.null_count() > 0).cloned(), cells })
    }

    /// Return the value of a row, which must exist.
    #[inline]
    pub(super) fn value<'r>(&'r self, row: usize) -> Value<'r> {
        if let Some(nulls) = &self.nulls
            && nulls.is_null(row)
        {
            return Value::None;
        }
        match &self.cells {
            Cells::Texts(texts) => Value::Str(texts.bytes(row)),
            Cells::Nothing => Value::None,
            Cells::Bools(values) => Value::Bool(values.value(row)),
            Cells::Ints(values) => Value::Int(values[row]),
            Cells::Floats(values) => Value::Float(values[row]),
            Cells::Lists(rows) => Value::Cells(rows, row),
            Cells::Records(record) => Value::Record(record, row),
            Cells::Picked(picks, values) => values.value(picks[row] as usize),
            Cells::Printed(..) | Cells::Unknown => Value::Other(self, row),
        }
    }

    /// Return the printer of the column's values, if they can only be printed.
    pub(super) fn printer(&self) -> Option<&JsonColumn<'a>> {
        match &self.cells {
            Cells::Printed(printer, _) => Some(printer),
            _ => None,
        }
    }

    /// Return true if the kind of the column's type is `other`.
    pub(super) fn is_of_other_kind(&self) -> bool {
        matches!(self.cells, Cells::Printed(_, true))
    }

    /// Call `see` with the bytes that contain the column's texts, where they are contiguous.
    pub(super) fn each_base<'r>(&'r self, see: &mut dyn FnMut(&'r [u8])) {
        match &self.cells {
            Cells::Texts(texts) => texts.contiguous().into_iter().for_each(see),
            Cells::Lists(rows) => rows.items.each_base(see),
            Cells::Records(record) => record.fields.iter().for_each(|field| field.each_base(see)),
            Cells::Picked(_, values) => values.each_base(see),
            _ => {}
        }
    }
}

impl<'a> Rows<'a> {
    /// Return the range of a row's items.
    #[inline]
    pub(super) fn ends(&self, row: usize) -> Range<usize> {
        self.ends.range(row)
    }

    pub(super) fn items(&self) -> &Column<'a> {
        &self.items
    }
}

impl<'a> Record<'a> {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn names(&self) -> &[Box<str>] {
        &self.names
    }

    pub(super) fn fields(&self) -> &[Column<'a>] {
        &self.fields
    }

    pub(super) fn sorted(&self) -> &[usize] {
        &self.sorted
    }

    /// Return the field with a name.
    pub(super) fn field(&self, name: &[u8]) -> Option<&Column<'a>> {
        let index = self.names.iter().position(|field| field.as_bytes() == name)?;
        self.fields.get(index)
    }
}

/// Read the texts of an array. If some bytes aren't UTF-8, check only the texts that are used.
fn texts(array: &dyn Array, live: Live) -> Result<TextColumn> {
    TextColumn::new(array).or_else(|error| match live() {
        Some(live) => TextColumn::of_live(array, &live),
        None => Err(error),
    })
}

/// Read rows of lists, and check that each list is inside the items.
fn rows<'a>(item: &Field, array: &'a dyn Array, live: Live) -> Result<Rows<'a>> {
    let (ends, items) = Ends::of(array)?;
    let (nulls, len) = (array.nulls(), array.len());
    let child_live = || {
        let outer = live();
        let is_live = |row: &usize| {
            nulls.is_none_or(|nulls| nulls.is_valid(*row)) && outer.as_ref().is_none_or(|outer| outer.is_valid(*row))
        };
        let mut used = vec![false; items.len()];
        for row in (0..len).filter(is_live) {
            used[ends.range(row)].fill(true);
        }
        Some(NullBuffer::from(used))
    };
    let column = Column::of(item, items, &child_live).map_err(|error| {
        // The index of an item means nothing to the user, so the error names the row whose list has the item.
        let item = error.location().row;
        let has_item = |row: &usize| item.is_some_and(|item| ends.range(*row).contains(&item));
        match (0..len).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row))).find(has_item) {
            Some(row) => error.at_row(row),
            None => error,
        }
    })?;
    Ok(Rows { ends, items: Box::new(column) })
}

/// Read rows of dicts. If two fields have the same name, only Python can read them.
fn record<'a>(array: &'a dyn Array, live: Live) -> Result<Cells<'a>> {
    let record = array.as_struct();
    let mut names: Vec<Box<str>> = record.fields().iter().map(|field| field.name().as_str().into()).collect();
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_by_key(|index| &names[*index]);
    if sorted.windows(2).any(|two| names[two[0]] == names[two[1]]) {
        return Ok(Cells::Unknown);
    }
    if record.columns().iter().any(|column| column.len() < record.len()) {
        let message = "the struct has a field with fewer rows: the Arrow array is malformed";
        return Err(Error::render(Code::MalformedArray, message));
    }
    let nulls = record.nulls();
    let child_live = || NullBuffer::union(nulls, live().as_ref()).or_else(|| Some(NullBuffer::new_valid(record.len())));
    let fields = record
        .fields()
        .iter()
        .zip(record.columns())
        .map(|(field, column)| Column::of(field, column, &child_live))
        .collect::<Result<Vec<_>>>()?;
    names.shrink_to_fit();
    Ok(Cells::Records(Record { names, fields, sorted }))
}

/// Read values with the keys of a dictionary or the runs of a run-end encoding. Only values that are used are checked.
fn picked<'a>(
    mut picks: Vec<u32>,
    item: &Field,
    values: &'a dyn Array,
    nulls: Option<&NullBuffer>,
    live: Live,
) -> Result<Cells<'a>> {
    let valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    for (row, pick) in picks.iter_mut().enumerate() {
        if *pick as usize >= values.len() {
            if valid(row) && live().is_none_or(|live| live.is_valid(row)) {
                return Err(no_such_value(values.len()).at_row(row));
            }
            *pick = 0; // never read
        }
    }
    let child_live = || {
        let outer = live();
        let mut used = vec![false; values.len()];
        for (row, pick) in picks.iter().enumerate() {
            if valid(row) && outer.as_ref().is_none_or(|outer| outer.is_valid(row)) {
                used[*pick as usize] = true;
            }
        }
        Some(NullBuffer::from(used))
    };
    let column = Column::of(item, values, &child_live).map_err(|error| {
        let Some(index) = error.location().row else { return error };
        match (0..picks.len()).find(|row| valid(*row) && picks[*row] as usize == index) {
            Some(row) => error.at_row(row),
            None => error,
        }
    })?;
    Ok(Cells::Picked(picks, Box::new(column)))
}
