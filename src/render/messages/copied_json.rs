//! Writes messages as JSON by copying: literals that all rows share are written once, and texts are escaped when they
//! are bound.
//!
//! Escapes don't depend on neighbouring characters, so the escape of a joined text is the join of its escaped pieces.
//! If copying is enough for all rows, a request is a text of such pieces, and the row loop writes it like any other
//! text.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeBinaryArray};

use super::escaped_batch::EscapedBatch;
use super::escaped_texts::{escaped, escaped_column};
use super::json_plan::{bytes_in_column, json_plan, line_plan, of_columns};
use super::line_frame::LineFrame;
use crate::error::Result;
use crate::plan::{Layout, Op, Plan, Plans, Program};
use crate::python_text::TextColumn;
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::rows::{texts, texts_of_parts};
use crate::template::FragmentSet;

/// The requests of some rows as JSON.
pub struct CopiedJson {
    /// The string of each request.
    pub requests: ArrayRef,
    /// The rows whose texts aren't copies of what they show.
    pub changed: Vec<usize>,
}

/// Return a JSON string for each request of `rows`; None if copying isn't enough for every row, or if the strings are
/// too long for an array or for the limits. The caller then renders them in another way, which finds the row.
/// `examples` are the renderer's fragments, escaped.
///
/// # Errors
///
/// `RenderError` if the memory can't be allocated.
pub fn copied_json<'f>(
    batch: &Batch,
    plans: &Plans,
    rows: Range<usize>,
    (row_fragments, fragments): (&RowFragments, FragmentStores),
    examples: impl FnOnce() -> Result<&'f FragmentStore>,
    layout: Layout,
) -> Result<Option<CopiedJson>> {
    let programs = || plans.all.iter().flat_map(|plan| &plan.programs);
    if !programs().all(|program| only_copies(program, fragments)) {
        return Ok(None);
    }
    let Some(all) = plans.all.iter().map(|plan| json_plan(plan).map(Arc::new)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let json_plans = Plans { all, labels: plans.labels, each: plans.each.clone() };
    let filled_plans = || {
        let mut first = 0;
        let filled = plans.all.iter().map(|plan| {
            first += plan.programs.len();
            json_plan(&of_columns(plan, first - plan.programs.len())).map(Arc::new)
        });
        Some(Plans { all: filled.collect::<Option<_>>()?, labels: plans.labels, each: None })
    };
    let Some(mut escaped) = EscapedBatch::new(batch, &plans.all, filled_plans())? else { return Ok(None) };
    if escaped.has_parts()
        && let Some(texts) =
            texts_of_parts(batch, &|rows| escaped.part(rows), &json_plans, rows.clone(), limit(layout))?
    {
        return Ok(Some(CopiedJson::new(texts, layout)));
    }
    let Some(values) = escaped.all()? else { return Ok(None) };
    let shows =
        |set| programs().flat_map(|program| &program.ops).any(|op| matches!(op, Op::Fragment(f) if f.set == set));
    let none = FragmentStore::default();
    let renderer = if shows(FragmentSet::Renderer) { examples()? } else { &none };
    let own_fragments =
        if shows(FragmentSet::Batch) { escaped_fragments(fragments.batch)? } else { FragmentStore::default() };
    let fragments = FragmentStores { renderer, batch: &own_fragments };
    // Errors for texts that are too long are raised by the other renderer, which knows the lengths without escapes.
    let Ok(Some(json)) = texts(&values, &json_plans, rows, row_fragments, fragments, limit(layout)) else {
        return Ok(None);
    };
    Ok(Some(CopiedJson::new(json, layout)))
}

impl CopiedJson {
    fn new(mut texts: Texts, layout: Layout) -> Self {
        let changed = texts.changed.take().unwrap_or_default();
        Self { requests: TextBlock::new(texts).array(layout, None), changed }
    }
}

/// Return true if one of [`copied_json`]'s requests is a text without a byte.
pub fn holds_empty_text(requests: &ArrayRef) -> bool {
    TextColumn::unread(&**requests).is_none_or(|texts| (0..texts.len()).any(|n| texts.bytes(n) == b"\"\""))
}

/// The lines of some rows.
pub struct CopiedLines {
    /// The line of each request, as large binary.
    pub lines: ArrayRef,
    /// The number of bytes of the requests' texts, without escapes and without the text around them.
    pub text_bytes: usize,
    /// The rows whose texts aren't copies of what they show.
    pub changed: Vec<usize>,
}

/// Write a line for each request of `rows`, which all follow the same plan, with the text of `frame` around it; None if
/// copying isn't enough, as in [`copied_json`]. The keys of messages are in the order of `keys`. The first row of the
/// batch has the number `first_row`.
///
/// # Errors
///
/// The errors of [`copied_json`].
pub fn copied_lines(
    batch: &Batch,
    plan: &Arc<Plan>,
    rows: Range<usize>,
    frame: &LineFrame,
    first_row: usize,
    keys: &[&str],
) -> Result<Option<CopiedLines>> {
    let none = FragmentStore::default();
    let none = FragmentStores { renderer: &none, batch: &none };
    if !plan.programs.iter().all(|program| program.fragments.is_empty() && only_copies(program, none)) {
        return Ok(None);
    }
    // If a column shows a request in another way, the caller builds the column.
    let Some(literals) = bytes_in_column(plan) else { return Ok(None) };
    let Some(line) = line_plan(plan, frame, keys, EscapedBatch::numbers(batch)) else { return Ok(None) };
    let plans = Plans { all: vec![Arc::new(line)], labels: 1, each: None };
    let first_number = frame.shows_row().then_some(first_row);
    let filled = line_plan(&of_columns(plan, 0), frame, keys, plan.programs.len());
    let filled_plans = filled.map(|plan| Plans { all: vec![Arc::new(plan)], labels: 1, each: None });
    let own_plans = std::slice::from_ref(plan);
    let Some(escaped) = EscapedBatch::of_lines(batch, own_plans, filled_plans, first_number)? else {
        return Ok(None);
    };
    let layout = Layout::LargeString;
    let Some(texts) = texts_of_parts(batch, &|rows| escaped.part(rows), &plans, rows.clone(), limit(layout))? else {
        return Ok(None);
    };
    let text_bytes = literals * rows.len() + escaped.shown_bytes();
    let CopiedJson { requests, changed } = CopiedJson::new(texts, layout);
    let lines = Arc::new(LargeBinaryArray::from(requests.as_string::<i64>().clone()));
    Ok(Some(CopiedLines { lines, text_bytes, changed }))
}

fn only_copies(program: &Program, fragments: FragmentStores) -> bool {
    !program.always_substituted
        && program.guards.is_empty()
        && !program.ops.iter().any(|op| matches!(op, Op::LineIf(_)))
        && !program.fragments.iter().any(|reference| fragments.of(reference.set).any_may_hold_placeholder())
}

/// Escape the fragments for JSON strings, so that they can be copied.
///
/// # Errors
///
/// `RenderError` if the memory can't be allocated.
pub fn escaped_fragments(fragments: &FragmentStore) -> Result<FragmentStore> {
    let (texts, count) = fragments.texts();
    let columns = fragments.columns().iter().map(|column| column.as_ref().map(escaped_column).transpose());
    Ok(fragments.with_texts(escaped(count, texts)?, columns.collect::<Result<_>>()?))
}
