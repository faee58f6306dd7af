//! A column of requests, opened: texts, messages of any Arrow type, or either as JSON.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use crate::error::Result;
use crate::pytext::TextColumn;
use crate::render::{is_text, readable, value_at};
use crate::value::Value;

/// A column of requests.
pub struct RequestColumn {
    pub(super) root: Node,
    /// How many there are.
    pub len: usize,
    /// Whether its texts are requests as JSON.
    pub(super) is_json: bool,
}

/// An array on the way to what requests say.
pub(super) enum Node {
    /// Strings of any layout.
    Text(TextColumn, Option<NullBuffer>),
    /// Lists: where each begins and ends among the items.
    List(Vec<usize>, Box<Node>, Option<NullBuffer>),
    /// Structs: the fields by name, in the order of names.
    Struct(Vec<(String, Node)>, Option<NullBuffer>),
    /// Anything else.
    Other(ArrayRef),
}

impl RequestColumn {
    /// Open a column. `is_json` says that its texts are JSON, as `output="messages_json"` writes it.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef, is_json: bool) -> Result<Self> {
        readable(&Field::new("prompt", array.data_type().clone(), true), array)?;
        let is_json = is_json && is_text(array.data_type());
        Ok(Self { root: Node::new(array)?, len: array.len(), is_json })
    }

    /// Whether a row has no request.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.root.is_null(row)
    }

    /// The request of a row that is JSON; None where it isn't after all.
    pub(super) fn parsed(&self, row: usize) -> Option<Value> {
        let Node::Text(texts, _) = &self.root else { return None };
        serde_json::from_slice(texts.bytes(row)).ok().filter(|_| self.is_json).map(of_json)
    }
}

impl Node {
    fn new(array: &ArrayRef) -> Result<Self> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(match array.data_type() {
            own if is_text(own) => Self::Text(TextColumn::new(array)?, nulls),
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize).collect();
                Self::List(ends, Box::new(Self::new(lists.values())?), nulls)
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                let ends = lists.value_offsets().iter().map(|end| *end as usize).collect();
                Self::List(ends, Box::new(Self::new(lists.values())?), nulls)
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let field = |(field, column): (&std::sync::Arc<Field>, &ArrayRef)| {
                    Ok((field.name().clone(), Self::new(column)?))
                };
                let mut all = columns.map(field).collect::<Result<Vec<_>>>()?;
                all.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Struct(all, nulls)
            }
            _ => Self::Other(array.clone()),
        })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(_, nulls) | Self::List(_, _, nulls) | Self::Struct(_, nulls) => {
                nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            }
            Self::Other(array) => value_at(array, row) == Value::None,
        }
    }
}

fn of_json(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::None,
        Json::Bool(own) => Value::Bool(own),
        Json::Number(number) => match number.as_i64() {
            Some(own) => Value::Int(own),
            None if number.is_u64() => Value::Big(number.to_string().into()),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Str(text.into()),
        Json::Array(items) => Value::List(items.into_iter().map(of_json).collect()),
        Json::Object(entries) => {
            Value::Dict(entries.into_iter().map(|(key, value)| (Value::Str(key.into()), of_json(value))).collect())
        }
    }
}
