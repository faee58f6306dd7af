//! Conversations: list columns of questions and answers, one request a turn.

use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch};
use arrow_schema::DataType;

use super::asked::Asked;
use super::batch::{Batch, Host};
use super::examples::{Parts, is_list};
use super::renderer::{Emit, Renderer};
use super::zipped::{Zipped, large_lists};
use crate::error::{Error, Result};
use crate::plan::{Columns, InferMode, turn_recipe};
use crate::template::Turns;

const COLUMNS: [&str; 2] = ["question", "answer"];

/// Pair questions and answers, each conversation cut to the shorter list.
fn pairs(batch: &RecordBatch) -> Result<Zipped> {
    let columns = [(COLUMNS[0], lists(batch, COLUMNS[0])?), (COLUMNS[1], lists(batch, COLUMNS[1])?)];
    for row in 0..batch.num_rows() {
        if let Some((name, _)) = columns.iter().find(|(_, list)| list.is_null(row)) {
            return Err(Error::render("the list is null; an empty list means no turns").at_row(row).in_column(*name));
        }
    }
    Zipped::new(&columns, batch.num_rows())
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
    large_lists(column).map_err(|e| e.in_column(name))
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
        let pairs = pairs(batch)?;
        let columns = Columns::new(COLUMNS.map(Arc::from), None, self.config.substitution)?;
        let values = Batch::new(&columns, &pairs.table, host);
        let in_row = |error: Error| match error.place().row {
            Some(pair) => error.at_row(pairs.sample(pair)),
            None => error,
        };
        let mut parts = Parts::of_rows(&values, &turns.parts()).map_err(in_row)?;
        let mut asked = Asked::new();
        for (sample, bounds) in pairs.starts.windows(2).enumerate() {
            let (first, count) = (bounds[0] as u32, (bounds[1] - bounds[0]) as u32);
            if self.config.infer_mode == InferMode::Whole {
                asked.push(sample, 0, &[count, 0], first..first + count, &[]);
                continue;
            }
            for turn in self.turns_asked(turns.count(count as usize), replies.map(|(turn, _)| turn)) {
                let (pair, item) = turns.cut(turn);
                let said = match replies {
                    Some((_, lists)) => {
                        let own = lists.as_list::<i64>().value(sample);
                        let texts = crate::pytext::TextColumn::new(&own)?;
                        (0..turn).map(|t| parts.push(texts.bytes(t))).collect::<Vec<u32>>()
                    }
                    None => Vec::new(),
                };
                let pair = pair as u32 + 1;
                asked.push(sample, turn, &[pair, item as u32 + 1], first..first + pair, &said);
            }
        }
        let request = |key: &[u32]| {
            let cut = (key[1] > 0).then(|| (key[0] as usize - 1, key[1] as usize - 1));
            turn_recipe(turns, &self.config, key[0] as usize, cut, replies.is_some())
        };
        self.ask(asked, &parts, request, start, emit, host)
    }
}
