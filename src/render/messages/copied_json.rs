//! Messages as JSON by copying: what all rows have is written down once, with texts escaped as they are bound.
//!
//! Escaping goes character by character, so a text of pieces escaped is its escaped pieces. Where no row needs more than
//! copying, a request is one text of such pieces, and the row loop writes it as it writes any other.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};

use super::escaped_texts::{escaped, escaped_column};
use crate::error::Result;
use crate::json_text;
use crate::plan::{Columns, CopiedPiece, Layout, Op, Plan, Plans, Program};
use crate::pytext::TextColumn;
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, limit};
use crate::render::rows::{Unread, texts, texts_of_parts};
use crate::render::values::json;
use crate::role::{Message, Request, Slot};
use crate::template::{FragmentSet, keys};
use crate::value::Value;

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
    let Some(all) = plans.all.iter().map(|plan| written(plan).map(Arc::new)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let mut columns: Vec<usize> = programs().flat_map(|program| program.fields.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    let scanned = |column: usize| programs().any(|program| program.scanned.contains(&column));
    let verbatim = Columns::verbatim((0..batch.columns.names.len()).map(|column| column.to_string().into()))?;
    let mut own = vec![TextColumn::new(&NullArray::new(0))?; batch.columns.names.len()];
    // What lies row by row is checked and escaped part by part, and copied while it is near; dictionaries, views and strings
    // with nulls are so for all rows first.
    let (by_part, whole): (Vec<usize>, Vec<usize>) =
        columns.into_iter().partition(|column| escapes_by_part(batch, *column));
    for column in whole {
        let Some(escaped) = escaped_field(batch, column, scanned(column))? else { return Ok(None) };
        own[column] = escaped;
    }
    let plans = Plans { all, labels: plans.labels, each: plans.each.clone() };
    if !by_part.is_empty() {
        let all: Vec<&Program> = programs().map(|program| &**program).collect();
        let part = |rows: Range<usize>| {
            let part = batch.slice(rows.clone());
            let unread = Unread::new(&part, &all).filter(|unread| unread.are_plain(0..part.rows))?;
            let escaped = |column: usize, texts: &TextColumn| match by_part.contains(&column) {
                true => escaped_column(unread.texts(column).ok()?).ok(),
                false if texts.is_empty() => Some(texts.clone()),
                false => texts.slice(rows.clone()),
            };
            let texts = own.iter().enumerate().map(|(column, texts)| escaped(column, texts)).collect::<Option<_>>()?;
            Some(Batch::of_texts(&verbatim, rows.len(), texts, batch.host))
        };
        if let Some(made) = texts_of_parts(batch, &part, &plans, rows.clone(), limit(layout))? {
            return Ok(Some(TextBlock::new(made).array(layout, None)));
        }
    }
    for column in by_part {
        let Some(escaped) = escaped_field(batch, column, scanned(column))? else { return Ok(None) };
        own[column] = escaped;
    }
    let shows =
        |set| programs().flat_map(|program| &program.ops).any(|op| matches!(op, Op::Fragment(f) if f.set == set));
    let none = FragmentStore::default();
    let renderer = if shows(FragmentSet::Renderer) { examples()? } else { &none };
    let own_fragments =
        if shows(FragmentSet::Batch) { escaped_fragments(fragments.batch)? } else { FragmentStore::default() };
    let fragments = FragmentStores { renderer, batch: &own_fragments };
    let values = Batch::of_texts(&verbatim, batch.rows, own, batch.host);
    // What is too long or too much is said by those who know how long the texts are without escapes.
    let Ok(Some(made)) = texts(&values, &plans, rows, shown, fragments, limit(layout)) else { return Ok(None) };
    Ok(Some(TextBlock::new(made).array(layout, None)))
}

/// Whether one of [`copied_json`]'s requests is a text without a byte.
pub fn holds_empty_text(requests: &ArrayRef) -> bool {
    TextColumn::unread(&**requests).is_none_or(|texts| (0..texts.len()).any(|n| texts.bytes(n) == b"\"\""))
}

/// Whether the texts of some rows of a column are found, and escaped, without those of the others.
fn escapes_by_part(batch: &Batch, column: usize) -> bool {
    batch.prints_by_row(column) || batch.unread(column).is_some_and(|texts| texts.plain().is_some())
}

/// A column's texts, escaped; None if some of them have no text, or if a placeholder could form from them where it is looked
/// for.
///
/// # Errors
///
/// `RenderError` where there isn't as much memory.
fn escaped_field(batch: &Batch, column: usize, scanned: bool) -> Result<Option<TextColumn>> {
    batch.prepare(column, scanned);
    if scanned && !matches!(batch.may_hold_placeholder(column), Ok(None)) {
        return Ok(None);
    }
    batch.texts(column).ok().map(escaped_column).transpose()
}

fn only_copies(program: &Program, fragments: FragmentStores) -> bool {
    !program.always_substituted
        && program.guards.is_empty()
        && !program.ops.iter().any(|op| matches!(op, Op::LineIf(_)))
        && !program.fragments.iter().any(|place| fragments.of(place.set).any_may_hold_placeholder())
}

/// A request as one text of JSON; None for what copying can't write.
fn written(plan: &Plan) -> Option<Plan> {
    let mut out: Vec<CopiedPiece> = Vec::new();
    match &plan.request {
        Request::Text(_) => said(plan.programs.first()?, &mut out),
        Request::Parts(_) => return None,
        Request::List(messages) => {
            let mut programs = plan.programs.iter();
            literal("[", &mut out);
            for (n, message) in messages.iter().enumerate() {
                if n > 0 {
                    literal(", ", &mut out);
                }
                match message {
                    Message::Bare(_) => said(programs.next()?, &mut out),
                    Message::Dict(keys) => dict(keys, programs.next()?, &mut out)?,
                    Message::Expand { .. } | Message::Element(_) => return None,
                }
            }
            literal("]", &mut out);
        }
    }
    Some(Plan { request: Request::Text(Vec::new()), programs: vec![Arc::new(Program::copying(out))] })
}

fn dict<'p>(keys: &[(Arc<str>, Slot)], program: &'p Program, out: &mut Vec<CopiedPiece<'p>>) -> Option<()> {
    if keys.iter().any(|(_, slot)| matches!(slot, Slot::Parts(_))) {
        return None;
    }
    // As `messages_json` has it: a text alone under the key of bare strings is one.
    let consts = keys.iter().filter(|(_, slot)| matches!(slot, Slot::Const(_))).count();
    let text = keys.iter().position(|(_, slot)| matches!(slot, Slot::Text(_)));
    if consts == 0 && text.is_some_and(|at| &*keys[at].0 == keys::PROMPT) {
        said(program, out);
        return Some(());
    }
    literal("{", out);
    let mut any = false;
    for (at, (key, slot)) in keys.iter().enumerate() {
        if matches!(slot, Slot::Text(_)) && text != Some(at) {
            continue;
        }
        let mut before = String::from(if any { ", " } else { "" });
        json::value(&Value::Str(key.clone()), &mut before);
        before.push_str(": ");
        any = true;
        match slot {
            Slot::Const(value) => {
                json::check(value).ok()?;
                json::value(value, &mut before);
                literal(&before, out);
            }
            Slot::Text(_) => {
                literal(&before, out);
                said(program, out);
            }
            Slot::Parts(_) => return None,
        }
    }
    literal("}", out);
    Some(())
}

fn literal(text: &str, out: &mut Vec<CopiedPiece>) {
    out.push(CopiedPiece::Lit(Cow::Owned(text.into())));
}

/// A text as a JSON string.
fn said<'p>(program: &'p Program, out: &mut Vec<CopiedPiece<'p>>) {
    literal("\"", out);
    out.extend(program.pieces().map(|piece| match piece {
        CopiedPiece::Lit(bytes) => {
            let mut escaped = Vec::new();
            json_text::inside_of_bytes(&bytes, &mut escaped);
            CopiedPiece::Lit(Cow::Owned(escaped))
        }
        step @ CopiedPiece::Op(_) => step,
    }));
    literal("\"", out);
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
