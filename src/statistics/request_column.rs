//! A column of requests: texts, messages of any Arrow type, or either as JSON.

use arrow_array::{Array, ArrayRef};

use crate::error::Result;
use crate::render::MessageColumn;
use crate::value::Value;

/// A column of requests.
pub struct RequestColumn {
    /// The column, opened.
    pub root: MessageColumn,
    /// The number of requests.
    pub len: usize,
    /// True if the texts are requests as JSON.
    pub is_json: bool,
}

impl RequestColumn {
    /// Open a column. `is_json` is true if its texts are JSON, as written by `output="messages_json"`.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef, is_json: bool) -> Result<Self> {
        Ok(Self { root: MessageColumn::new(array)?, len: array.len(), is_json })
    }

    /// Return true if a row has no request.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.root.is_null(row)
    }

    /// Return the parsed request of a row; None if the row isn't JSON.
    pub fn parsed(&self, row: usize) -> Option<Value> {
        let MessageColumn::Text(texts, _) = &self.root else { return None };
        if self.is_json { serde_json::from_slice(texts.bytes(row)).ok().map(of_json) } else { None }
    }
}

fn of_json(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Int(integer),
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
