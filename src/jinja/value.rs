//! The value of an expression for a row.

use super::column::{Column, Record, Rows};
use super::constant::Constant;

/// The reason why a row isn't rendered here: the one of a statement, or [`Bail::VALUE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bail(pub u32);

impl Bail {
    /// An operation can't compute its value exactly.
    pub const VALUE: Self = Self(u32::MAX);
}

/// The result of an operation.
pub(super) type Valued<T> = Result<T, Bail>;

/// The value of an expression for a row. Texts are valid UTF-8.
#[derive(Clone, Copy)]
pub(super) enum Value<'r> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'r [u8]),
    /// A list in a column: a row of it.
    Cells(&'r Rows<'r>, usize),
    /// A list that was computed.
    Items(&'r [Value<'r>]),
    /// A constant list of the program.
    Constants(&'r [Constant]),
    /// A dict in a column: a row of it.
    Record(&'r Record<'r>, usize),
    /// A value of another type in a column: a row of it. At most, it can be printed.
    Other(&'r Column<'r>, usize),
}

impl<'r> Value<'r> {
    pub(super) fn of(constant: &'r Constant) -> Self {
        match constant {
            Constant::None => Self::None,
            Constant::Bool(value) => Self::Bool(*value),
            Constant::Int(value) => Self::Int(*value),
            Constant::Float(value) => Self::Float(*value),
            Constant::Str(text) => Self::Str(text.as_bytes()),
            Constant::List(items) => Self::Constants(items),
        }
    }

    /// Return the text. Bail for any other value.
    #[inline]
    pub(super) fn str(self) -> Valued<&'r [u8]> {
        match self {
            Self::Str(text) => Ok(text),
            _ => Err(Bail::VALUE),
        }
    }

    /// Return an int or bool as Python's `operator.index` does. Bail for any other value.
    pub(super) fn index(self) -> Valued<i64> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Bool(value) => Ok(value.into()),
            _ => Err(Bail::VALUE),
        }
    }

    pub(super) fn bool(self) -> Valued<bool> {
        match self {
            Self::Bool(value) => Ok(value),
            _ => Err(Bail::VALUE),
        }
    }

    /// Return the list. Bail for any other value.
    #[inline]
    pub(super) fn list(self) -> Valued<List<'r>> {
        match self {
            Self::Cells(rows, row) => {
                let ends = rows.ends(row);
                Ok(List::Cells(rows.items(), ends.start, ends.end))
            }
            Self::Items(items) => Ok(List::Items(items)),
            Self::Constants(items) => Ok(List::Constants(items)),
            _ => Err(Bail::VALUE),
        }
    }

    /// Return Python's `bool` of the value. Bail for values of other types.
    #[inline]
    pub(super) fn truth(self) -> Valued<bool> {
        Ok(match self {
            Self::None => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Cells(..) | Self::Items(_) | Self::Constants(_) => self.list()?.len() > 0,
            Self::Record(record, _) => record.len() > 0,
            Self::Other(..) => return Err(Bail::VALUE),
        })
    }

    /// Return the name of the value's type.
    pub(super) fn kind(self) -> Valued<&'static str> {
        Ok(match self {
            Self::None => "none",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::Cells(..) | Self::Items(_) | Self::Constants(_) => "list",
            Self::Record(..) => "dict",
            Self::Other(column, _) if column.is_of_other_kind() => "other",
            Self::Other(..) => return Err(Bail::VALUE),
        })
    }
}

/// The items of a list, in each of its forms.
#[derive(Clone, Copy)]
pub(super) enum List<'r> {
    Cells(&'r Column<'r>, usize, usize),
    Items(&'r [Value<'r>]),
    Constants(&'r [Constant]),
}

impl<'r> List<'r> {
    #[inline]
    pub(super) fn len(self) -> usize {
        match self {
            Self::Cells(_, start, end) => end - start,
            Self::Items(items) => items.len(),
            Self::Constants(items) => items.len(),
        }
    }

    /// Return item `index`, which must exist.
    #[inline]
    pub(super) fn get(self, index: usize) -> Value<'r> {
        match self {
            Self::Cells(column, start, _) => column.value(start + index),
            Self::Items(items) => items[index],
            Self::Constants(items) => Value::of(&items[index]),
        }
    }

    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = Value<'r>> + ExactSizeIterator {
        (0..self.len()).map(move |index| self.get(index))
    }
}
