//! Plans made once for each label and each shape of a row that occurs.

use std::collections::HashMap;
use std::sync::Arc;

use super::request_plan::{Plan, Plans};
use crate::error::Result;
use crate::value::Value;

/// What decides a row's plan, next to the label: the kinds of its examples, or the examples themselves where their
/// texts do; who speaks in a conversation, or in messages that a column brings.
pub type Key = Vec<u32>;

/// Plans, each made once for its key.
#[derive(Debug, Default)]
pub struct Planner {
    known: HashMap<Key, u32>,
    /// Rows that follow each other mostly have few keys, in turn.
    latest: [(Key, u32); 4],
    next: usize,
    /// The plans so far.
    pub plans: Vec<Arc<Plan>>,
}

impl Planner {
    /// The place of a key's plan, the first one if `make` makes several.
    ///
    /// # Errors
    ///
    /// What `make` returns.
    pub fn place(&mut self, key: &Key, make: impl FnOnce() -> Result<Vec<Plan>>) -> Result<u32> {
        if let Some((_, first)) = self.latest.iter().take(self.known.len()).find(|(known, _)| known == key) {
            return Ok(*first);
        }
        let first = match self.known.get(key) {
            Some(first) => *first,
            None => {
                let first = self.plans.len() as u32;
                self.plans.extend(make()?.into_iter().map(Arc::new));
                self.known.insert(key.clone(), first);
                first
            }
        };
        self.latest[self.next] = (key.clone(), first);
        self.next = (self.next + 1) % self.latest.len();
        Ok(first)
    }
}

/// Plans for `rows` rows, each made once; `put_key` appends a row's key.
///
/// # Errors
///
/// What `make` returns, at the first row that needs the plan.
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
        let first = put_key(row, &mut key)
            .and_then(|()| planner.place(&key, || labels.iter().map(|label| make(label.as_ref(), &key)).collect()));
        let first = first.map_err(|e| e.into_render().at_row(row))?;
        each.extend(first..first + labels.len() as u32);
    }
    Ok(Plans { all: planner.plans, labels: labels.len(), each: Some(each) })
}
