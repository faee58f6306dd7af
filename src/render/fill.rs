//! Filling column by column, as the harness does: the exact course for the rows where copying isn't enough.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

use super::batch::Batch;
use super::examples::Parts;
use crate::error::Result;
use crate::plan::{Program, Seg, Substitution, Unit};
use crate::role::Join;
use crate::template::{Atom, Origin, Source, Text};

/// The text of a whole program in one row.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn program(program: &Program, batch: &Batch, row: usize, shots: &[u32], parts: &Parts) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for one in &program.units {
        let text = unit(one, batch, row, shots, parts)?;
        if one.join == Join::Line && !text.is_empty() {
            out.push(b'\n');
        }
        out.extend_from_slice(&text);
    }
    Ok(out)
}

fn unit(unit: &Unit, batch: &Batch, row: usize, shots: &[u32], parts: &Parts) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    if unit.is_open(batch.columns) {
        for atom in &unit.text.atoms {
            match atom {
                Atom::Lit(s, _) => text.extend_from_slice(s.as_bytes()),
                Atom::Example { slot, part } => text.extend_from_slice(parts.bytes(shots[*slot as usize], *part)),
                Atom::Field(name) => text.extend_from_slice(batch.named(name, row)?),
            }
        }
        for column in 0..batch.columns.tokens.len() {
            if batch.columns.tokens.none_in(&text) {
                break;
            }
            if let Cow::Owned(replaced) = replace(&text, column, &unit.text, batch, row)? {
                text = replaced;
            }
        }
    } else {
        for seg in &unit.segs {
            match seg {
                Seg::Lit(s, _) => text.extend_from_slice(s.as_bytes()),
                Seg::Field(column) => text.extend_from_slice(batch.field(*column, row)?),
                Seg::Example { slot, part } => text.extend_from_slice(parts.bytes(shots[*slot as usize], *part)),
            }
        }
    }
    Ok(text)
}

fn replace<'t>(text: &'t [u8], column: usize, unit: &Text, batch: &Batch, row: usize) -> Result<Cow<'t, [u8]>> {
    let token = batch.columns.tokens.get(column).as_bytes();
    let mut found = places(text, token).peekable();
    if found.peek().is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let value = match batch.columns.fixed(column, unit) {
        Some(by) => by.as_bytes(),
        None => batch.field(column, row)?,
    };
    let mut out = Vec::with_capacity(text.len() + value.len());
    let mut start = 0;
    for at in found {
        out.extend_from_slice(&text[start..at]);
        out.extend_from_slice(value);
        start = at + token.len();
    }
    out.extend_from_slice(&text[start..]);
    Ok(Cow::Owned(out))
}

/// Where a token stands in a text, from left to right and none within another.
fn places<'t>(text: &'t [u8], token: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    // An empty token stands between characters, as in Python, not between bytes.
    let between = |at: &usize| !token.is_empty() || text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    memmem::find_iter(text, token).filter(between)
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
    let mut found = places(text.as_bytes(), token.as_bytes()).peekable();
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
pub type Traced = Vec<(String, Origin)>;

/// Fill a text in one row and keep the origin of every byte. `culprits` gets the column of every value that took part
/// in a placeholder.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub fn traced(text: &Text, batch: &Batch, row: usize, culprits: &mut Vec<Arc<str>>) -> Result<Traced> {
    let mut now = Traced::new();
    for atom in &text.atoms {
        match atom {
            Atom::Lit(s, origin) => now.push((s.to_string(), origin.clone())),
            Atom::Example { .. } => {}
            Atom::Field(name) => {
                let value = String::from_utf8_lossy(batch.named(name, row)?).into_owned();
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
        let kind = |(_, origin): &(String, Origin)| {
            (matches!(origin.source, Source::Field) || origin.example.is_some(), origin.source == Source::Separator)
        };
        let mut next = Traced::new();
        for run in now.chunk_by(|a, b| kind(a) == kind(b)) {
            if kind(&run[0]).0 {
                next.extend_from_slice(run);
            } else {
                put(run, &columns.tokens.placeholders(&flat(run)), text, batch, row, &mut Vec::new(), &mut next)?;
            }
        }
        now = next;
    } else {
        for column in 0..columns.tokens.len() {
            let whole = flat(&now);
            let found: Vec<(usize, usize)> =
                whole.match_indices(columns.tokens.get(column)).map(|(at, _)| (at, column)).collect();
            if !found.is_empty() {
                let mut next = Traced::new();
                put(&now, &found, text, batch, row, culprits, &mut next)?;
                now = next;
            }
        }
    }
    now.retain(|(s, _)| !s.is_empty());
    Ok(now)
}

fn flat(run: &[(String, Origin)]) -> String {
    run.iter().map(|(s, _)| s.as_str()).collect()
}

/// Put fields in for the placeholders that were found: first byte and column.
fn put(
    run: &[(String, Origin)],
    found: &[(usize, usize)],
    unit: &Text,
    batch: &Batch,
    row: usize,
    culprits: &mut Vec<Arc<str>>,
    out: &mut Traced,
) -> Result<()> {
    let columns = batch.columns;
    let mut start = 0;
    for &(at, column) in found {
        let end = at + columns.tokens.get(column).len();
        cut(run, start, at, out);
        let mut taken = Traced::new();
        cut(run, at, end, &mut taken);
        for (_, origin) in &taken {
            if let (Source::Field | Source::Masked, Some(column)) = (origin.source, &origin.column)
                && !culprits.contains(column)
            {
                culprits.push(column.clone());
            }
        }
        let (source, value) = match columns.fixed(column, unit) {
            Some(by) => (Source::Masked, by.to_string()),
            None => (Source::Field, String::from_utf8_lossy(batch.field(column, row)?).into_owned()),
        };
        out.push((value, Origin { source, column: Some(columns.names[column].clone()), ..Origin::default() }));
        start = end;
    }
    cut(run, start, usize::MAX, out);
    Ok(())
}

fn cut(run: &[(String, Origin)], start: usize, end: usize, out: &mut Traced) {
    let mut at = 0;
    for (s, origin) in run {
        let (from, to) = (start.max(at), end.min(at + s.len()));
        if from < to {
            out.push((s[from - at..to - at].to_owned(), origin.clone()));
        }
        at += s.len();
    }
}
