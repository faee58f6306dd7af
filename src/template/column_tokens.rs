//! `column_token_map`: the tokens that replace `{name}` as the placeholders of columns.

use std::sync::Arc;

use crate::error::{Code, Error, Result, excerpt};
use crate::value::Value;

/// The tokens of a template's columns, in the order in which they are replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTokens {
    /// The columns and their tokens.
    pub columns: Vec<(Arc<str>, String)>,
    /// `selected_column_name` and `selected_column_map`.
    pub selected: Option<Selected>,
}

/// A column whose text depends on the label when examples and labels are rendered. In generation, it selects the text
/// of a label map.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// The column.
    pub column: Arc<str>,
    /// The texts, by label.
    pub texts: Vec<(Value, Value)>,
}

impl ColumnTokens {
    /// Read the tokens from a template's dict; None if it has no `column_token_map`.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a value that OpenICL's constructor refuses: values of wrong types, a token that occurs twice
    /// or is the ICE token, and one of `selected_column_name` and `selected_column_map` without the other.
    pub fn parse(dict: &Value, path: &str, ice_token: Option<&str>) -> Result<Option<Self>> {
        let Some(map) = dict.get("column_token_map") else { return Ok(None) };
        let map_path = format!("{path}.column_token_map");
        let Value::Dict(items) = map else {
            return Err(Error::template(
                Code::WrongType,
                map_path,
                format!("expected a dict, column to token, found {}", map.type_name()),
            ));
        };
        let mut columns: Vec<(Arc<str>, String)> = Vec::with_capacity(items.len());
        for (column, token) in items {
            let (Value::Str(column), Value::Str(token)) = (column, token) else {
                return Err(Error::template(
                    Code::WrongType,
                    map_path,
                    format!("expected column names and tokens, found {column}: {token}"),
                ));
            };
            if let Some((other, _)) = columns.iter().find(|(_, other_token)| **other_token == **token) {
                let message = format!("columns {other:?} and {column:?} have the same token {}", excerpt(token));
                return Err(Error::template(Code::InvalidToken, map_path, message));
            }
            if ice_token == Some(&**token) {
                let message = format!("column {column:?} has the ice_token {} as its token", excerpt(token));
                return Err(Error::template(Code::InvalidToken, map_path, message));
            }
            columns.push((column.clone(), token.to_string()));
        }
        let given = |key: &str| dict.get(key).filter(|value| **value != Value::None);
        let selected = match (given("selected_column_name"), given("selected_column_map")) {
            (None, None) => None,
            (Some(Value::Str(name)), Some(Value::Dict(map))) => {
                Some(Selected { column: name.clone(), texts: map.clone() })
            }
            (Some(Value::Str(_)), None) => {
                return Err(Error::template(
                    Code::MissingKey,
                    path,
                    "selected_column_name needs a selected_column_map",
                ));
            }
            (None, Some(Value::Dict(_))) => {
                return Err(Error::template(
                    Code::MissingKey,
                    path,
                    "selected_column_map needs a selected_column_name",
                ));
            }
            (name, map) => {
                let type_of = |v: Option<&Value>| v.map_or_else(|| "None".to_owned(), |v| v.type_name().to_owned());
                let message = format!(
                    "expected a str for selected_column_name and a dict for selected_column_map, found {} and {}",
                    type_of(name),
                    type_of(map)
                );
                return Err(Error::template(Code::WrongType, path, message));
            }
        };
        Ok(Some(Self { columns, selected }))
    }

    /// Return the selected column and its text for a label. None if the column has no token.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a label that isn't in the map.
    pub fn label_override(&self, label: &Value, path: &str) -> Result<Option<(Arc<str>, Arc<str>)>> {
        let Some(Selected { column, texts: map }) = &self.selected else { return Ok(None) };
        if !self.columns.iter().any(|(name, _)| name == column) {
            return Ok(None);
        }
        let Some((_, text)) = map.iter().find(|(key, _)| key.equals(label)) else {
            let labels: Vec<String> = map.iter().map(|(key, _)| key.to_string()).collect();
            return Err(Error::template(
                Code::LabelNotInMap,
                format!("{path}.selected_column_map"),
                format!("there is no label {label}; it has {}", labels.join(", ")),
            ));
        };
        Ok(Some((column.clone(), text.python_str().into())))
    }
}
