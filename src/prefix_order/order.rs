//! Groups samples by the parts that their requests begin with.
//!
//! The samples are one group at first. Part by part, each group is split into groups whose next part is equal, without
//! sorting: the rows of a group keep their order, and groups come in the order of their first rows. A row takes 24 bytes
//! at most: its position in the order (4) and a hash (8); while a group is split, either a filter (2 to 4) or a table of
//! numbers for hashes that occur again (12 at most) or its new position (4), and the end of its new group (4).

use super::parts::{MAX_ITEMS, Part};
use crate::threads;

/// So many rows are hashed by one thread at a time.
const CHUNK_ROWS: usize = 4096;

/// The bits for each row in the filter that finds hashes which occur again.
const FILTER_BITS: usize = 16;

/// The repeated hashes that are collected before equal ones among them are dropped.
const FEW_REPEATED: usize = 4096;

/// The hash of an absent item. The lowest bit of other hashes is 1, and 0 is no hash.
const ABSENT: u64 = 2;

/// The order of samples, in which equal beginnings follow each other.
#[derive(Debug, PartialEq, Eq)]
pub struct PrefixOrder {
    /// The number of the sample in each position.
    pub rows: Vec<i64>,
    /// The number of the group in each position: samples whose first part is equal. Numbers ascend from 0.
    pub groups: Option<Vec<i64>>,
    /// True if any sample isn't in its own position.
    pub moves: bool,
}

/// Return the order of `rows` samples by the parts that their requests begin with; None if there are 2^32 of them.
///
/// Samples with equal first parts stand together, among them those with equal second parts, and so on. Groups come in
/// the order of their first samples, and samples that are equal in all parts in their own order. If no parts are equal,
/// nothing moves.
pub fn prefix_order(parts: &[Part], rows: usize, has_groups: bool) -> Option<PrefixOrder> {
    let mut groups = Groups::new(u32::try_from(rows).ok()?);
    let mut first_starts = None;
    for part in parts {
        if part.has_items {
            let items = |item: usize| move |row: usize| part.item_hash(row, item).map_or(ABSENT, |hash| hash | 1);
            for item in 0..MAX_ITEMS {
                if !groups.split(items(item), item > 0 || first_starts.is_some()) {
                    break;
                }
                first_starts.get_or_insert_with(|| groups.starts.clone());
            }
        } else {
            groups.split(|row| part.hash(row) | 1, false);
        }
        first_starts.get_or_insert_with(|| groups.starts.clone());
    }
    let Groups { order, starts, hashes, .. } = groups;
    drop(hashes);
    let first_starts = first_starts.unwrap_or(starts);
    let numbers = |starts: Bits| {
        let mut last = -1;
        let number = |position: usize| {
            last += i64::from(starts.has(position));
            last
        };
        (0..rows).map(number).collect()
    };
    Some(PrefixOrder {
        moves: order.iter().zip(0..).any(|(row, position)| *row != position),
        rows: order.iter().map(|row| i64::from(*row)).collect(),
        groups: has_groups.then(|| numbers(first_starts)),
    })
}

/// One bit for each position or row.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn set(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }
}

/// Rows in groups.
struct Groups {
    /// The row in each position.
    order: Vec<u32>,
    /// The positions where groups start.
    starts: Bits,
    /// The rows that are alone in their groups.
    alone: Bits,
    /// A hash of each row's part.
    hashes: Vec<u64>,
}

impl Groups {
    fn new(rows: u32) -> Self {
        let count = rows as usize;
        let mut starts = Bits::new(count);
        if count > 0 {
            starts.set(0);
        }
        Self { order: (0..rows).collect(), starts, alone: Bits::new(count), hashes: vec![0; count] }
    }

    /// Split each group by the hashes of its rows. If all items are absent, return false, and with `may_end` split
    /// nothing.
    fn split(&mut self, hash: impl Fn(usize) -> u64 + Send + Sync, may_end: bool) -> bool {
        let alone = &self.alone;
        let starts = threads::chunks(0..self.hashes.len(), CHUNK_ROWS).into_iter().map(|rows| rows.start);
        let chunks = starts.zip(self.hashes.chunks_mut(CHUNK_ROWS)).collect();
        // Rows are hashed in their own order, and not in that of their groups, because memory is read far faster so.
        let is_any = threads::map(chunks, |(start, hashes): (usize, &mut [u64])| {
            let mut any = 0;
            for (row, value) in (start..).zip(hashes) {
                *value = if alone.has(row) { 0 } else { hash(row) };
                any |= *value & 1;
            }
            any != 0
        });
        let is_any = is_any.contains(&true);
        if !is_any && may_end {
            return false;
        }
        let mut start = 0;
        while start < self.order.len() {
            let mut end = start + 1;
            while end < self.order.len() && !self.starts.has(end) {
                end += 1;
            }
            if end - start > 1 {
                self.split_group(start, end);
            } else {
                self.alone.set(self.order[start] as usize);
            }
            start = end;
        }
        is_any
    }

    /// Split the group in some positions.
    fn split_group(&mut self, start: usize, end: usize) {
        let hashes = &mut self.hashes;
        let rows = &mut self.order[start..end];
        let first = hashes[rows[0] as usize];
        if rows.iter().all(|row| hashes[*row as usize] == first) {
            return;
        }
        let repeated = repeated(rows, hashes);
        if repeated.is_empty() {
            for (position, row) in (start..).zip(rows) {
                self.starts.set(position);
                self.alone.set(*row as usize);
            }
            return;
        }
        // The number of each row's new group takes the place of its hash. Groups have the order of their first rows.
        let mut numbers = Numbers::new(repeated);
        // Room that is never written to takes no memory, and a vector that grows takes twice its size.
        let mut group_ends: Vec<u32> = Vec::with_capacity(rows.len());
        for row in &*rows {
            let next = group_ends.len() as u32;
            let number = numbers.of(hashes[*row as usize], next);
            if number == next {
                group_ends.push(0);
            }
            group_ends[number as usize] += 1;
            hashes[*row as usize] = u64::from(number);
        }
        drop(numbers);
        let mut position = 0;
        for group_end in &mut group_ends {
            self.starts.set(start + position as usize);
            (*group_end, position) = (position, position + *group_end);
        }
        let mut sorted = vec![0; rows.len()];
        for row in &*rows {
            let position = &mut group_ends[hashes[*row as usize] as usize];
            sorted[*position as usize] = *row;
            *position += 1;
        }
        rows.copy_from_slice(&sorted);
    }
}

/// Return the hashes of rows that may occur again, each once.
///
/// Most hashes occur once where a part is a question or an answer. A filter of bits leaves nearly all of those out.
fn repeated(rows: &[u32], hashes: &[u64]) -> Vec<u64> {
    let bits = (rows.len() * FILTER_BITS).next_power_of_two();
    let mut filter = Bits::new(bits);
    let (mut repeated, mut limit) = (Vec::new(), FEW_REPEATED);
    for row in rows {
        let hash = hashes[*row as usize];
        let bit = hash as usize >> 2 & (bits - 1);
        if filter.has(bit) {
            repeated.push(hash);
            if repeated.len() == limit {
                repeated.sort_unstable();
                repeated.dedup();
                limit = FEW_REPEATED.max(2 * repeated.len());
            }
        }
        filter.set(bit);
    }
    repeated.sort_unstable();
    repeated.dedup();
    repeated
}

/// The numbers of groups by their hashes: a table with room for a quarter more hashes than it has.
struct Numbers {
    /// Hashes; 0 is no hash.
    hashes: Vec<u64>,
    numbers: Vec<u32>,
}

impl Numbers {
    fn new(all: Vec<u64>) -> Self {
        let room = all.len() + all.len() / 4 + 1;
        let mut table = Self { hashes: vec![0; room], numbers: vec![u32::MAX; room] };
        for hash in all {
            let index = table.index(hash);
            table.hashes[index] = hash;
        }
        table
    }

    /// Return the number of a hash: the one that it has, or `next`. A hash outside the table occurs only once.
    fn of(&mut self, hash: u64, next: u32) -> u32 {
        let index = self.index(hash);
        if self.hashes[index] == 0 {
            return next;
        }
        let number = &mut self.numbers[index];
        if *number == u32::MAX {
            *number = next;
        }
        *number
    }

    /// Return the index of a hash, or of the free entry for it.
    fn index(&self, hash: u64) -> usize {
        let room = self.hashes.len();
        let mut index = ((u128::from(hash) * room as u128) >> 64) as usize;
        while self.hashes[index] != 0 && self.hashes[index] != hash {
            index = if index + 1 == room { 0 } else { index + 1 };
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray, builder};

    use super::*;

    fn order(columns: &[ArrayRef]) -> PrefixOrder {
        let parts: Vec<Part> = columns.iter().map(|column| Part::new(std::slice::from_ref(column)).unwrap()).collect();
        prefix_order(&parts, columns[0].len(), true).unwrap()
    }

    #[test]
    fn groups_come_in_the_order_of_their_first_rows() {
        let subjects: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("a"), None, Some("b"), None]));
        let questions: ArrayRef = Arc::new(StringArray::from(vec!["1", "2", "3", "4", "5"]));
        let both = order(&[subjects.clone(), questions.clone()]);
        assert_eq!(both, PrefixOrder { rows: vec![0, 3, 1, 2, 4], groups: Some(vec![0, 0, 1, 2, 2]), moves: true });
        assert_eq!(order(&[questions, subjects]).rows, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn second_parts_are_grouped_within_equal_first_ones() {
        let first: ArrayRef = Arc::new(StringArray::from(vec!["x"; 4]));
        let second: ArrayRef = Arc::new(StringArray::from(vec!["p", "q", "p", "q"]));
        assert_eq!(
            order(&[first, second]),
            PrefixOrder { rows: vec![0, 2, 1, 3], groups: Some(vec![0; 4]), moves: true }
        );
    }

    #[test]
    fn items_of_lists_are_parts() {
        let mut lists = builder::ListBuilder::new(builder::StringBuilder::new());
        for items in [&["s", "a"][..], &["t"], &["s"], &["s", "b"], &["s", "a", "c"], &[]] {
            lists.append_value(items.iter().map(|item| Some(*item)));
        }
        let result = order(&[Arc::new(lists.finish())]);
        assert_eq!(
            result,
            PrefixOrder { rows: vec![0, 4, 2, 3, 1, 5], groups: Some(vec![0, 0, 0, 0, 1, 2]), moves: true }
        );
    }

    #[test]
    fn elements_of_json_are_parts() {
        let texts = [r#"[{"a": "]"}, 1]"#, "[[2]]", r#" [{"a": "]"}]"#, "[", "", r#"[{"a": "]"},1]"#];
        let result = order(&[Arc::new(StringArray::from(texts.to_vec()))]);
        assert_eq!(result.rows, [0, 5, 2, 1, 3, 4]);
    }

    #[test]
    fn nothing_moves_without_parts() {
        let expected = PrefixOrder { rows: vec![0, 1, 2], groups: Some(vec![0; 3]), moves: false };
        assert_eq!(prefix_order(&[], 3, true), Some(expected));
        let none = PrefixOrder { rows: vec![], groups: None, moves: false };
        assert_eq!(prefix_order(&[], 0, false), Some(none));
    }
}
