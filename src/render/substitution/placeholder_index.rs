//! Where placeholders stand in the values of a column: found some rows ahead, since one look through the bytes of many
//! values costs less than a look at each.

use std::ops::Range;

use crate::plan::Tokens;
use crate::render::copying::Step;

/// Rows at most that are looked through at once.
const MAX_ROWS_AHEAD: usize = 64;

/// A placeholder in a value.
#[derive(Clone, Copy, Debug)]
pub struct Placeholder {
    /// Where it begins, in the bytes that the value is part of.
    pub at: usize,
    /// Whose it is.
    pub column: usize,
}

/// The placeholders in the values of some rows of one column.
#[derive(Debug, Default)]
pub struct PlaceholderIndex {
    /// The rows that were looked through last.
    rows: Range<usize>,
    found: Vec<Placeholder>,
    /// By row, how many were found up to its end.
    ends: Vec<usize>,
}

impl PlaceholderIndex {
    /// The numbers of those in row `row` of the values of column `own`, from left to right, that stand for a later column.
    /// Rows that follow each other are looked through together, more and more at a time, up to row `end`.
    pub fn of(&mut self, row: usize, end: usize, own: usize, values: &Step, tokens: &Tokens) -> Range<usize> {
        if !self.rows.contains(&row) {
            let ahead = if row == self.rows.end { (self.rows.len() * 2).clamp(1, MAX_ROWS_AHEAD) } else { 1 };
            self.rows = row..(row + ahead).min(end.max(row + 1));
            self.found.clear();
            self.ends.clear();
            if values.is_joined() {
                self.look_through(self.rows.clone(), own, values, tokens);
            } else {
                self.rows.clone().for_each(|row| self.look_through(row..row + 1, own, values, tokens));
            }
        }
        let n = row - self.rows.start;
        (if n == 0 { 0 } else { self.ends[n - 1] })..self.ends[n]
    }

    /// One of them.
    #[inline]
    pub fn get(&self, number: usize) -> Placeholder {
        self.found[number]
    }

    /// Look through values that lie one behind the other.
    fn look_through(&mut self, mut rows: Range<usize>, own: usize, values: &Step, tokens: &Tokens) {
        let end_of = |row: usize| values.place(row, &[]).2;
        let done = self.ends.len() + rows.len();
        let (bytes, mut at, _) = values.place(rows.start, &[]);
        let all = &bytes[..end_of(rows.end - 1)];
        let mut end = rows.next().map_or(at, end_of);
        while let Some(start) = tokens.begin(all, at) {
            while start >= end {
                self.ends.push(self.found.len());
                end = rows.next().map_or(all.len(), end_of);
            }
            at = start + 1;
            if let Some(column) = tokens.at_start(&all[start..end]) {
                at = start + tokens.get(column).len();
                if column > own {
                    self.found.push(Placeholder { at: start, column });
                }
            }
        }
        self.ends.resize(done, self.found.len());
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};

    use super::*;
    use crate::pytext::TextColumn;

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
            for (own, step) in [(0, 1), (0, 2), (1, 1), (1, 3), (0, 80), (2, 1)] {
                let mut sites = PlaceholderIndex::default();
                for row in (0..array.len()).step_by(step) {
                    let numbers = sites.of(row, array.len(), own, &values, &tokens);
                    let (bytes, start, end) = values.place(row, &[]);
                    let found: Vec<(usize, usize)> =
                        numbers.map(|n| sites.get(n)).map(|site| (site.at - start, site.column)).collect();
                    let text = std::str::from_utf8(&bytes[start..end]).unwrap();
                    let expected: Vec<_> = tokens.placeholders(text).into_iter().filter(|(_, c)| *c > own).collect();
                    assert_eq!(found, expected, "{text:?}");
                }
            }
        }
    }
}
