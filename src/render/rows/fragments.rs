//! Renders the texts of fragments, a batch at a time.

use std::sync::Arc;

use super::engine;
use crate::error::Result;
use crate::plan::{Op, Plan, Plans, Program, Tokens};
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::role::{Piece, Request};
use crate::template::Text;
use crate::threads;

/// Render the parts of every row of a batch, which all have the same form that nothing is filled into later. Parts that
/// are plain columns aren't copied.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn fragments_of_rows(batch: &Batch, form: &[&Text]) -> Result<FragmentStore> {
    threads::map((0..batch.columns.names.len()).collect(), |column| batch.prepare(column, true));
    let mut programs: Vec<Program> =
        form.iter().map(|text| Program::new(&[Piece::new((*text).clone())], batch.columns)).collect();
    let mut columns = vec![None; programs.len()];
    for (program, column) in programs.iter_mut().zip(&mut columns) {
        if let [Op::Field(field)] = program.ops[..]
            && !program.always_substituted
            && program.guards.is_empty()
            && program.scanned.iter().all(|scanned| matches!(batch.may_hold_placeholder(*scanned), Ok(None)))
        {
            *column = Some(batch.texts(field)?.clone());
            *program = Program::new(&[], batch.columns);
        }
    }
    if columns.iter().all(Option::is_some) {
        return Ok(FragmentStore::default().with_columns(batch.rows, columns));
    }
    let kinds = std::iter::repeat_n(Some(0), batch.rows);
    let parts = fragments_of_programs(batch, vec![programs], kinds, &Tokens::default())?;
    Ok(parts.with_columns(batch.rows, columns))
}

/// Render the parts of every row of a batch, with the form `kinds[row]`; a row without a kind has no parts. `tokens`
/// are placeholders that are filled in later.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn fragments_of_forms(
    batch: &Batch,
    forms: &[Vec<&Text>],
    kinds: impl Iterator<Item = Option<usize>>,
    tokens: &Tokens,
) -> Result<FragmentStore> {
    let program = |text: &&Text| Program::new(&[Piece::new((*text).clone())], batch.columns);
    let forms = forms.iter().map(|texts| texts.iter().map(program).collect()).collect();
    fragments_of_programs(batch, forms, kinds, tokens)
}

/// [`fragments_of_forms`] for texts that are bound to the batch's columns already.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn fragments_of_programs(
    batch: &Batch,
    forms: Vec<Vec<Program>>,
    kinds: impl Iterator<Item = Option<usize>>,
    tokens: &Tokens,
) -> Result<FragmentStore> {
    let plan = |programs: Vec<Program>| {
        let programs = programs.into_iter().map(Arc::new).collect();
        Arc::new(Plan { request: Request::List(Vec::new()), programs })
    };
    let mut all: Vec<Arc<Plan>> = forms.into_iter().map(plan).collect();
    all.push(plan(Vec::new()));
    let none = all.len() - 1;
    let each: Vec<u32> = kinds.map(|kind| kind.unwrap_or(none) as u32).collect();
    let mut counts = each.iter().map(|kind| all[*kind as usize].programs.len());
    let first = counts.next();
    let even = first.filter(|first| counts.all(|count| count == *first));
    let mut starts = Vec::with_capacity(each.len());
    let mut parts = 0;
    for kind in &each {
        starts.push(parts);
        parts += all[*kind as usize].programs.len();
    }
    let plans = Plans { all, labels: 1, each: Some(each) };
    let (row_fragments, none) = (RowFragments::default(), FragmentStore::default());
    let fragments = FragmentStores { renderer: &none, batch: &none };
    let texts = engine::texts(batch, &plans, 0..batch.rows, &row_fragments, fragments, usize::MAX)?.unwrap_or_default();
    let text = |n: usize| {
        let (start, end) = texts.offsets.text(n);
        tokens.could_form(&texts.bytes[start..end])
    };
    let count = if tokens.is_empty() { 0 } else { texts.offsets.len().saturating_sub(1) };
    let may_hold_placeholder: Vec<bool> = (0..count).map(text).collect();
    Ok(FragmentStore::new(starts, texts, even, may_hold_placeholder))
}
