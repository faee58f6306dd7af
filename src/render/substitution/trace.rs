//! Filling a text with the origin of every byte kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::recursive_fill::PLACEHOLDERS_PER_SIGNAL_CHECK;
use crate::error::Result;
use crate::plan::Site;
use crate::render::input::Batch;
use crate::template::{Atom, Origin, Source, Text};

/// A text in stretches, each with its origin.
pub type Traced = Vec<(Arc<str>, Origin)>;

/// The columns whose values took part in placeholders.
pub type InvolvedColumns = HashSet<Arc<str>>;

/// Fill a text in one row and keep the origin of every byte. `involved` gets the column of every value that took part
/// in a placeholder.
///
/// Values without bytes stay as stretches: a placeholder that forms across such a value is there because of it. What is
/// made of the final text leaves them out, by [`without_empty`].
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
        return Ok(now);
    }
    let columns = batch.columns;
    if !columns.substitution.is_by_column() {
        // No placeholder reaches across the border of a value, or across the border between a template and the text
        // between examples.
        let kind = |(_, origin): &(Arc<str>, Origin)| {
            (origin.source.is_field() || origin.example.is_some(), origin.source == Source::Separator)
        };
        let mut next = Traced::new();
        for run in now.chunk_by(|a, b| kind(a) == kind(b)) {
            if kind(&run[0]).0 {
                next.extend_from_slice(run);
            } else {
                put(run, &columns.sites(&flat(run)), text, batch, row, &mut InvolvedColumns::new(), &mut next)?;
            }
        }
        now = next;
    } else if let Some(at_once) = at_once(&now, text, batch, row, involved)? {
        now = at_once;
    } else {
        let mut whole = flat(&now);
        for column in 0..columns.tokens.len() {
            batch.host.check()?;
            let site = |(start, token): (usize, &str)| Site { start, end: start + token.len(), column: Some(column) };
            let matches: Vec<Site> = whole.match_indices(columns.tokens.get(column)).map(site).collect();
            if !matches.is_empty() {
                let mut next = Traced::new();
                put(&now, &matches, text, batch, row, involved, &mut next)?;
                now = next;
                whole = flat(&now);
            }
        }
    }
    Ok(now)
}

/// Leave out the stretches that have no bytes.
pub fn without_empty(mut text: Traced) -> Traced {
    text.retain(|(s, _)| !s.is_empty());
    text
}

/// Fill in all columns at once, if this gives the same as one after the other: tokens that can't share bytes must not
/// form anew. A token that forms while columns are filled in consists of bytes of the final text, so it is found there.
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
    let (mut next, mut involved_here) = (Traced::new(), InvolvedColumns::new());
    put(now, &batch.columns.sites(&flat(now)), text, batch, row, &mut involved_here, &mut next)?;
    if tokens.find(flat(&next).as_bytes(), 0).is_some() {
        return Ok(None);
    }
    involved.extend(involved_here);
    Ok(Some(next))
}

fn flat(run: &[(Arc<str>, Origin)]) -> String {
    run.iter().map(|(s, _)| &**s).collect()
}

/// Put fields in for placeholders, and leave out braces.
fn put(
    run: &[(Arc<str>, Origin)],
    sites: &[Site],
    unit: &Text,
    batch: &Batch,
    row: usize,
    involved: &mut InvolvedColumns,
    out: &mut Traced,
) -> Result<()> {
    let columns = batch.columns;
    let mut along = Along { rest: run, position: 0, within: 0 };
    // A value may occur thousands of times. The key is its column, and whether its placeholder came from a value.
    let mut values: HashMap<(usize, bool), (Arc<str>, Origin)> = HashMap::new();
    let (limits, mut bytes) = (batch.host.limits(), 0);
    let most = limits.filling_bytes();
    for (n, site) in sites.iter().enumerate() {
        if n % PLACEHOLDERS_PER_SIGNAL_CHECK == PLACEHOLDERS_PER_SIGNAL_CHECK - 1 {
            batch.host.check()?;
        }
        along.to(site.start, |s, origin, range| copy(s, origin, range, out));
        let (mut from_value, mut has_begun) = (false, false);
        along.to(site.end, |s, origin, range| {
            has_begun |= !range.is_empty();
            if !has_begun {
                // A value without bytes right before the placeholder isn't a part of it.
                return copy(s, origin, range, out);
            }
            if let (true, Some(column)) = (origin.source.stands_for_column(), &origin.column) {
                from_value |= origin.source.is_value();
                if !involved.contains(column) {
                    involved.insert(column.clone());
                }
            }
        });
        let Some(column) = site.column else { continue };
        let filled = match values.entry((column, from_value)) {
            Entry::Occupied(cached) => cached.into_mut(),
            Entry::Vacant(new) => {
                let (source, value) = match columns.fixed(column, unit) {
                    Some(by) => (Source::masked(from_value), by.clone()),
                    None => (
                        Source::field(from_value),
                        String::from_utf8_lossy(batch.brought_in_field(column, row)?).into(),
                    ),
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

/// A cursor over a run, from left to right: there may be as many placeholders as stretches, and no stretch is visited
/// twice.
struct Along<'a> {
    /// The stretches from the current one on.
    rest: &'a [(Arc<str>, Origin)],
    /// The number of bytes of the run before the cursor.
    position: usize,
    /// The number of these bytes that belong to the current stretch.
    within: usize,
}

impl<'a> Along<'a> {
    /// Move on to byte `end`, and call `each` with each stretch on the way and the range of its bytes. Stretches without
    /// bytes that begin at `end` aren't on the way.
    fn to(&mut self, end: usize, mut each: impl FnMut(&'a Arc<str>, &'a Origin, Range<usize>)) {
        while self.position < end
            && let Some(((s, origin), rest)) = self.rest.split_first()
        {
            let to = s.len().min(self.within + (end - self.position));
            if self.within < to || s.is_empty() {
                each(s, origin, self.within..to);
            }
            self.position += to - self.within;
            self.within = to;
            if to < s.len() {
                return;
            }
            (self.rest, self.within) = (rest, 0);
        }
    }
}
