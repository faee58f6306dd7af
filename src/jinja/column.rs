//! Columns of a table as values: what pyarrow's `to_pylist()` gives for each of their rows.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

use super::ends::Ends;
use super::value::Value;
use crate::error::{Code, Error, Result};
use crate::pytext::{JsonColumn, TextColumn, dictionary_picks, is_native, no_such_value, run_picks};

/// What Arrow's fields call an extension type's name.
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// A column, or what lies in one.
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
    /// Which of the values each row shows.
    Picked(Vec<u32>, Box<Column<'a>>),
    /// Values that can be printed, whose type is of no other name than `other`, or is of one.
    Printed(JsonColumn<'a>, bool),
    /// Values that nothing is known of here.
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
}

/// Which rows of an array are asked for at all; found out only where some row can't be read.
type Live<'f> = &'f dyn Fn() -> Option<NullBuffer>;

/// Whether values of a field, or what lies in them, are of an extension type: of those only Python knows the values.
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
    /// A column of a table.
    ///
    /// # Errors
    ///
    /// The first row whose bytes aren't UTF-8 or lie outside the array's buffers.
    pub(super) fn new(field: &Field, array: &'a dyn Array) -> Result<Self> {
        Self::of(field, array, &|| None)
    }

    /// A column that nobody reads.
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
                let own = array.as_any_dictionary();
                let item = Field::new("", (**values).clone(), true);
                picked(dictionary_picks(own), &item, own.values(), array.nulls(), live)?
            }
            T::RunEndEncoded(_, item) => {
                let (picks, values) = run_picks(array)?;
                picked(picks, item, values, None, live)?
            }
            // A map is a list of pairs in Python, of which nothing but the text is known here.
            T::Map(..) if is_native(array.data_type()) && !is_foreign(field) => {
                Cells::Printed(JsonColumn::new(array)?, false)
            }
            own if is_native(own) && !matches!(own, T::Map(..)) => Cells::Printed(JsonColumn::new(array)?, true),
            _ => Cells::Unknown,
        };
        Ok(Self { nulls: array.nulls().filter(|nulls| nulls.null_count() > 0).cloned(), cells })
    }

    /// The value of a row, which there is.
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

    /// What prints its values, if something does.
    pub(super) fn printer(&self) -> Option<&JsonColumn<'a>> {
        match &self.cells {
            Cells::Printed(printer, _) => Some(printer),
            _ => None,
        }
    }

    /// Whether its values are of a type that is none of those that programs know.
    pub(super) fn is_of_other_kind(&self) -> bool {
        matches!(self.cells, Cells::Printed(_, true))
    }

    /// The bytes that the texts in it are slices of, as far as they lie together.
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
    /// Where a row's items start and end.
    #[inline]
    pub(super) fn ends(&self, row: usize) -> Range<usize> {
        self.ends.at(row)
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

    /// The field of this name.
    pub(super) fn field(&self, name: &[u8]) -> Option<&Column<'a>> {
        let at = self.names.iter().position(|own| own.as_bytes() == name)?;
        self.fields.get(at)
    }
}

/// The texts of an array; those that nobody asks for may be anything.
fn texts(array: &dyn Array, live: Live) -> Result<TextColumn> {
    TextColumn::new(array).or_else(|error| match live() {
        Some(live) => TextColumn::of_live(array, &live),
        None => Err(error),
    })
}

/// Rows of lists, each of which ends among its items.
fn rows<'a>(item: &Field, array: &'a dyn Array, live: Live) -> Result<Rows<'a>> {
    let (ends, items) = Ends::of(array)?;
    let (nulls, len) = (array.nulls(), array.len());
    let own_live = || {
        let outer = live();
        let asked = |row: &usize| {
            nulls.is_none_or(|nulls| nulls.is_valid(*row)) && outer.as_ref().is_none_or(|outer| outer.is_valid(*row))
        };
        let mut used = vec![false; items.len()];
        for row in (0..len).filter(asked) {
            used[ends.at(row)].fill(true);
        }
        Some(NullBuffer::from(used))
    };
    let column = Column::of(item, items, &own_live).map_err(|error| {
        // The item's place says nothing to the user: name the row of the column that shows it.
        let place = error.place().row;
        let showing = |row: &usize| place.is_some_and(|at| ends.at(*row).contains(&at));
        match (0..len).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row))).find(showing) {
            Some(row) => error.at_row(row),
            None => error,
        }
    })?;
    Ok(Rows { ends, items: Box::new(column) })
}

/// Rows of dicts; a name that is there twice is a matter of Python's.
fn record<'a>(array: &'a dyn Array, live: Live) -> Result<Cells<'a>> {
    let own = array.as_struct();
    let mut names: Vec<Box<str>> = own.fields().iter().map(|field| field.name().as_str().into()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|two| two[0] == two[1]) {
        return Ok(Cells::Unknown);
    }
    if own.columns().iter().any(|column| column.len() < own.len()) {
        let message = "the struct has a field with fewer rows: the Arrow array is malformed";
        return Err(Error::render(Code::MalformedArray, message));
    }
    let nulls = own.nulls();
    let own_live = || NullBuffer::union(nulls, live().as_ref()).or_else(|| Some(NullBuffer::new_valid(own.len())));
    let fields = own
        .fields()
        .iter()
        .zip(own.columns())
        .map(|(field, column)| Column::of(field, column, &own_live))
        .collect::<Result<Vec<_>>>()?;
    names.shrink_to_fit();
    Ok(Cells::Records(Record { names, fields }))
}

/// Values behind keys or runs. Only what is picked has to be sound.
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
            *pick = 0; // never asked for
        }
    }
    let own_live = || {
        let outer = live();
        let mut used = vec![false; values.len()];
        for (row, pick) in picks.iter().enumerate() {
            if valid(row) && outer.as_ref().is_none_or(|outer| outer.is_valid(row)) {
                used[*pick as usize] = true;
            }
        }
        Some(NullBuffer::from(used))
    };
    let column = Column::of(item, values, &own_live).map_err(|error| {
        let Some(at) = error.place().row else { return error };
        match (0..picks.len()).find(|row| valid(*row) && picks[*row] as usize == at) {
            Some(row) => error.at_row(row),
            None => error,
        }
    })?;
    Ok(Cells::Picked(picks, Box::new(column)))
}
