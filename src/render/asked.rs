//! The requests that the conversations of a batch ask, whatever family they are of.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::batch::{Batch, Host};
use super::engine::Shots;
use super::examples::Parts;
use super::planner::{Key, Plan, plan_rows};
use super::renderer::{Emit, Renderer};
use crate::error::{Error, Result};
use crate::plan::{Columns, InferMode};
use crate::role::Request;

/// The requests to make: which conversation, which turn, what decides the plan, and the texts that stand in it.
pub(super) struct Asked {
    samples: Vec<i64>,
    turns: Vec<i64>,
    /// Keys of all requests, one behind the other, and where each ends.
    keys: Vec<u32>,
    ends: Vec<usize>,
    shots: Shots,
}

impl Asked {
    /// No requests yet.
    pub fn new() -> Self {
        let shots = Shots { offsets: vec![0], examples: Vec::new() };
        Self { samples: Vec::new(), turns: Vec::new(), keys: Vec::new(), ends: vec![0], shots }
    }

    /// Ask for turn `turn` of a sample, with texts that lie side by side and then others.
    pub fn push(&mut self, sample: usize, turn: usize, key: &[u32], texts: Range<u32>, more: &[u32]) {
        self.samples.push(sample as i64);
        self.turns.push(turn as i64);
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.shots.examples.extend(texts);
        self.shots.examples.extend_from_slice(more);
        self.shots.offsets.push(self.shots.examples.len());
    }
}

impl Renderer {
    /// Which of a conversation's `total` turns are asked for; `asked` is the one whose replies have come, if they do.
    pub(super) fn turns_asked(&self, total: usize, asked: Option<usize>) -> Range<usize> {
        match (self.config.infer_mode, asked) {
            (_, Some(turn)) if turn < total => turn..turn + 1,
            (_, Some(_)) => 0..0,
            // A conversation without turns asks for nothing.
            (InferMode::Last, None) => total.saturating_sub(1)..total,
            (_, None) => 0..total,
        }
    }

    /// Render what is asked of a batch whose first row is row `start`.
    pub(super) fn ask(
        &self,
        asked: Asked,
        parts: &Parts,
        mut request: impl FnMut(&[u32]) -> Result<Request>,
        start: usize,
        emit: &mut Emit,
        host: &dyn Host,
    ) -> Result<()> {
        let none = Columns::new([], None, self.config.substitution)?;
        let options = RecordBatchOptions::new().with_row_count(Some(asked.samples.len()));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(e.to_string()))?;
        let make = |_: Option<&_>, key: &[u32]| Ok(Plan::new(request(key)?, &none));
        let key = |request: usize, key: &mut Key| {
            key.extend_from_slice(&asked.keys[asked.ends[request]..asked.ends[request + 1]]);
            Ok(())
        };
        let plans = plan_rows(&[None], asked.samples.len(), key, make).map_err(|e| match e.place().row {
            Some(request) => e.at_row(asked.samples[request] as usize),
            None => e,
        })?;
        emit.samples = Some(asked.samples.iter().map(|s| s + start as i64).collect::<Int64Array>());
        emit.turns = (self.config.infer_mode != InferMode::Whole).then(|| Int64Array::from(asked.turns));
        self.emit(&empty, &Batch::new(&none, &empty, host), &plans, &asked.shots, parts, start, emit)
    }
}
