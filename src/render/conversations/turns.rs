//! Conversations: list columns of questions and answers, with a request for each turn.

use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch};
use arrow_schema::DataType;

use super::fragment_origins::FragmentOrigins;
use super::requests::{Conversations, Replies, RequestList, requested_turns};
use super::zipped::Zipped;
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Config, InferMode, Plan, Planner, Program, build_turn_request};
use crate::render::input::{Batch, PythonCallbacks, is_list, large_lists};
use crate::render::rows::fragments_of_rows;
use crate::role::Piece;
use crate::template::Turns;

const PAIR_COLUMNS: [&str; 2] = ["question", "answer"];

/// Pair questions and answers, and cut each conversation to the shorter list.
fn pairs(batch: &RecordBatch) -> Result<Zipped> {
    let columns =
        [(PAIR_COLUMNS[0], lists(batch, PAIR_COLUMNS[0])?), (PAIR_COLUMNS[1], lists(batch, PAIR_COLUMNS[1])?)];
    let whole = columns.iter().all(|(_, list)| list.null_count() == 0);
    for row in if whole { 0..0 } else { 0..batch.num_rows() } {
        if let Some((name, _)) = columns.iter().find(|(_, list)| list.is_null(row)) {
            return Err(Error::render(Code::NullValue, "the list is null; an empty list means no turns")
                .at_row(row)
                .in_column(*name));
        }
    }
    Zipped::new(&columns, batch.num_rows())
}

fn lists(batch: &RecordBatch, name: &str) -> Result<LargeListArray> {
    let fault = |code: Code, message: String| Error::render(code, message).in_column(name);
    let Some(column) = batch.column_by_name(name) else {
        return Err(fault(Code::MissingColumn, "a conversation needs this list column, which the table lacks".into()));
    };
    if matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        // Python pairs strings too: character by character.
        return characters(column).map_err(|e| e.in_column(name));
    }
    if !is_list(column.data_type()) {
        return Err(fault(Code::WrongColumnType, format!("expected a list of turns, found {}", column.data_type())));
    }
    large_lists(column).map_err(|e| e.in_column(name))
}

/// Split each string into the list of its characters.
fn characters(column: &ArrayRef) -> Result<LargeListArray> {
    let texts = crate::python_text::TextColumn::new(column)?;
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

fn pair_columns(config: &Config) -> Result<Columns> {
    Columns::new(config, PAIR_COLUMNS.map(Arc::from), None)
}

/// Return the programs of the texts of a pair.
///
/// # Errors
///
/// `TemplateError` for a configuration that can't fill in these columns.
pub fn turn_programs(turns: &Turns, config: &Config) -> Result<Vec<Program>> {
    let columns = pair_columns(config)?;
    Ok(turns.parts().into_iter().map(|text| Program::new(&[Piece::new(text.clone())], &columns)).collect())
}

/// Return the requests of the conversations of a batch whose first row is row `start`. `replies` are for
/// [`InferMode::Every`].
///
/// # Errors
///
/// `RenderError` for columns that make no conversations, and for requests that a plan refuses.
pub fn turn_requests(
    turns: &Turns,
    config: &Config,
    batch: &RecordBatch,
    start: usize,
    replies: Option<Replies>,
    host: &dyn PythonCallbacks,
) -> Result<Conversations> {
    let pairs = pairs(batch)?;
    let columns = pair_columns(config)?;
    let in_row = |error: Error| match error.location().row {
        Some(pair) => error.at_row(pairs.sample(pair)),
        None => error,
    };
    let values = Batch::new(&columns, &pairs.table, host);
    let mut fragments = fragments_of_rows(&values, &turns.parts()).map_err(in_row)?;
    let none = Columns::verbatim([])?;
    let mut planner = Planner::default();
    let mut plan = |key: [u32; 2]| {
        let cut = (key[1] > 0).then(|| (key[0] as usize - 1, key[1] as usize - 1));
        let make = || build_turn_request(turns, config, key[0] as usize, cut, replies.is_some());
        planner.plan_index(&key.to_vec(), || Ok(vec![Plan::new(make()?, &none)])).map_err(Error::into_render)
    };
    // If every turn is rendered, the plan of each is known before the first conversation is read.
    let longest = pairs.starts.windows(2).map(|bounds| turns.count(bounds[1] - bounds[0])).max().unwrap_or(0);
    let mut plan_of = |turn: usize| {
        let (pair, item) = turns.cut(turn);
        plan([pair as u32 + 1, item as u32 + 1])
    };
    let all_plans = (config.infer_mode == InferMode::EveryWithGt && replies.is_none())
        .then(|| (0..longest).map(&mut plan_of).collect::<Result<Vec<_>>>().ok())
        .flatten();
    let origins = |table: RecordBatch| {
        let texts = turns.parts().into_iter().cloned().collect();
        FragmentOrigins { table, columns: columns.clone(), texts, is_apart: false, dropped: Vec::new() }
    };
    if let Some(plans) = all_plans {
        let requests = RequestList::of_all_turns(start, &pairs.starts, turns, &plans);
        return Ok(requests.with(planner.plans, fragments, origins(pairs.table.clone())));
    }
    let mut requests = RequestList::new(start, pairs.table.num_rows());
    // The plan of each turn, which is the same in all conversations; None until the turn occurs.
    let mut turn_plans: Vec<Option<u32>> = Vec::new();
    for (sample, bounds) in pairs.starts.windows(2).enumerate() {
        let (first, count) = (bounds[0], bounds[1] - bounds[0]);
        if config.infer_mode == InferMode::Whole {
            let plan = plan([count as u32, 0]).map_err(|e| e.at_row(sample))?;
            requests.push(sample, 0, plan, first..first + count, &[]);
            continue;
        }
        for turn in requested_turns(config.infer_mode, turns.count(count), replies.map(|replies| replies.turn)) {
            let (pair, item) = turns.cut(turn);
            if turn_plans.len() <= turn {
                turn_plans.resize(turn + 1, None);
            }
            let plan = match turn_plans[turn] {
                Some(plan) => plan,
                None => {
                    *turn_plans[turn].insert(plan([pair as u32 + 1, item as u32 + 1]).map_err(|e| e.at_row(sample))?)
                }
            };
            let replied = match replies {
                Some(replies) => {
                    let texts = replies.of(sample)?;
                    (0..turn).map(|t| fragments.push(texts.bytes(t))).collect::<Vec<u32>>()
                }
                None => Vec::new(),
            };
            requests.push(sample, turn, plan, first..first + pair + 1, &replied);
        }
    }
    Ok(requests.with(planner.plans, fragments, origins(pairs.table.clone())))
}
