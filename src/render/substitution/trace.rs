//! Filling a text with the origin of every byte kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::recursive_fill::PLACEHOLDERS_PER_SIGNAL_CHECK;
use crate::error::Result;
use crate::plan::Substitution;
use crate::render::input::Batch;
use crate::template::{Atom, Origin, Source, Text};

/// A text whose every stretch knows where it comes from.
pub type Traced = Vec<(Arc<str>, Origin)>;

/// The columns whose values took part in placeholders.
pub type InvolvedColumns = HashSet<Arc<str>>;

/// Fill a text in one row and keep the origin of every byte. `involved` gets the column of every value that took part
/// in a placeholder.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn traced(text: &Text, batch: &Batch, row: usize, involved: &mut InvolvedColumns) -> Result<Traced> {
    let mut now = Traced::new();
    for atom in text.atoms.iter() {
        match atom {
            Atom::Lit(s, origin) => now.push((s.clone(), origin.clone())),
            Atom::Fragment(_) => {}
            Atom::Field(name) => {
                let value = String::from_utf8_lossy(batch.named(name, row)?).into();
                let origin = Origin { source: Source::Field, column: Some(name.clone()), ..Origin::default() };
                now.push((value, origin));
            }
        }
    }
    if text.is_final {
        now.retain(|(s, _)| !s.is_empty());
        return Ok(now);
    }
    let columns = batch.columns;
    if columns.substitution == Substitution::SinglePass {
        // A value is a wall, and so is the border between a template and what stands between examples.
        let kind = |(_, origin): &(Arc<str>, Origin)| {
            (matches!(origin.source, Source::Field) || origin.example.is_some(), origin.source == Source::Separator)
        };
        let mut next = Traced::new();
        for run in now.chunk_by(|a, b| kind(a) == kind(b)) {
            if kind(&run[0]).0 {
                next.extend_from_slice(run);
            } else {
                put(
                    run,
                    &columns.tokens.placeholders(&flat(run)),
                    text,
                    batch,
                    row,
                    &mut InvolvedColumns::new(),
                    &mut next,
                )?;
            }
        }
        now = next;
    } else if let Some(at_once) = at_once(&now, text, batch, row, involved)? {
        now = at_once;
    } else {
        let mut whole = flat(&now);
        for column in 0..columns.tokens.len() {
            batch.host.check()?;
            let found: Vec<(usize, usize)> =
                whole.match_indices(columns.tokens.get(column)).map(|(at, _)| (at, column)).collect();
            if !found.is_empty() {
                let mut next = Traced::new();
                put(&now, &found, text, batch, row, involved, &mut next)?;
                now = next;
                whole = flat(&now);
            }
        }
    }
    now.retain(|(s, _)| !s.is_empty());
    Ok(now)
}

/// All columns at once, if that is what one after the other gives: of tokens that can't share bytes none may form anew.
/// One that forms while columns are filled in is of what stands there in the end, where it is seen.
fn at_once(
    now: &Traced,
    text: &Text,
    batch: &Batch,
    row: usize,
    involved: &mut InvolvedColumns,
) -> Result<Option<Traced>> {
    let tokens = &batch.columns.tokens;
    if tokens.overlap() {
        return Ok(None);
    }
    let (mut next, mut own) = (Traced::new(), InvolvedColumns::new());
    put(now, &tokens.placeholders(&flat(now)), text, batch, row, &mut own, &mut next)?;
    if tokens.find(flat(&next).as_bytes(), 0).is_some() {
        return Ok(None);
    }
    involved.extend(own);
    Ok(Some(next))
}

fn flat(run: &[(Arc<str>, Origin)]) -> String {
    run.iter().map(|(s, _)| &**s).collect()
}

/// Put fields in for the placeholders that were found: first byte and column.
fn put(
    run: &[(Arc<str>, Origin)],
    found: &[(usize, usize)],
    unit: &Text,
    batch: &Batch,
    row: usize,
    involved: &mut InvolvedColumns,
    out: &mut Traced,
) -> Result<()> {
    let columns = batch.columns;
    let mut along = Along { rest: run, at: 0, within: 0 };
    // One value may stand in thousands of places.
    let mut values: HashMap<usize, (Arc<str>, Origin)> = HashMap::new();
    let (limits, mut bytes) = (batch.host.limits(), 0);
    let most = limits.filling_bytes();
    for (n, &(at, column)) in found.iter().enumerate() {
        if n % PLACEHOLDERS_PER_SIGNAL_CHECK == PLACEHOLDERS_PER_SIGNAL_CHECK - 1 {
            batch.host.check()?;
        }
        along.to(at, |s, origin, range| copy(s, origin, range, out));
        along.to(at + columns.tokens.get(column).len(), |_, origin, _| {
            if let (Source::Field | Source::Masked, Some(column)) = (origin.source, &origin.column)
                && !involved.contains(column)
            {
                involved.insert(column.clone());
            }
        });
        let filled = match values.entry(column) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (source, value) = match columns.fixed(column, unit) {
                    Some(by) => (Source::Masked, by.clone()),
                    None => (Source::Field, String::from_utf8_lossy(batch.brought_in_field(column, row)?).into()),
                };
                new.insert((value, Origin { source, column: Some(columns.names[column].clone()), ..Origin::default() }))
            }
        };
        bytes += filled.0.len();
        if bytes > most {
            return Err(limits.prompt_too_long());
        }
        out.push(filled.clone());
    }
    along.to(usize::MAX, |s, origin, range| copy(s, origin, range, out));
    Ok(())
}

fn copy(s: &Arc<str>, origin: &Origin, range: Range<usize>, out: &mut Traced) {
    let piece = if range.len() == s.len() { s.clone() } else { s[range].into() };
    out.push((piece, origin.clone()));
}

/// A way along a run, from left to right: placeholders may be as many as stretches, and none is passed twice.
struct Along<'a> {
    /// The stretches from the one at hand on.
    rest: &'a [(Arc<str>, Origin)],
    /// Bytes of the run that lie behind.
    at: usize,
    /// Those of them that are of the stretch at hand.
    within: usize,
}

impl<'a> Along<'a> {
    /// Go on to byte `end`: each stretch on the way, and which of its bytes.
    fn to(&mut self, end: usize, mut each: impl FnMut(&'a Arc<str>, &'a Origin, Range<usize>)) {
        while self.at < end
            && let Some(((s, origin), rest)) = self.rest.split_first()
        {
            let to = s.len().min(self.within + (end - self.at));
            if self.within < to {
                each(s, origin, self.within..to);
            }
            self.at += to - self.within;
            self.within = to;
            if to < s.len() {
                return;
            }
            (self.rest, self.within) = (rest, 0);
        }
    }
}
