//! Rows that are plain copies of literals and fields, as nearly all are: nothing is decided row by row.
//!
//! Lengths follow from the columns' offsets, before a byte of a column has been read. So the output is laid out first,
//! and each column's bytes are then checked, looked through for placeholders and copied while they are near the
//! processor, be it in the column or in the output: they come from memory once. What is found wrong ends it, and the
//! rows are rendered as others are, which finds it again and says where it is.
//!
//! Values that aren't text have to be printed before their lengths are known. Then rows are taken in parts that are so
//! small that what was printed for one is still near when it is copied.

use std::ops::Range;

use super::plain_rows::{PlainPrograms, PlainRows};
use super::sizes::check_sizes;
use super::unread::{Unread, shown_by};
use crate::error::Result;
use crate::plan::Plans;
use crate::render::input::Batch;
use crate::render::memory::{Bytes, TextOffsets, Texts};
use crate::threads;

/// Rows whose values are printed at a time by one thread.
const PART_ROWS: usize = 4096;

/// What comes of an attempt.
pub enum Attempt {
    /// The rows aren't plain.
    No,
    /// The texts pass the limit.
    TooLong,
    /// All texts.
    Texts(Texts),
}

/// Render the texts of rows `rows` if all of them are plain copies.
///
/// # Errors
///
/// What the host stops it with.
pub fn texts(batch: &Batch, plans: &Plans, rows: Range<usize>, limit: usize) -> Result<Attempt> {
    let Some(common) = PlainPrograms::new(plans) else { return Ok(Attempt::No) };
    if rows.len() > PART_ROWS && shown_by(&common.programs).into_iter().any(|column| batch.prints_by_row(column)) {
        return Ok(in_parts(batch, plans, &common, rows, limit)?.map_or(Attempt::No, Attempt::Texts));
    }
    let Some(unread) = Unread::new(batch, &common.programs) else { return Ok(Attempt::No) };
    let Some(all) = PlainRows::new(&common, &unread, rows.clone())? else { return Ok(Attempt::No) };
    let offsets = all.offsets()?;
    check_sizes(plans, rows, &offsets, batch.host.limits())?;
    if all.total > limit {
        return Ok(Attempt::TooLong);
    }
    let mut bytes = Bytes::new(all.total)?;
    let fine = all.write(&mut bytes, batch.host)?;
    Ok(if fine { Attempt::Texts(Texts { offsets, bytes, is_plain: true }) } else { Attempt::No })
}

/// The texts of rows that are printed in parts, as many at a time as there are threads; None if they aren't plain, or too
/// much for some limit.
fn in_parts(
    batch: &Batch,
    plans: &Plans,
    common: &PlainPrograms,
    rows: Range<usize>,
    limit: usize,
) -> Result<Option<Texts>> {
    let limits = batch.host.limits();
    let limit = limit.min(limits.batch_bytes);
    // What rows pick from is printed once for all of them.
    shown_by(&common.programs).into_iter().filter(|column| !batch.prints_by_row(*column)).for_each(|column| {
        if batch.unread(column).is_none() {
            batch.prepare(column, false);
        }
    });
    let (mut bytes, mut total, mut ends) = (Bytes::default(), 0, Vec::new());
    for parts in threads::chunks(rows.clone(), PART_ROWS).chunks(threads::count()) {
        let batches: Vec<Batch> = parts.iter().map(|part| batch.slice(part.clone())).collect();
        let unread = threads::map(batches.iter().collect(), |part| Unread::new(part, &common.programs));
        let Some(unread) = unread.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let bind = |(unread, batch): (_, &Batch)| PlainRows::new(common, unread, 0..batch.rows);
        let Ok(Some(bound)) = unread.iter().zip(&batches).map(bind).collect::<Result<Option<Vec<_>>>>() else {
            return Ok(None);
        };
        let before = total;
        for part in &bound {
            let offsets = part.offsets()?;
            if check_sizes(plans, 0..part.rows(), &offsets, limits).is_err() {
                return Ok(None);
            }
            total += part.total;
            ends.push(offsets);
        }
        if total > limit {
            return Ok(None);
        }
        if total > bytes.len() {
            // Most rows are like these.
            let done = parts.last().map_or(rows.len(), |last| last.end - rows.start);
            let expected = (total + total / 8).saturating_mul(rows.len()) / done;
            // Where there isn't as much, there may be what is needed now.
            let mut larger =
                Bytes::new(if done < rows.len() { expected } else { total }).or_else(|_| Bytes::new(total))?;
            larger[..before].copy_from_slice(&bytes[..before]);
            bytes = larger;
        }
        let mut rest = &mut bytes[before..total];
        let mut work = Vec::with_capacity(bound.len());
        for part in bound {
            let (own, after) = rest.split_at_mut(part.total);
            work.push((part, own));
            rest = after;
        }
        let fine = threads::try_map(work, |(part, own)| part.write(own, batch.host))?;
        if !fine.into_iter().all(|fine| fine) {
            return Ok(None);
        }
    }
    bytes.truncate(total);
    Ok(Some(Texts { offsets: TextOffsets::joined(&ends, total)?, bytes, is_plain: true }))
}
