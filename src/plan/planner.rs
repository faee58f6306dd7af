//! Makes one plan for each label and each shape of a row that occurs.

use std::collections::HashMap;
use std::sync::Arc;

use super::request_plan::{Plan, Plans};
use crate::error::Result;
use crate::value::Value;

/// The key of a row's plan for a label: the kinds of its examples, or the examples themselves if their texts determine
/// the plan; the roles in a conversation, or in messages of a column.
pub type Key = Vec<u32>;

/// Plans, one for each key.
#[derive(Debug, Default)]
pub struct Planner {
    plan_of_key: HashMap<Key, u32>,
    /// The latest keys. Rows that follow each other mostly use few keys, in turn.
    latest: [(Key, u32); 4],
    next: usize,
    /// The plans so far.
    pub plans: Vec<Arc<Plan>>,
}

impl Planner {
    /// Return the index of a key's plan; of the first one, if `make` makes several.
    ///
    /// # Errors
    ///
    /// The errors of `make`.
    pub fn plan_index(&mut self, key: &Key, make: impl FnOnce() -> Result<Vec<Plan>>) -> Result<u32> {
        if let Some((_, first)) = self.latest.iter().take(self.plan_of_key.len()).find(|(latest, _)| latest == key) {
            return Ok(*first);
        }
        let first = match self.plan_of_key.get(key) {
            Some(first) => *first,
            None => {
                let first = self.plans.len() as u32;
                self.plans.extend(make()?.into_iter().map(Arc::new));
                self.plan_of_key.insert(key.clone(), first);
                first
            }
        };
        self.latest[self.next] = (key.clone(), first);
        self.next = (self.next + 1) % self.latest.len();
        Ok(first)
    }
}

/// Make the plans for `rows` rows, one for each key; `put_key` appends a row's key.
///
/// # Errors
///
/// The errors of `make`, at the first row that needs the plan.
pub fn plan_rows(
    labels: &[Option<Value>],
    rows: usize,
    mut put_key: impl FnMut(usize, &mut Key) -> Result<()>,
    mut make: impl FnMut(Option<&Value>, &[u32]) -> Result<Plan>,
) -> Result<Plans> {
    let mut planner = Planner::default();
    let mut each = Vec::with_capacity(rows * labels.len());
    let mut key = Key::new();
    for row in 0..rows {
        key.clear();
        let first = put_key(row, &mut key).and_then(|()| {
            planner.plan_index(&key, || labels.iter().map(|label| make(label.as_ref(), &key)).collect())
        });
        let first = first.map_err(|e| e.into_render().at_row(row))?;
        each.extend(first..first + labels.len() as u32);
    }
    Ok(Plans { all: planner.plans, labels: labels.len(), each: Some(each) })
}
