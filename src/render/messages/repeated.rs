//! Columns in which a few values repeat, such as the speakers of every row's messages. They are kept for the next
//! batch.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};

use crate::render::input::repeated;

/// The most kept columns; a configuration has a column for each key of its messages, and few keys.
const MAX_COLUMNS: usize = 8;
/// The most bytes that are kept of a column.
const MAX_COLUMN_BYTES: usize = 32 << 20;

/// The values of a row, and the column that repeats them.
#[derive(Default)]
pub struct RepeatedColumns(Mutex<Vec<(ArrayRef, ArrayRef)>>);

impl RepeatedColumns {
    /// Return `values` repeated `times` times; None if that exceeds the size of an array.
    pub fn get(&self, values: &ArrayRef, times: usize) -> Option<ArrayRef> {
        let count = values.len() * times;
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cached)) = lock().iter().find(|(key, cached)| cached.len() >= count && key == values) {
            return Some(cached.slice(0, count));
        }
        let column = repeated(values, times)?;
        if column.get_array_memory_size() <= MAX_COLUMN_BYTES {
            let mut all = lock();
            all.retain(|(key, _)| key != values);
            if all.len() >= MAX_COLUMNS {
                all.remove(0);
            }
            all.push((values.clone(), column.clone()));
        }
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn kept_columns_have_the_requested_length() {
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
