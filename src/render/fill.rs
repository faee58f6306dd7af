//! Filling the rows where copying isn't enough: value within value where that is certain, else column by column, as the
//! harness does.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::batch::Batch;
use super::examples::Parts;
use super::nest::Nest;
use crate::error::Result;
use crate::plan::{Program, Seg, Substitution, Unit};
use crate::role::Join;
use crate::template::{Atom, Origin, Source, Text};

/// Bytes of a text that takes long enough to be looked through for a look at signals before.
const LONG: usize = 1 << 20;

/// Fills texts one after the other, in memory that it keeps.
pub struct Filler<'a> {
    batch: &'a Batch<'a>,
    nest: Nest<'a>,
    /// The unit at hand.
    text: Vec<u8>,
    /// The unit with one column more filled in.
    next: Vec<u8>,
}

impl<'a> Filler<'a> {
    /// For rows of a batch up to `end`.
    pub fn new(batch: &'a Batch<'a>, end: usize) -> Self {
        Self { batch, nest: Nest::new(batch, end), text: Vec::new(), next: Vec::new() }
    }

    /// Append the text of a whole program in one row to `out`.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn program(
        &mut self,
        program: &Program,
        row: usize,
        shots: &[u32],
        parts: &Parts,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let batch = self.batch;
        for one in &program.units {
            let start = out.len();
            if one.join == Join::Line {
                out.push(b'\n');
            }
            let text = out.len();
            if !one.is_open(batch.columns) {
                for seg in &one.segs {
                    out.extend_from_slice(match seg {
                        Seg::Lit(s, _) => s.as_bytes(),
                        Seg::Field(column) => batch.field(*column, row)?,
                        Seg::Example { slot, part } => parts.bytes(shots[*slot as usize], *part),
                    });
                }
            } else if !self.nest.unit(one, row, shots, parts, out)? {
                self.by_columns(one, row, shots, parts)?;
                out.extend_from_slice(&self.text);
            }
            if out.len() == text {
                out.truncate(start);
            }
        }
        Ok(())
    }

    /// The text of a unit into `self.text`, one column after the other.
    fn by_columns(&mut self, unit: &Unit, row: usize, shots: &[u32], parts: &Parts) -> Result<()> {
        let (batch, text) = (self.batch, &mut self.text);
        text.clear();
        for atom in unit.text.atoms.iter() {
            text.extend_from_slice(match atom {
                Atom::Lit(s, _) => s.as_bytes(),
                Atom::Example { slot, part } => parts.bytes(shots[*slot as usize], *part),
                Atom::Field(name) => batch.named(name, row)?,
            });
        }
        for column in 0..batch.columns.tokens.len() {
            if batch.columns.tokens.none_in(&self.text) {
                break;
            }
            if self.text.len() > LONG {
                batch.host.check()?;
            }
            self.replace(column, &unit.text, row)?;
        }
        Ok(())
    }

    /// Put the field of a column in for each of its tokens.
    fn replace(&mut self, column: usize, unit: &Text, row: usize) -> Result<()> {
        let Self { batch, text, next, .. } = self;
        let tokens = &batch.columns.tokens;
        let mut found = whole(text, tokens.get(column), tokens.find_iter(column, text)).peekable();
        if found.peek().is_none() {
            return Ok(());
        }
        let value = match batch.columns.fixed(column, unit) {
            Some(by) => by.as_bytes(),
            None => batch.field(column, row)?,
        };
        next.clear();
        let mut start = 0;
        for at in found {
            next.extend_from_slice(&text[start..at]);
            next.extend_from_slice(value);
            start = at + tokens.get(column).len();
        }
        next.extend_from_slice(&text[start..]);
        std::mem::swap(text, next);
        Ok(())
    }
}

/// Of the places where a token stands those that count: an empty one stands between characters, as in Python, not
/// between bytes.
fn whole<'t>(text: &'t [u8], token: &str, found: impl Iterator<Item = usize> + 't) -> impl Iterator<Item = usize> + 't {
    let empty = token.is_empty();
    found.filter(move |at| !empty || text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
}

/// Put `value` in for every `token` of a text, as Python's `str.replace` does. None where there is no such token.
///
/// ```
/// use promptpress::render::replaced;
///
/// assert_eq!(replaced("{q} or {q}", "{q}", "?").as_deref(), Some("? or ?"));
/// assert_eq!(replaced("é", "", "-").as_deref(), Some("-é-"));
/// assert_eq!(replaced("a", "{q}", "?"), None);
/// ```
#[must_use]
pub fn replaced(text: &str, token: &str, value: &str) -> Option<String> {
    let mut found = whole(text.as_bytes(), token, memmem::find_iter(text.as_bytes(), token)).peekable();
    found.peek()?;
    let mut out = String::with_capacity(text.len() + value.len());
    let mut start = 0;
    for at in found {
        out.push_str(&text[start..at]);
        out.push_str(value);
        start = at + token.len();
    }
    out.push_str(&text[start..]);
    Some(out)
}

/// A text whose every stretch knows where it comes from.
pub type Traced = Vec<(Arc<str>, Origin)>;

/// The columns whose values took part in placeholders.
pub type Culprits = HashSet<Arc<str>>;

/// Placeholders that are filled in between two looks at signals.
pub const MANY: usize = 4096;

/// Fill a text in one row and keep the origin of every byte. `culprits` gets the column of every value that took part
/// in a placeholder.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn traced(text: &Text, batch: &Batch, row: usize, culprits: &mut Culprits) -> Result<Traced> {
    let mut now = Traced::new();
    for atom in text.atoms.iter() {
        match atom {
            Atom::Lit(s, origin) => now.push((s.clone(), origin.clone())),
            Atom::Example { .. } => {}
            Atom::Field(name) => {
                let value = String::from_utf8_lossy(batch.named(name, row)?).into();
                let origin = Origin { source: Source::Field, column: Some(name.clone()), ..Origin::default() };
                now.push((value, origin));
            }
        }
    }
    if text.fixed {
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
                put(run, &columns.tokens.placeholders(&flat(run)), text, batch, row, &mut Culprits::new(), &mut next)?;
            }
        }
        now = next;
    } else if let Some(at_once) = at_once(&now, text, batch, row, culprits)? {
        now = at_once;
    } else {
        let mut whole = flat(&now);
        for column in 0..columns.tokens.len() {
            batch.host.check()?;
            let found: Vec<(usize, usize)> =
                whole.match_indices(columns.tokens.get(column)).map(|(at, _)| (at, column)).collect();
            if !found.is_empty() {
                let mut next = Traced::new();
                put(&now, &found, text, batch, row, culprits, &mut next)?;
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
fn at_once(now: &Traced, text: &Text, batch: &Batch, row: usize, culprits: &mut Culprits) -> Result<Option<Traced>> {
    let tokens = &batch.columns.tokens;
    if tokens.overlap() {
        return Ok(None);
    }
    let (mut next, mut own) = (Traced::new(), Culprits::new());
    put(now, &tokens.placeholders(&flat(now)), text, batch, row, &mut own, &mut next)?;
    if tokens.find(flat(&next).as_bytes(), 0).is_some() {
        return Ok(None);
    }
    culprits.extend(own);
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
    culprits: &mut Culprits,
    out: &mut Traced,
) -> Result<()> {
    let columns = batch.columns;
    let mut along = Along { rest: run, at: 0, within: 0 };
    // One value may stand in thousands of places.
    let mut values: HashMap<usize, (Arc<str>, Origin)> = HashMap::new();
    for (n, &(at, column)) in found.iter().enumerate() {
        if n % MANY == MANY - 1 {
            batch.host.check()?;
        }
        along.to(at, |s, origin, range| copy(s, origin, range, out));
        along.to(at + columns.tokens.get(column).len(), |_, origin, _| {
            if let (Source::Field | Source::Masked, Some(column)) = (origin.source, &origin.column)
                && !culprits.contains(column)
            {
                culprits.insert(column.clone());
            }
        });
        let filled = match values.entry(column) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (source, value) = match columns.fixed(column, unit) {
                    Some(by) => (Source::Masked, by.clone()),
                    None => (Source::Field, String::from_utf8_lossy(batch.field(column, row)?).into()),
                };
                new.insert((value, Origin { source, column: Some(columns.names[column].clone()), ..Origin::default() }))
            }
        };
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
