//! The parts that requests begin with: columns of the samples, hashed row by row or item by item.

use std::hash::{BuildHasher, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use foldhash::fast::FixedState;

use crate::error::Result;
use crate::render::MessageColumn;
use crate::statistics::{unchanged, write};

/// The most items of a list that are told apart. Conversations with more equal messages at their beginning are rare.
pub(super) const MAX_ITEMS: usize = 64;

/// The bytes of a long text that are hashed with its length: those at its beginning, and those at its end. Texts that
/// agree in all of that are nearly always equal; others count as equal.
const HEAD_BYTES: usize = 1024;
const TAIL_BYTES: usize = 128;

/// The seed of hashes, so that a process gets the same order every time.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// A column of the samples, in the chunks that it came in.
pub struct Part {
    chunks: Vec<Values>,
    /// The first row of each chunk.
    starts: Vec<usize>,
    /// True if the values are lists, or texts of JSON lists, whose items are parts of their own.
    pub(super) has_items: bool,
}

impl Part {
    /// Open a column.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(chunks: &[ArrayRef]) -> Result<Self> {
        let mut starts = Vec::with_capacity(chunks.len());
        let mut rows = 0;
        for chunk in chunks {
            starts.push(rows);
            rows += chunk.len();
        }
        let chunks = chunks.iter().map(Values::new).collect::<Result<Vec<_>>>()?;
        let has_items = chunks.iter().any(Values::have_items);
        Ok(Self { chunks, starts, has_items })
    }

    /// Return a hash of the value in a row.
    pub(super) fn hash(&self, row: usize) -> u64 {
        let (values, row) = self.values(row);
        values.hash(row)
    }

    /// Return a hash of an item of the list in a row; None if there is no such item.
    pub(super) fn item_hash(&self, row: usize, item: usize) -> Option<u64> {
        let (values, row) = self.values(row);
        match values {
            Values::List(_, _, Some(nulls)) if nulls.is_null(row) => None,
            Values::List(ends, items, _) => {
                let (start, end) = (ends[row], ends[row + 1]);
                (item < end - start).then(|| items.hash(start + item))
            }
            Values::Text(..) => {
                let mut hasher = FixedState::with_seed(SEED).build_hasher();
                hasher.write(element(values.text(row), item)?);
                Some(hasher.finish())
            }
            _ => None,
        }
    }

    fn values(&self, row: usize) -> (&Values, usize) {
        let chunk = if self.chunks.len() == 1 { 0 } else { self.starts.partition_point(|start| *start <= row) - 1 };
        (&self.chunks[chunk], row - self.starts[chunk])
    }
}

/// An array, opened for hashing. Texts are hashed as bytes, so that they needn't be UTF-8.
enum Values {
    Text(Ends, Buffer, Option<NullBuffer>),
    /// Lists, with the start and end of each among the items.
    List(Vec<usize>, Box<Values>, Option<NullBuffer>),
    Struct(Vec<Values>, Option<NullBuffer>),
    /// Numbers, moments and the like, with the number of bytes of each.
    Fixed(usize, Buffer, Option<NullBuffer>),
    Other(MessageColumn),
}

/// The offsets of texts.
enum Ends {
    Narrow(OffsetBuffer<i32>),
    Wide(OffsetBuffer<i64>),
}

impl Values {
    fn new(array: &ArrayRef) -> Result<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        Ok(match array.data_type() {
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                Self::Text(Ends::Narrow(texts.offsets().clone()), texts.values().clone(), nulls)
            }
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                Self::Text(Ends::Wide(texts.offsets().clone()), texts.values().clone(), nulls)
            }
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize);
                Self::List(list_ends(ends, lists.values().len()), Self::boxed(lists.values())?, nulls)
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize);
                Self::List(list_ends(ends, lists.values().len()), Self::boxed(lists.values())?, nulls)
            }
            DataType::Struct(_) => {
                let fields = array.as_struct().columns().iter().map(Self::new).collect::<Result<Vec<_>>>()?;
                Self::Struct(fields, nulls)
            }
            data_type => match data_type.primitive_width() {
                Some(width) => Self::Fixed(width, array.to_data().buffers()[0].clone(), nulls),
                None => Self::Other(MessageColumn::new(array)?),
            },
        })
    }

    fn boxed(array: &ArrayRef) -> Result<Box<Self>> {
        Ok(Box::new(Self::new(array)?))
    }

    /// Return true if the values are lists, or if the first text begins as a JSON list.
    fn have_items(&self) -> bool {
        match self {
            Self::List(..) => true,
            Self::Text(ends, ..) => {
                let rows = match ends {
                    Ends::Narrow(ends) => ends.len() - 1,
                    Ends::Wide(ends) => ends.len() - 1,
                };
                let first = (0..rows).map(|row| self.text(row).trim_ascii_start()).find(|text| !text.is_empty());
                first.is_some_and(|text| text.starts_with(b"["))
            }
            _ => false,
        }
    }

    /// Return the text in a row. Rendering refuses wrong offsets; here they lead to an empty text.
    fn text(&self, row: usize) -> &[u8] {
        let Self::Text(ends, data, _) = self else { return &[] };
        let (start, end) = match ends {
            Ends::Narrow(ends) => (ends[row] as usize, ends[row + 1] as usize),
            Ends::Wide(ends) => (ends[row] as usize, ends[row + 1] as usize),
        };
        data.as_slice().get(start..end).unwrap_or_default()
    }

    fn hash(&self, row: usize) -> u64 {
        let mut hasher = FixedState::with_seed(SEED).build_hasher();
        self.add_to(row, &mut hasher);
        hasher.finish()
    }

    fn add_to(&self, row: usize, hasher: &mut impl Hasher) {
        let is_null = |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match self {
            Self::Text(_, _, nulls) | Self::List(_, _, nulls) | Self::Struct(_, nulls) | Self::Fixed(_, _, nulls)
                if is_null(nulls) =>
            {
                hasher.write_u8(0);
            }
            Self::Fixed(width, data, _) => {
                hasher.write(data.as_slice().get(row * width..(row + 1) * width).unwrap_or_default());
            }
            Self::Text(..) => {
                let text = self.text(row);
                hasher.write_usize(text.len());
                if text.len() <= HEAD_BYTES + TAIL_BYTES {
                    hasher.write(text);
                } else {
                    hasher.write(&text[..HEAD_BYTES]);
                    hasher.write(&text[text.len() - TAIL_BYTES..]);
                }
            }
            Self::List(ends, items, _) => {
                hasher.write_usize(ends[row + 1] - ends[row]);
                (ends[row]..ends[row + 1]).for_each(|item| items.add_to(item, hasher));
            }
            Self::Struct(fields, _) => fields.iter().for_each(|field| field.add_to(row, hasher)),
            Self::Other(column) => {
                let mut written = Vec::new();
                write(column, row, unchanged, &mut written);
                hasher.write(&written);
            }
        }
    }
}

/// Return the ends of lists, which don't descend and lie within the items. Rendering refuses other ends.
fn list_ends(ends: impl Iterator<Item = usize>, items: usize) -> Vec<usize> {
    let mut last = 0;
    let sound = ends.map(|end| {
        last = end.min(items).max(last);
        last
    });
    sound.collect()
}

/// Return an element of a JSON list, with the space around it trimmed; None if there is no such element. Text that is no
/// JSON has any elements.
fn element(text: &[u8], number: usize) -> Option<&[u8]> {
    let list = text.trim_ascii().strip_prefix(b"[")?;
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    let (mut start, mut index) = (0, 0);
    for (position, byte) in list.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'[' | b'{' => depth += 1,
            b',' | b']' if depth == 0 => {
                let element = list[start..position].trim_ascii();
                if index == number || *byte == b']' {
                    return (index == number && !element.is_empty()).then_some(element);
                }
                (start, index) = (position + 1, index + 1);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
