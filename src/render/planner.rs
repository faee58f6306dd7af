//! From recipes to plans: one for each label and each shape of examples that occurs.

use std::collections::HashMap;
use std::sync::Arc;

use super::row::Row;
use super::writer::Sources;
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
    pub programs: Vec<Arc<Program>>,
}

impl Plan {
    /// Bind a request.
    pub fn new(request: Request, columns: &Columns) -> Self {
        let programs = match &request {
            Request::Text(pieces) => vec![Arc::new(Program::new(pieces, columns))],
            Request::Parts(_) => Vec::new(),
            Request::List(messages) => messages
                .iter()
                .filter_map(|message| match message {
                    Message::Expand { .. } => None,
                    Message::Bare(pieces) => Some(Arc::new(Program::new(pieces, columns))),
                    Message::Dict(keys) => {
                        let text = keys.iter().find_map(|(_, slot)| match slot {
                            Slot::Text(pieces) => Some(pieces),
                            Slot::Const(_) | Slot::Parts(_) => None,
                        });
                        Some(Arc::new(Program::new(text.map_or(&[][..], |pieces| pieces), columns)))
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

    /// What writes the requests of a row together, for each so many plans as there are labels; empty where requests have
    /// too little in common.
    ///
    /// # Errors
    ///
    /// As the lookup of columns.
    pub fn rows<'a>(&'a self, sources: Sources<'_, 'a>) -> Result<Vec<Row<'a>>> {
        if self.labels < 2 {
            return Ok(Vec::new());
        }
        let programs = |plan: &'a Arc<Plan>| plan.programs.iter().map(|program| &**program).collect();
        let row = |plans: &'a [Arc<Plan>]| Row::new(&plans.iter().map(programs).collect::<Vec<_>>(), sources);
        Ok(self.all.chunks(self.labels).map(row).collect::<Result<Option<_>>>()?.unwrap_or_default())
    }
}

/// What decides a row's plan, next to the label: the kinds of its examples, or the examples themselves where their
/// texts do.
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
