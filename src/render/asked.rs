//! The requests that the conversations of a batch ask, whatever family they are of.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::batch::{Batch, Host};
use super::emit::{Emit, Rows};
use super::engine::Shots;
use super::examples::Parts;
use super::planner::{Plan, Plans};
use super::renderer::Renderer;
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, InferMode};

/// The requests to make: which conversation, which turn, which plan, and the texts that stand in it.
pub(super) struct Asked {
    samples: Vec<i64>,
    turns: Vec<i64>,
    plans: Vec<u32>,
    shots: Shots,
    /// The row of the first sample.
    start: usize,
}

impl Asked {
    /// No requests yet, of samples from row `start` on, among whose texts there are `texts` that lie side by side.
    pub fn new(start: usize, texts: usize) -> Self {
        let shots = Shots { bounds: Vec::with_capacity(texts), examples: (0..texts as u32).collect() };
        let (samples, turns) = (Vec::with_capacity(texts), Vec::with_capacity(texts));
        Self { samples, turns, plans: Vec::with_capacity(texts), shots, start }
    }

    /// Ask for turn `turn` of a sample by a plan, with texts that lie side by side and then others.
    #[inline]
    pub fn push(&mut self, sample: usize, turn: usize, plan: u32, texts: Range<usize>, more: &[u32]) {
        self.samples.push((self.start + sample) as i64);
        self.turns.push(turn as i64);
        self.plans.push(plan);
        if more.is_empty() {
            self.shots.bounds.push((texts.start, texts.end));
            return;
        }
        let first = self.shots.examples.len();
        self.shots.examples.extend_from_within(texts);
        self.shots.examples.extend_from_slice(more);
        self.shots.bounds.push((first, self.shots.examples.len()));
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

    /// Render what is asked of a batch, by these plans.
    pub(super) fn ask(
        &self,
        asked: Asked,
        plans: Vec<Arc<Plan>>,
        parts: &Parts,
        emit: &mut Emit,
        host: &dyn Host,
    ) -> Result<()> {
        let none = Columns::new([], None, self.config.substitution)?;
        let options = RecordBatchOptions::new().with_row_count(Some(asked.samples.len()));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        let plans = Plans { all: plans, labels: 1, each: Some(asked.plans) };
        let turns = (self.config.infer_mode != InferMode::Whole).then(|| Int64Array::from(asked.turns));
        let rows = Rows {
            batch: &empty,
            values: &Batch::new(&none, &empty, host),
            plans: &plans,
            shots: &asked.shots,
            parts,
            start: asked.start,
            shown: None,
            samples: Some(Int64Array::from(asked.samples)),
            turns,
        };
        self.emit(&rows, emit)
    }
}
