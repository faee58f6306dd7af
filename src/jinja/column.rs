//! Columns of a table as values: what pyarrow's `to_pylist()` gives for each of their rows.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrowPrimitiveType, OffsetSizeTrait};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

use super::value::Value;
use crate::error::{Code, Error, Result};
use crate::pytext::{JsonColumn, TextColumn, dictionary_picks, is_native, no_such_value, run_picks};

/// What Arrow's fields call an extension type's name: of those only Python knows the values.
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

enum Ends {
    Narrow(ScalarBuffer<i32>),
    Wide(ScalarBuffer<i64>),
    NarrowViews(ScalarBuffer<i32>, ScalarBuffer<i32>),
    WideViews(ScalarBuffer<i64>, ScalarBuffer<i64>),
    Fixed(usize),
}

/// A column's rows that are dicts.
pub(super) struct Record<'a> {
    names: Vec<Box<str>>,
    fields: Vec<Column<'a>>,
}

/// Which rows of an array are asked for at all; found out only where some row can't be read.
type Live<'f> = &'f dyn Fn() -> Option<NullBuffer>;

impl<'a> Column<'a> {
    /// A column of a table.
    ///
    /// # Errors
    ///
    /// The first row whose bytes aren't UTF-8 or lie outside the array's buffers.
    pub(super) fn new(field: &Field, array: &'a dyn Array) -> Result<Self> {
        Self::of(field, array, &|| None)
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
            T::List(item) => {
                Cells::Lists(rows(Ends::Narrow(array.as_list::<i32>().offsets().inner().clone()), item, array, live)?)
            }
            T::LargeList(item) => {
                Cells::Lists(rows(Ends::Wide(array.as_list::<i64>().offsets().inner().clone()), item, array, live)?)
            }
            T::ListView(item) => {
                let own = array.as_list_view::<i32>();
                let ends = Ends::NarrowViews(own.offsets().clone(), own.sizes().clone());
                Cells::Lists(rows(ends, item, array, live)?)
            }
            T::LargeListView(item) => {
                let own = array.as_list_view::<i64>();
                let ends = Ends::WideViews(own.offsets().clone(), own.sizes().clone());
                Cells::Lists(rows(ends, item, array, live)?)
            }
            T::FixedSizeList(item, size) => {
                Cells::Lists(rows(Ends::Fixed(usize::try_from(*size).unwrap_or(0)), item, array, live)?)
            }
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
            T::Map(..) if is_native(array.data_type()) => Cells::Printed(JsonColumn::new(array)?, false),
            own if is_native(own) => Cells::Printed(JsonColumn::new(array)?, true),
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
        self.ends.of(row)
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
fn rows<'a>(ends: Ends, item: &Field, array: &'a dyn Array, live: Live) -> Result<Rows<'a>> {
    let items: &'a dyn Array = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values(),
        DataType::LargeList(_) => array.as_list::<i64>().values(),
        DataType::ListView(_) => array.as_list_view::<i32>().values(),
        DataType::LargeListView(_) => array.as_list_view::<i64>().values(),
        _ => array.as_fixed_size_list().values(),
    };
    let (nulls, len) = (array.nulls(), array.len());
    let found = ends.outside(len, items.len(), nulls);
    if let Some(row) = found {
        let message = "the list's offsets lead outside its items: the Arrow array is malformed";
        return Err(Error::render(Code::MalformedArray, message).at_row(row));
    }
    let own_live = || {
        let outer = live();
        let asked = |row: &usize| {
            nulls.is_none_or(|nulls| nulls.is_valid(*row)) && outer.as_ref().is_none_or(|outer| outer.is_valid(*row))
        };
        let mut used = vec![false; items.len()];
        for row in (0..len).filter(asked) {
            used[ends.of(row)].fill(true);
        }
        Some(NullBuffer::from(used))
    };
    let column = Column::of(item, items, &own_live).map_err(|error| {
        // The item's place says nothing to the user: name the row of the column that shows it.
        let place = error.place().row;
        let showing = |row: &usize| place.is_some_and(|at| ends.of(*row).contains(&at));
        match (0..len).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row))).find(showing) {
            Some(row) => error.at_row(row),
            None => error,
        }
    })?;
    Ok(Rows { ends, items: Box::new(column) })
}

impl Ends {
    /// The first row that leads outside of `items`, if one does that isn't null.
    fn outside(&self, rows: usize, items: usize, nulls: Option<&NullBuffer>) -> Option<usize> {
        fn wide<O: OffsetSizeTrait>(offset: O) -> i64 {
            offset.to_i64().unwrap_or(-1)
        }
        let ends = |row: usize| -> (i64, i64) {
            match self {
                Self::Narrow(offsets) => (wide(offsets[row]), wide(offsets[row + 1])),
                Self::Wide(offsets) => (offsets[row], offsets[row + 1]),
                Self::NarrowViews(offsets, sizes) => (wide(offsets[row]), wide(offsets[row]) + wide(sizes[row])),
                Self::WideViews(offsets, sizes) => (offsets[row], offsets[row].saturating_add(sizes[row])),
                Self::Fixed(size) => ((row * size) as i64, ((row + 1) * size) as i64),
            }
        };
        (0..rows).find(|row| {
            let (start, end) = ends(*row);
            (start < 0 || end < start || end as usize > items) && nulls.is_none_or(|nulls| nulls.is_valid(*row))
        })
    }

    #[inline]
    fn of(&self, row: usize) -> Range<usize> {
        let (start, end) = match self {
            Self::Narrow(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
            Self::Wide(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
            Self::NarrowViews(offsets, sizes) => (offsets[row] as usize, offsets[row] as usize + sizes[row] as usize),
            Self::WideViews(offsets, sizes) => (offsets[row] as usize, offsets[row] as usize + sizes[row] as usize),
            Self::Fixed(size) => (row * size, (row + 1) * size),
        };
        start..end
    }
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
