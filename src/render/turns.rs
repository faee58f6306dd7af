//! Conversations: list columns of questions and answers, one request a turn.

use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, LargeListArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::batch::{Batch, Host};
use super::engine::Shots;
use super::examples::{Parts, is_list};
use super::message_type::element_type;
use super::planner::{Key, Plan, plan_rows};
use super::renderer::{Emit, Renderer};
use crate::error::{Error, Result};
use crate::plan::{Columns, InferMode, Tokens, turn_recipe};
use crate::template::Turns;

/// The pairs of a batch's conversations: one row a pair.
struct Pairs {
    /// `question` and `answer`.
    table: RecordBatch,
    /// Where each conversation's pairs start; one more than there are conversations.
    starts: Vec<usize>,
}

impl Pairs {
    /// Pair questions and answers, each conversation cut to the shorter list.
    fn new(batch: &RecordBatch) -> Result<Self> {
        let question = lists(batch, "question")?;
        let answer = lists(batch, "answer")?;
        let mut starts = Vec::with_capacity(batch.num_rows() + 1);
        starts.push(0);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            for (name, list) in [("question", &question), ("answer", &answer)] {
                if list.is_null(row) {
                    return Err(Error::render("the list is null; an empty list means no turns")
                        .at_row(row)
                        .in_column(name));
                }
            }
            let (a, b) = (question.value_offsets(), answer.value_offsets());
            let pairs = (a[row + 1] - a[row]).min(b[row + 1] - b[row]);
            left.extend((0..pairs).map(|n| (a[row] + n) as u64));
            right.extend((0..pairs).map(|n| (b[row] + n) as u64));
            starts.push(left.len());
        }
        let take = |list: &LargeListArray, rows: Vec<u64>| -> Result<ArrayRef> {
            // The usual table has no gaps between its lists, and nothing has to be moved.
            if rows.windows(2).all(|w| w[0] + 1 == w[1]) {
                let start = rows.first().map_or(0, |first| *first as usize);
                return Ok(list.values().slice(start, rows.len()));
            }
            arrow_select::take::take(list.values(), &UInt64Array::from(rows), None)
                .map_err(|e| Error::render(e.to_string()))
        };
        let columns = vec![take(&question, left)?, take(&answer, right)?];
        let fields = ["question", "answer"].iter().zip(&columns);
        let fields: Vec<Field> = fields.map(|(name, c)| Field::new(*name, c.data_type().clone(), true)).collect();
        let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Ok(Self { table: table.map_err(|e| Error::render(e.to_string()))?, starts })
    }
}

fn lists(batch: &RecordBatch, name: &str) -> Result<LargeListArray> {
    let fault = |message: String| Error::render(message).in_column(name);
    let Some(column) = batch.column_by_name(name) else {
        return Err(fault("a conversation needs this list column, which the table lacks".into()));
    };
    if matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        // Python pairs strings too: character by character.
        return characters(column).map_err(|e| e.in_column(name));
    }
    if !is_list(column.data_type()) {
        return Err(fault(format!("expected a list of turns, found {}", column.data_type())));
    }
    let element = element_type(column.data_type()).unwrap_or(DataType::Null);
    let target = DataType::LargeList(Arc::new(Field::new_list_field(element, true)));
    let cast = arrow_cast::cast(column, &target).map_err(|e| fault(e.to_string()))?;
    Ok(cast.as_list::<i64>().clone())
}

/// Each string as the list of its characters.
fn characters(column: &ArrayRef) -> Result<LargeListArray> {
    let texts = crate::pytext::TextColumn::new(column)?;
    let mut lists = LargeListBuilder::new(StringBuilder::new());
    for row in 0..column.len() {
        if column.is_valid(row) {
            for c in String::from_utf8_lossy(texts.bytes(row)).chars() {
                lists.values().append_value(c.encode_utf8(&mut [0; 4]));
            }
        }
        lists.append(column.is_valid(row));
    }
    Ok(lists.finish())
}

/// The requests to make: which conversation, which turn, and what decides the plan.
#[derive(Default)]
struct Wanted {
    samples: Vec<i64>,
    turns: Vec<i64>,
    keys: Vec<Key>,
}

impl Renderer {
    /// Render the conversations of a batch whose first row is row `start`. `replies` holds, for
    /// [`InferMode::Every`], the turn asked for and the replies before it: one list a conversation.
    pub(super) fn conversations(
        &self,
        turns: &Turns,
        batch: &RecordBatch,
        start: usize,
        replies: Option<(usize, &ArrayRef)>,
        emit: &mut Emit,
        host: &dyn Host,
    ) -> Result<()> {
        let pairs = Pairs::new(batch)?;
        let columns = Columns::new(["question", "answer"].map(Arc::from), None, self.config.substitution)?;
        let values = Batch::new(&columns, &pairs.table, host);
        let in_row = |error: Error| match error.place().row {
            Some(pair) => error.at_row(pairs.starts.partition_point(|s| *s <= pair) - 1),
            None => error,
        };
        let kinds = std::iter::repeat_n(Some(0), pairs.table.num_rows());
        let mut parts = Parts::render(&values, &[turns.parts()], kinds, &Tokens::default()).map_err(in_row)?;
        let wanted = self.wanted(turns, &pairs, replies.map(|(turn, _)| turn));
        let mut shots = Shots { offsets: vec![0], examples: Vec::new() };
        for (n, sample) in wanted.samples.iter().enumerate() {
            let first = pairs.starts[*sample as usize];
            shots.examples.extend((0..wanted.keys[n][0]).map(|pair| first as u32 + pair));
            if let Some((turn, lists)) = replies {
                let own = lists.as_list::<i64>().value(*sample as usize);
                let texts = crate::pytext::TextColumn::new(&own)?;
                shots.examples.extend((0..turn).map(|t| parts.push(texts.bytes(t))));
            }
            shots.offsets.push(shots.examples.len());
        }
        let none = Columns::new([], None, self.config.substitution)?;
        let options = RecordBatchOptions::new().with_row_count(Some(wanted.samples.len()));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(e.to_string()))?;
        let make = |_: Option<&_>, key: &Key| {
            let cut = (key[1] > 0).then(|| (key[0] as usize - 1, key[1] as usize - 1));
            let request = turn_recipe(turns, &self.config, key[0] as usize, cut, replies.is_some())?;
            Ok(Plan::new(request, &none))
        };
        let plans = plan_rows(&[None], wanted.keys.iter().map(|key| Ok(key.clone())), make).map_err(|e| {
            match e.place().row {
                Some(request) => e.at_row(wanted.samples[request] as usize),
                None => e,
            }
        })?;
        emit.samples = Some(wanted.samples.iter().map(|s| s + start as i64).collect::<Int64Array>());
        emit.turns = (self.config.infer_mode != InferMode::Whole).then(|| Int64Array::from(wanted.turns));
        self.emit(&empty, &Batch::new(&none, &empty, host), &plans, &shots, &parts, start, emit)
    }

    fn wanted(&self, turns: &Turns, pairs: &Pairs, asked: Option<usize>) -> Wanted {
        let mut out = Wanted::default();
        for (sample, bounds) in pairs.starts.windows(2).enumerate() {
            let count = bounds[1] - bounds[0];
            let total = turns.count(count);
            let own = match (self.config.infer_mode, asked) {
                (InferMode::Whole, _) => {
                    out.samples.push(sample as i64);
                    out.turns.push(0);
                    out.keys.push(vec![count as u32, 0]);
                    continue;
                }
                (_, Some(turn)) if turn < total => turn..turn + 1,
                (_, Some(_)) => continue,
                // A conversation without turns asks for nothing.
                (InferMode::Last, None) => total.saturating_sub(1)..total,
                (_, None) => 0..total,
            };
            for turn in own {
                let (pair, item) = turns.cut(turn);
                out.samples.push(sample as i64);
                out.turns.push(turn as i64);
                out.keys.push(vec![pair as u32 + 1, item as u32 + 1]);
            }
        }
        out
    }
}
