//! Messages as JSON by copying: what all rows have is written down once, with texts escaped as they are bound.
//!
//! Escaping goes character by character, so a text of pieces escaped is its escaped pieces. Where no row needs more than
//! copying, a request is one text of such pieces, and the row loop writes it as it writes any other.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeBinaryArray};

use super::escaped_batch::EscapedBatch;
use super::escaped_texts::{escaped, escaped_column};
use super::json_plan::{bytes_in_column, json_plan, line_plan};
use super::line_frame::LineFrame;
use crate::error::Result;
use crate::plan::{Layout, Op, Plan, Plans, Program};
use crate::pytext::TextColumn;
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, limit};
use crate::render::rows::{texts, texts_of_parts};
use crate::template::FragmentSet;

/// One JSON string for each request of `rows`; None where copying isn't enough, be it for one row, and where it is too
/// much for one array or for the limits: whoever renders them otherwise finds out. `examples` are the renderer's fragments,
/// escaped.
///
/// # Errors
///
/// `RenderError` where there isn't as much memory.
pub fn copied_json<'f>(
    batch: &Batch,
    plans: &Plans,
    rows: Range<usize>,
    (shown, fragments): (&RowFragments, FragmentStores),
    examples: impl FnOnce() -> Result<&'f FragmentStore>,
    layout: Layout,
) -> Result<Option<ArrayRef>> {
    let programs = || plans.all.iter().flat_map(|plan| &plan.programs);
    if !programs().all(|program| only_copies(program, fragments)) {
        return Ok(None);
    }
    let Some(all) = plans.all.iter().map(|plan| json_plan(plan).map(Arc::new)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let plans = Plans { all, labels: plans.labels, each: plans.each.clone() };
    let Some(mut escaped) = EscapedBatch::new(batch, programs().map(|program| &**program).collect())? else {
        return Ok(None);
    };
    if escaped.has_parts()
        && let Some(made) = texts_of_parts(batch, &|rows| escaped.part(rows), &plans, rows.clone(), limit(layout))?
    {
        return Ok(Some(TextBlock::new(made).array(layout, None)));
    }
    let Some(values) = escaped.all()? else { return Ok(None) };
    let shows =
        |set| programs().flat_map(|program| &program.ops).any(|op| matches!(op, Op::Fragment(f) if f.set == set));
    let none = FragmentStore::default();
    let renderer = if shows(FragmentSet::Renderer) { examples()? } else { &none };
    let own_fragments =
        if shows(FragmentSet::Batch) { escaped_fragments(fragments.batch)? } else { FragmentStore::default() };
    let fragments = FragmentStores { renderer, batch: &own_fragments };
    // What is too long or too much is said by those who know how long the texts are without escapes.
    let Ok(Some(made)) = texts(&values, &plans, rows, shown, fragments, limit(layout)) else { return Ok(None) };
    Ok(Some(TextBlock::new(made).array(layout, None)))
}

/// Whether one of [`copied_json`]'s requests is a text without a byte.
pub fn holds_empty_text(requests: &ArrayRef) -> bool {
    TextColumn::unread(&**requests).is_none_or(|texts| (0..texts.len()).any(|n| texts.bytes(n) == b"\"\""))
}

/// The lines of some rows.
pub struct CopiedLines {
    /// One a request, large binary.
    pub lines: ArrayRef,
    /// Bytes of the requests' texts, without escapes and without what stands around them.
    pub text_bytes: usize,
}

/// One line for each request of `rows`, which all follow one plan, within what `frame` says; None where copying isn't enough,
/// as [`copied_json`]. The keys of messages stand in the order of `keys`. The first row of the batch has the number
/// `first_row`.
///
/// # Errors
///
/// As [`copied_json`].
pub fn copied_lines(
    batch: &Batch,
    plan: &Plan,
    rows: Range<usize>,
    frame: &LineFrame,
    first_row: usize,
    keys: &[&str],
) -> Result<Option<CopiedLines>> {
    let none = FragmentStore::default();
    let none = FragmentStores { renderer: &none, batch: &none };
    let programs: Vec<&Program> = plan.programs.iter().map(|program| &**program).collect();
    if !programs.iter().all(|program| program.fragments.is_empty() && only_copies(program, none)) {
        return Ok(None);
    }
    // A request that a column shows otherwise is for those who make one.
    let Some(literals) = bytes_in_column(plan) else { return Ok(None) };
    let Some(line) = line_plan(plan, frame, keys, EscapedBatch::numbers(batch)) else { return Ok(None) };
    let plans = Plans { all: vec![Arc::new(line)], labels: 1, each: None };
    let first_number = frame.shows_row().then_some(first_row);
    let Some(escaped) = EscapedBatch::of_lines(batch, programs, first_number)? else { return Ok(None) };
    let layout = Layout::LargeString;
    let Some(made) = texts_of_parts(batch, &|rows| escaped.part(rows), &plans, rows.clone(), limit(layout))? else {
        return Ok(None);
    };
    let text_bytes = literals * rows.len() + escaped.shown_bytes();
    let lines = TextBlock::new(made).array(layout, None);
    let lines = Arc::new(LargeBinaryArray::from(lines.as_string::<i64>().clone()));
    Ok(Some(CopiedLines { lines, text_bytes }))
}

fn only_copies(program: &Program, fragments: FragmentStores) -> bool {
    !program.always_substituted
        && program.guards.is_empty()
        && !program.ops.iter().any(|op| matches!(op, Op::LineIf(_)))
        && !program.fragments.iter().any(|place| fragments.of(place.set).any_may_hold_placeholder())
}

/// The same fragments as they stand within JSON strings, where they are copied.
///
/// # Errors
///
/// `RenderError` where there isn't as much memory.
pub fn escaped_fragments(fragments: &FragmentStore) -> Result<FragmentStore> {
    let (texts, count) = fragments.texts();
    let columns = fragments.columns().iter().map(|column| column.as_ref().map(escaped_column).transpose());
    Ok(fragments.with_texts(escaped(count, texts)?, columns.collect::<Result<_>>()?))
}
