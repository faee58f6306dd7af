//! The columns of a file: their names in the order in which they first occur, and the kinds of their values.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::fields::{Broken, Field, fields};
use super::kinds::Kinds;
use super::lines::{Fault, Part, for_each_line, parts};
use super::strings;
use crate::threads;

/// The names of columns, found by the names of fields.
#[derive(Default)]
pub(super) struct Names {
    all: Vec<String>,
    index: HashMap<Vec<u8>, usize, RandomState>,
    /// The columns of the last row's fields. Most rows have the fields of the row before.
    order: Vec<usize>,
}

impl Names {
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        let index = names.iter().enumerate().map(|(n, name)| (name.clone().into_bytes(), n)).collect();
        Self { order: (0..names.len()).collect(), all: names, index }
    }

    /// Return the column of the field with this number in its row, if there is one.
    #[inline]
    pub fn find(&mut self, number: usize, field: &Field) -> Option<usize> {
        if let Some(column) = self.order.get(number)
            && self.all[*column].as_bytes() == field.name
            && !field.is_escaped
        {
            return Some(*column);
        }
        let column = *self.index.get(decoded(field, &mut Vec::new()))?;
        self.remember(number, column);
        Some(column)
    }

    /// Add the column of a field.
    fn add(&mut self, number: usize, field: &Field) -> Result<usize, Broken> {
        let mut buffer = Vec::new();
        let name = decoded(field, &mut buffer);
        // A NUL ends a name in Arrow's C interface.
        let text = std::str::from_utf8(name).ok().filter(|text| !text.contains('\0')).ok_or(Broken)?;
        let column = self.insert(text);
        self.remember(number, column);
        Ok(column)
    }

    fn insert(&mut self, name: &str) -> usize {
        if let Some(column) = self.index.get(name.as_bytes()) {
            return *column;
        }
        self.index.insert(name.as_bytes().to_vec(), self.all.len());
        self.all.push(name.to_owned());
        self.all.len() - 1
    }

    fn remember(&mut self, number: usize, column: usize) {
        if number == self.order.len() {
            self.order.push(column);
        } else if let Some(last) = self.order.get_mut(number) {
            *last = column;
        }
    }
}

fn decoded<'a>(field: &Field<'a>, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    if !field.is_escaped {
        return field.name;
    }
    strings::decode(field.name, buffer);
    buffer
}

/// The columns that the rows have shown so far.
#[derive(Default)]
pub struct Columns {
    names: Names,
    kinds: Vec<Kinds>,
    /// The number of rows.
    pub rows: usize,
}

impl Columns {
    /// Look at the rows of some blocks, which end where lines end.
    ///
    /// # Errors
    ///
    /// A [`Fault`] with the first line that is no row.
    pub fn look(&mut self, blocks: &[&[u8]]) -> Result<(), Fault> {
        for part in threads::map(parts(blocks), |part| Self::of(blocks, &part)) {
            self.add(&part?);
        }
        Ok(())
    }

    /// Return the names of the columns with the kinds of their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Kinds)> {
        self.names.all.iter().map(String::as_str).zip(self.kinds.iter().copied())
    }

    fn of(blocks: &[&[u8]], part: &Part) -> Result<Self, Fault> {
        let mut columns = Self::default();
        // The row in which each column was last, and the kind there: a later field of the same name replaces it.
        let mut last: Vec<(usize, Kinds)> = Vec::new();
        for_each_line(blocks, part, |line| {
            columns.rows += 1;
            let (row, mut number) = (columns.rows, 0);
            fields(line, |field| {
                let column = match columns.names.find(number, &field) {
                    Some(column) => column,
                    None => columns.names.add(number, &field)?,
                };
                if column == last.len() {
                    columns.kinds.push(Kinds::NULL);
                    last.push((row, Kinds::NULL));
                }
                let (last_row, kind) = last[column];
                if last_row != row {
                    columns.kinds[column] |= kind;
                }
                last[column] = (row, field.value.kind(line));
                number += 1;
                Ok(())
            })
        })?;
        for (kinds, (_, kind)) in columns.kinds.iter_mut().zip(last) {
            *kinds |= kind;
        }
        Ok(columns)
    }

    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        for (name, kinds) in other.iter() {
            let column = self.names.insert(name);
            if column == self.kinds.len() {
                self.kinds.push(Kinds::NULL);
            }
            self.kinds[column] |= kinds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(lines: &str) -> Vec<(String, Vec<Kinds>)> {
        let mut columns = Columns::default();
        columns.look(&[lines.as_bytes()]).unwrap();
        let all = [Kinds::TEXT, Kinds::BOOL, Kinds::INTEGER, Kinds::FLOAT, Kinds::OTHER];
        let of = |kinds: Kinds| all.into_iter().filter(|kind| kinds.has(*kind)).collect();
        columns.iter().map(|(name, kinds)| (name.to_owned(), of(kinds))).collect()
    }

    #[test]
    fn columns_have_the_kinds_of_all_rows() {
        let lines = r#"{"a": 1, "b": null, "c": "x"}
            {"\u0061": 1.5, "d": true, "c": "y"}
            {}
            {"e": [], "e": 1, "f": 1, "f": {}}"#;
        let wanted = [
            ("a", vec![Kinds::INTEGER, Kinds::FLOAT]),
            ("b", vec![]),
            ("c", vec![Kinds::TEXT]),
            ("d", vec![Kinds::BOOL]),
            ("e", vec![Kinds::INTEGER]),
            ("f", vec![Kinds::OTHER]),
        ];
        assert_eq!(columns(lines), wanted.map(|(name, kinds)| (name.to_owned(), kinds)));
    }
}
