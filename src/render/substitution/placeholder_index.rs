//! Finds the placeholders in the values of a column some rows ahead, because one search through the bytes of many
//! values costs less than a search through each value.

use std::ops::Range;

use crate::plan::Tokens;
use crate::render::copying::Step;

/// The most rows that are searched together.
const MAX_ROWS_AHEAD: usize = 64;

/// A placeholder in a value.
#[derive(Clone, Copy, Debug)]
pub struct Placeholder {
    /// The index of its first byte, among the bytes that the value is part of.
    pub position: usize,
    /// The column that it names.
    pub column: usize,
}

/// The placeholders in the values of a column, for some rows.
#[derive(Debug, Default)]
pub struct PlaceholderIndex {
    /// The rows that were searched last.
    rows: Range<usize>,
    placeholders: Vec<Placeholder>,
    /// The number of placeholders up to the end of each row.
    ends: Vec<usize>,
}

impl PlaceholderIndex {
    /// Return the numbers of the placeholders of later columns in row `row` of the column `values_column`, from left to
    /// right. Consecutive rows are searched together, more and more at a time, up to row `end`.
    pub fn of(&mut self, row: usize, end: usize, values_column: usize, values: &Step, tokens: &Tokens) -> Range<usize> {
        if !self.rows.contains(&row) {
            let ahead = if row == self.rows.end { (self.rows.len() * 2).clamp(1, MAX_ROWS_AHEAD) } else { 1 };
            self.rows = row..(row + ahead).min(end.max(row + 1));
            self.placeholders.clear();
            self.ends.clear();
            if values.is_joined() {
                self.look_through(self.rows.clone(), values_column, values, tokens);
            } else {
                self.rows.clone().for_each(|row| self.look_through(row..row + 1, values_column, values, tokens));
            }
        }
        let n = row - self.rows.start;
        (if n == 0 { 0 } else { self.ends[n - 1] })..self.ends[n]
    }

    /// Return a placeholder.
    #[inline]
    pub fn get(&self, number: usize) -> Placeholder {
        self.placeholders[number]
    }

    /// Search contiguous values.
    fn look_through(&mut self, mut rows: Range<usize>, values_column: usize, values: &Step, tokens: &Tokens) {
        let end_of = |row: usize| values.location(row, &[]).2;
        let end_count = self.ends.len() + rows.len();
        let (bytes, mut position, _) = values.location(rows.start, &[]);
        let all = &bytes[..end_of(rows.end - 1)];
        let mut end = rows.next().map_or(position, end_of);
        while let Some(start) = tokens.begin(all, position) {
            while start >= end {
                self.ends.push(self.placeholders.len());
                end = rows.next().map_or(all.len(), end_of);
            }
            position = start + 1;
            if let Some(column) = tokens.at_start(&all[start..end]) {
                position = start + tokens.get(column).len();
                if column > values_column {
                    self.placeholders.push(Placeholder { position: start, column });
                }
            }
        }
        self.ends.resize(end_count, self.placeholders.len());
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};

    use super::*;
    use crate::plan::sites as sites_of;
    use crate::python_text::TextColumn;

    const VALUES: [&str; 12] =
        ["{b}", "", "x{c} {a}{b}", "{", "b}", "{b", "}{c}", "none", "", "{d}{b}{c}{", "{b}{b}", "{c"];

    #[test]
    fn rows_ahead_hold_what_each_row_holds() {
        let tokens = Tokens::new(["{a}", "{b}", "{c}"].map(str::to_owned).to_vec());
        let values: Vec<&str> = VALUES.into_iter().cycle().take(200).collect();
        let arrays: [&dyn Array; 3] = [
            &StringArray::from(values.clone()).slice(1, 199),
            &LargeStringArray::from(values.clone()).slice(1, 199),
            &StringViewArray::from(values).slice(1, 199),
        ];
        for array in arrays {
            let texts = TextColumn::new(array).unwrap();
            let values = Step::column(&texts);
            for (values_column, step) in [(0, 1), (0, 2), (1, 1), (1, 3), (0, 80), (2, 1)] {
                let mut sites = PlaceholderIndex::default();
                for row in (0..array.len()).step_by(step) {
                    let numbers = sites.of(row, array.len(), values_column, &values, &tokens);
                    let (bytes, start, end) = values.location(row, &[]);
                    let placeholders: Vec<(usize, usize)> =
                        numbers.map(|n| sites.get(n)).map(|site| (site.position - start, site.column)).collect();
                    let text = std::str::from_utf8(&bytes[start..end]).unwrap();
                    let matches =
                        sites_of(&tokens, text, false).into_iter().map(|site| (site.start, site.column.unwrap()));
                    let expected: Vec<_> = matches.filter(|(_, c)| *c > values_column).collect();
                    assert_eq!(placeholders, expected, "{text:?}");
                }
            }
        }
    }
}
