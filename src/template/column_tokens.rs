//! `column_token_map`: what stands in a template for a column, where it isn't `{name}`.

use std::sync::Arc;

use crate::error::{Code, Error, Result, excerpt};
use crate::value::Value;

/// The tokens of a template's columns, in the order in which they are replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTokens {
    /// Column and token.
    pub columns: Vec<(Arc<str>, String)>,
    /// `selected_column_name` and `selected_column_map`.
    pub selected: Option<Selected>,
}

/// A column whose text the label decides, where examples and labels are rendered; in generation it chooses the body of a
/// label map.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// The column.
    pub column: Arc<str>,
    /// Label → text.
    pub texts: Vec<(Value, Value)>,
}

impl ColumnTokens {
    /// Read them from a template's dict; None if it has no `column_token_map`.
    ///
    /// # Errors
    ///
    /// `TemplateError` for what OpenICL's constructor refuses: values of wrong types, a token twice or that is the ICE
    /// token, and one of `selected_column_name` and `selected_column_map` without the other.
    pub fn parse(dict: &Value, path: &str, ice_token: Option<&str>) -> Result<Option<Self>> {
        let Some(map) = dict.get("column_token_map") else { return Ok(None) };
        let place = format!("{path}.column_token_map");
        let Value::Dict(items) = map else {
            return Err(Error::template(
                Code::WrongType,
                place,
                format!("expected a dict, column to token, found {}", map.type_name()),
            ));
        };
        let mut columns: Vec<(Arc<str>, String)> = Vec::with_capacity(items.len());
        for (column, token) in items {
            let (Value::Str(column), Value::Str(token)) = (column, token) else {
                return Err(Error::template(
                    Code::WrongType,
                    place,
                    format!("expected column names and tokens, found {column}: {token}"),
                ));
            };
            if let Some((other, _)) = columns.iter().find(|(_, known)| **known == **token) {
                let message = format!("columns {other:?} and {column:?} have the same token {}", excerpt(token));
                return Err(Error::template(Code::InvalidToken, place, message));
            }
            if ice_token == Some(&**token) {
                let message = format!("column {column:?} has the ice_token {} as its token", excerpt(token));
                return Err(Error::template(Code::InvalidToken, place, message));
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
                let found = |v: Option<&Value>| v.map_or_else(|| "None".to_owned(), |v| v.type_name().to_owned());
                let message = format!(
                    "expected a str for selected_column_name and a dict for selected_column_map, found {} and {}",
                    found(name),
                    found(map)
                );
                return Err(Error::template(Code::WrongType, path, message));
            }
        };
        Ok(Some(Self { columns, selected }))
    }

    /// The column that the label decides, where the map has a token for it: the column and its text.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a label that the map lacks.
    pub fn label_override(&self, label: &Value, path: &str) -> Result<Option<(Arc<str>, Arc<str>)>> {
        let Some(Selected { column, texts: map }) = &self.selected else { return Ok(None) };
        if !self.columns.iter().any(|(name, _)| name == column) {
            return Ok(None);
        }
        let Some((_, text)) = map.iter().find(|(key, _)| key.equals(label)) else {
            let known: Vec<String> = map.iter().map(|(key, _)| key.to_string()).collect();
            return Err(Error::template(
                Code::LabelNotInMap,
                format!("{path}.selected_column_map"),
                format!("there is no label {label}; it has {}", known.join(", ")),
            ));
        };
        Ok(Some((column.clone(), text.python_str().into())))
    }
}
