//! Start and end of the items of each row's list.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use crate::error::{Code, Error, Result};
use crate::python_text::lead_inside;

/// Start and end of the items of each row's list, in each of Arrow's layouts.
pub(super) enum Ends {
    Narrow(ScalarBuffer<i32>),
    Wide(ScalarBuffer<i64>),
    NarrowViews(ScalarBuffer<i32>, ScalarBuffer<i32>),
    WideViews(ScalarBuffer<i64>, ScalarBuffer<i64>),
    Fixed(usize),
}

impl Ends {
    /// Return the ends of a list array, and its items.
    ///
    /// # Errors
    ///
    /// If a row that isn't null leads outside of the items. The error names the first such row.
    pub(super) fn of(array: &dyn Array) -> Result<(Self, &dyn Array)> {
        let (ends, items): (Self, &dyn Array) = match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                (Self::Narrow(lists.offsets().inner().clone()), lists.values())
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                (Self::Wide(lists.offsets().inner().clone()), lists.values())
            }
            DataType::ListView(_) => {
                let lists = array.as_list_view::<i32>();
                (Self::NarrowViews(lists.offsets().clone(), lists.sizes().clone()), lists.values())
            }
            DataType::LargeListView(_) => {
                let lists = array.as_list_view::<i64>();
                (Self::WideViews(lists.offsets().clone(), lists.sizes().clone()), lists.values())
            }
            _ => {
                let lists = array.as_fixed_size_list();
                (Self::Fixed(usize::try_from(lists.value_length()).unwrap_or(0)), lists.values())
            }
        };
        let fine = match &ends {
            Self::Narrow(offsets) => lead_inside(offsets, items.len()),
            Self::Wide(offsets) => lead_inside(offsets, items.len()),
            _ => false,
        };
        if fine {
            return Ok((ends, items));
        }
        let valid = |row: &usize| array.nulls().is_none_or(|nulls| nulls.is_valid(*row));
        match (0..array.len()).find(|row| ends.leads_out(*row, items.len()) && valid(row)) {
            None => Ok((ends, items)),
            Some(row) => {
                let message = "the list's offsets lead outside its items: the Arrow array is malformed";
                Err(Error::render(Code::MalformedArray, message).at_row(row))
            }
        }
    }

    fn leads_out(&self, row: usize, items: usize) -> bool {
        fn wide<O: OffsetSizeTrait>(offset: O) -> i64 {
            offset.to_i64().unwrap_or(-1)
        }
        let (start, end) = match self {
            Self::Narrow(offsets) => (wide(offsets[row]), wide(offsets[row + 1])),
            Self::Wide(offsets) => (offsets[row], offsets[row + 1]),
            Self::NarrowViews(offsets, sizes) => (wide(offsets[row]), wide(offsets[row]) + wide(sizes[row])),
            Self::WideViews(offsets, sizes) => (offsets[row], offsets[row].saturating_add(sizes[row])),
            Self::Fixed(size) => ((row * size) as i64, ((row + 1) * size) as i64),
        };
        start < 0 || end < start || end as usize > items
    }

    /// Return the range of a row's items. It may be anything if the row is null.
    #[inline]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
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
