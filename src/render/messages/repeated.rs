//! Columns in which a few values come again and again: who speaks in the messages of every row. Kept for the next batch.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};

use crate::render::input::repeated;

/// Columns that are kept; a configuration has one for each key of its messages, and few of these.
const MAX_COLUMNS: usize = 8;
/// What is kept of one column at most.
const MAX_COLUMN_BYTES: usize = 32 << 20;

/// The values of one row, and the column that has them in each of many.
#[derive(Default)]
pub struct RepeatedColumns(Mutex<Vec<(ArrayRef, ArrayRef)>>);

impl RepeatedColumns {
    /// `values`, so many times; None where that passes what one array can hold.
    pub fn get(&self, values: &ArrayRef, times: usize) -> Option<ArrayRef> {
        let count = values.len() * times;
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().iter().find(|(own, known)| known.len() >= count && own == values) {
            return Some(known.slice(0, count));
        }
        let made = repeated(values, times)?;
        if made.get_array_memory_size() <= MAX_COLUMN_BYTES {
            let mut all = lock();
            all.retain(|(own, _)| own != values);
            if all.len() >= MAX_COLUMNS {
                all.remove(0);
            }
            all.push((values.clone(), made.clone()));
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn what_is_kept_is_as_long_as_it_is_asked_for() {
        let columns = RepeatedColumns::default();
        let of = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
        let repeated = |values: &[&str], times| columns.get(&of(values), times).unwrap();
        for times in [2, 1, 3, 0] {
            assert_eq!(&repeated(&["a", "b"], times), &of(&["a", "b"].repeat(times)));
            assert_eq!(&repeated(&["a"], times), &of(&["a"].repeat(times)));
        }
        for n in 0..2 * MAX_COLUMNS {
            assert_eq!(&repeated(&[&n.to_string()], 2), &of(&[&n.to_string(), &n.to_string()]));
        }
        assert_eq!(columns.0.lock().unwrap().len(), MAX_COLUMNS);
    }
}
