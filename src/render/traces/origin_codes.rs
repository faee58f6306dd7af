//! Codes for the columns of spans that depend on the origin alone, looked up by the origin's number.

use super::nullable::NULL;
use crate::template::Origin;

/// The codes of all origins, ordered by the numbers of the origins.
pub(in crate::render) struct OriginCodes<'o> {
    pub(super) sources: Vec<i8>,
    /// Indices of [`Self::column_names`].
    pub(super) columns: Vec<i32>,
    pub(super) examples: Vec<i32>,
    /// Indices of [`Self::role_names`].
    pub(super) roles: Vec<i32>,
    pub(super) column_names: Vec<&'o str>,
    pub(super) role_names: Vec<&'o str>,
}

impl<'o> OriginCodes<'o> {
    /// Code the origins, which are ordered by their numbers.
    pub(in crate::render) fn new(origins: &'o [Origin]) -> Self {
        let (columns, column_names) = coded(origins, |origin| origin.column.as_deref());
        let (roles, role_names) = coded(origins, |origin| origin.role.as_deref());
        Self {
            sources: origins.iter().map(|origin| origin.source as i8).collect(),
            columns,
            examples: origins.iter().map(|origin| origin.example.map_or(NULL, |example| example as i32)).collect(),
            roles,
            column_names,
            role_names,
        }
    }
}

/// Return the code of a text of each origin, and the texts, which codes are indices of.
fn coded<'o>(origins: &'o [Origin], text: impl Fn(&'o Origin) -> Option<&'o str>) -> (Vec<i32>, Vec<&'o str>) {
    let mut names: Vec<&str> = Vec::new();
    let code = |origin| {
        let Some(text) = text(origin) else { return NULL };
        let code = names.iter().position(|name| *name == text).unwrap_or(names.len());
        if code == names.len() {
            names.push(text);
        }
        code as i32
    };
    let codes = origins.iter().map(code).collect();
    (codes, names)
}
