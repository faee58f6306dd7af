//! A column of requests, opened: texts, messages of any Arrow type, or either as JSON.

use arrow_array::{Array, ArrayRef};

use crate::error::Result;
use crate::render::SaidColumn;
use crate::value::Value;

/// A column of requests.
pub struct RequestColumn {
    pub(super) root: SaidColumn,
    /// How many there are.
    pub len: usize,
    /// Whether its texts are requests as JSON.
    pub(super) is_json: bool,
}

impl RequestColumn {
    /// Open a column. `is_json` says that its texts are JSON, as `output="messages_json"` writes it.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn new(array: &ArrayRef, is_json: bool) -> Result<Self> {
        Ok(Self { root: SaidColumn::new(array)?, len: array.len(), is_json })
    }

    /// Whether a row has no request.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.root.is_null(row)
    }

    /// The request of a row that is JSON; None where it isn't after all.
    pub(super) fn parsed(&self, row: usize) -> Option<Value> {
        let SaidColumn::Text(texts, _) = &self.root else { return None };
        if self.is_json { serde_json::from_slice(texts.bytes(row)).ok().map(of_json) } else { None }
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
