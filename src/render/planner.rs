//! From recipes to plans: one for each label and each shape of examples that occurs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::plan::{Columns, Program};
use crate::role::{Message, Request, Slot};
use crate::value::Value;

/// A request bound to columns.
#[derive(Debug)]
pub struct Plan {
    /// What it renders.
    pub request: Request,
    /// One program a text: the text itself, or one for each message that the configuration holds.
    pub programs: Vec<Program>,
}

impl Plan {
    /// Bind a request.
    pub fn new(request: Request, columns: &Columns) -> Self {
        let programs = match &request {
            Request::Text(pieces) => vec![Program::new(pieces, columns)],
            Request::Parts(_) => Vec::new(),
            Request::List(messages) => messages
                .iter()
                .filter_map(|message| match message {
                    Message::Expand { .. } => None,
                    Message::Bare(pieces) => Some(Program::new(pieces, columns)),
                    Message::Dict(keys) => {
                        let text = keys.iter().find_map(|(_, slot)| match slot {
                            Slot::Text(pieces) => Some(pieces),
                            Slot::Const(_) | Slot::Parts(_) => None,
                        });
                        Some(Program::new(text.map_or(&[][..], |pieces| pieces), columns))
                    }
                })
                .collect(),
        };
        Self { request, programs }
    }
}

/// The plans of a batch and which request has which.
#[derive(Debug)]
pub struct Plans {
    /// The plans.
    pub all: Vec<Arc<Plan>>,
    /// Requests a row.
    pub labels: usize,
    /// The plan of each request where rows differ; else the plans are one a label.
    pub each: Option<Vec<u32>>,
}

impl Plans {
    /// The place of a request's plan; requests count over rows and labels.
    #[inline]
    pub fn of(&self, request: usize) -> usize {
        match &self.each {
            None => request % self.labels,
            Some(each) => each[request] as usize,
        }
    }
}

/// What decides a row's plan, next to the label: the kinds of its examples, or the examples themselves where their
/// texts do.
pub type Key = Vec<u32>;

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
    let mut known: HashMap<Key, u32> = HashMap::new();
    // Rows that follow each other mostly have few keys, in turn.
    let mut latest: [(Key, u32); 4] = Default::default();
    let mut next = 0;
    let mut plans = Vec::new();
    let mut each = Vec::with_capacity(rows * labels.len());
    let mut key = Key::new();
    for row in 0..rows {
        key.clear();
        put_key(row, &mut key).map_err(|e| e.into_render().at_row(row))?;
        if let Some((_, first)) = latest.iter().take(known.len()).find(|(known, _)| *known == key) {
            each.extend(*first..*first + labels.len() as u32);
            continue;
        }
        let first = match known.get(&key) {
            Some(first) => *first,
            None => {
                let first = plans.len() as u32;
                for label in labels {
                    plans.push(Arc::new(make(label.as_ref(), &key).map_err(|e| e.into_render().at_row(row))?));
                }
                known.insert(key.clone(), first);
                first
            }
        };
        latest[next] = (key.clone(), first);
        next = (next + 1) % latest.len();
        each.extend(first..first + labels.len() as u32);
    }
    Ok(Plans { all: plans, labels: labels.len(), each: Some(each) })
}
