//! Arguments of a template that columns hold, a value a row, as parts of the rows' skeletons.
//!
//! Python reads anew what can't be read here, or says what is wrong with it.

use arrow_array::ArrayRef;

use super::arrow::Values;
use super::json;
use super::location::{LISTS, Location};
use super::reading::Reading;
use crate::error::Result;

/// The name of a column whose values hold several arguments by their names.
const ALL: &str = "*";

/// A column of arguments.
pub struct Argument {
    name: String,
    values: Values,
    /// True if texts are JSON, whatever the argument.
    is_json: bool,
}

impl Argument {
    /// Open a column. Its name is that of the argument, or `*` if the values are dicts of arguments.
    /// `is_json`: its texts are JSON, also where the argument may be a text.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row of an unsound value.
    pub fn new(name: String, column: &ArrayRef, is_json: bool) -> Result<Self> {
        // A struct has all fields of its column: those without a value are null, and no keys of the dict.
        Ok(Self { name, values: Values::new(column, true)?, is_json })
    }

    /// Write all arguments of a row as an object. The result is None if one of them can't be read here.
    pub fn write_all(arguments: &[Self], row: usize, reading: &mut Reading) -> Option<()> {
        let others: Vec<&str> = arguments.iter().map(|argument| &*argument.name).collect();
        let mut is_first = true;
        reading.json("{");
        for argument in arguments.iter().filter(|argument| !argument.values.is_null(row)) {
            argument.write(row, &others, &mut is_first, reading)?;
        }
        reading.json("}");
        Some(())
    }

    fn write(&self, row: usize, others: &[&str], is_first: &mut bool, reading: &mut Reading) -> Option<()> {
        let text = match &self.values {
            Values::Text(texts) => Some(str::from_utf8(texts.bytes(row)).ok()?),
            _ => None,
        };
        if self.name == ALL {
            return match (text, &self.values) {
                (Some(text), _) => json::members(text, others, is_first, reading),
                (None, Values::Struct(members, _)) => {
                    for member in members.iter().filter(|member| !member.values.is_null(row)) {
                        if others.contains(&&*member.name) {
                            return None;
                        }
                        write_value(&member.name, &member.values, row, is_first, reading)?;
                    }
                    Some(())
                }
                _ => None,
            };
        }
        match text {
            Some(text) if LISTS.contains(&&*self.name) => json::list(&self.name, text, is_first, reading),
            Some(text) if self.is_json => json::member(&self.name, text, is_first, reading),
            _ => write_value(&self.name, &self.values, row, is_first, reading),
        }
    }
}

/// Write a value that isn't null with its name.
fn write_value(name: &str, values: &Values, row: usize, is_first: &mut bool, reading: &mut Reading) -> Option<()> {
    if !LISTS.contains(&name) {
        reading.key(name, std::mem::take(is_first));
        return values.write(row, Location::Value, reading);
    }
    let Values::List(lists) = values else { return None };
    let items = lists.row(row)?;
    reading.key(name, std::mem::take(is_first));
    if items.is_empty() {
        reading.json("null");
        return Some(());
    }
    reading.json("[");
    for (n, item) in items.enumerate() {
        reading.json(if n > 0 { "," } else { "" });
        match lists.items()? {
            Values::Text(texts) if !texts.is_null(item) => {
                json::object(str::from_utf8(texts.bytes(item)).ok()?, Location::Tool, reading)?;
            }
            values @ Values::Struct(..) if !values.is_null(item) => values.write(item, Location::Tool, reading)?,
            _ => return None,
        }
    }
    reading.json("]");
    Some(())
}
