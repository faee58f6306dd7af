//! Rows that are plain copies of literals and fields, as nearly all are: nothing is decided row by row.
//!
//! Lengths follow from the columns' offsets, before a byte of a column has been read. So the output is laid out first,
//! and each column's bytes are then checked, looked through for placeholders and copied while they are near the
//! processor, be it in the column or in the output: they come from memory once. What is found wrong ends it, and the
//! rows are rendered as others are, which finds it again and says where it is.
//!
//! Values that aren't text have to be printed before their lengths are known. Then rows are taken in parts that are so
//! small that what was printed for one is still near when it is copied. So they are where the columns' texts are changed on
//! the way, as escapes in JSON do.

use std::ops::Range;

use super::plain_rows::{PlainPrograms, PlainRows};
use super::sizes::stay_within;
use super::unread::{Unread, shown_by};
use crate::error::Result;
use crate::plan::{Op, Plans};
use crate::pytext::TextColumn;
use crate::render::input::Batch;
use crate::render::memory::{Bytes, TextOffsets, Texts};
use crate::threads;

/// Rows whose values are printed at a time by one thread, at most ...
const PART_ROWS: usize = 4096;
/// ... unless a row's values are few and short: then so many values are.
const PART_VALUES: usize = 4 * PART_ROWS;
/// Fewer aren't worth a thread.
const MIN_PART_ROWS: usize = 256;

/// How many times as much memory is asked for as the first rows make expect for the others: thousands of rows differ by
/// less, and a block that is much too large isn't kept for long.
const SPARE: f64 = 1.03;
/// How much longer than the first rows the others are taken for at most.
const MAX_LONGER: f64 = 2.0;

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
    let (printed, others): (Vec<usize>, Vec<usize>) =
        shown_by(&common.programs).into_iter().partition(|column| batch.prints_by_row(*column));
    if rows.len() > PART_ROWS && !printed.is_empty() {
        // What rows pick from is printed once for all of them.
        for column in others {
            if batch.unread(column).is_none() {
                batch.prepare(column, false);
            }
        }
        let are_short = printed.iter().all(|column| batch.prints_short(*column));
        let most = if are_short { (PART_VALUES / printed.len()).max(PART_ROWS) } else { PART_ROWS };
        let part = |rows| Some(batch.slice(rows));
        return Ok(in_parts(batch, &part, most, plans, &common, rows, limit)?.map_or(Attempt::No, Attempt::Texts));
    }
    let Some(unread) = Unread::new(batch, &common.programs) else { return Ok(Attempt::No) };
    let Some(all) = PlainRows::new(&common, &unread, rows.clone())? else { return Ok(Attempt::No) };
    let offsets = all.offsets()?;
    // A value that is too long may become shorter where it names others: that is for those to say who look at each row.
    if !stay_within(plans, rows, &offsets, batch.host.limits()) {
        return Ok(Attempt::No);
    }
    if all.total > limit {
        return Ok(Attempt::TooLong);
    }
    let mut bytes = Bytes::new(all.total)?;
    let fine = all.write(&mut bytes, batch.host)?;
    Ok(if fine { Attempt::Texts(Texts { offsets, bytes, is_plain: true }) } else { Attempt::No })
}

/// Some rows as a batch of their own, with the texts that they show; None where more than copying is called for.
pub type Part<'p, 'b> = &'p (dyn Fn(Range<usize>) -> Option<Batch<'b>> + Sync);

/// Render the texts of rows `rows` of a batch as `part` makes them; None if not all of them are plain copies, or if they are
/// too much for some limit.
///
/// # Errors
///
/// What the host stops it with.
pub fn texts_of_parts(
    batch: &Batch,
    part: Part,
    plans: &Plans,
    rows: Range<usize>,
    limit: usize,
) -> Result<Option<Texts>> {
    let Some(common) = PlainPrograms::new(plans) else { return Ok(None) };
    in_parts(batch, part, PART_ROWS, plans, &common, rows, limit)
}

/// The texts of rows that are printed in parts of at most `most` rows, as many at a time as there are threads; None if they
/// aren't plain, or too much for some limit.
fn in_parts(
    batch: &Batch,
    part: Part,
    most: usize,
    plans: &Plans,
    common: &PlainPrograms,
    rows: Range<usize>,
    limit: usize,
) -> Result<Option<Texts>> {
    let limits = batch.host.limits();
    let likely = LikelySize::new(batch, common);
    let limit = limit.min(limits.batch_bytes);
    if likely.at_least(rows.clone()) > limit {
        return Ok(None);
    }
    let (mut bytes, mut total, mut ends) = (Bytes::default(), 0, Vec::new());
    let size = rows.len().div_ceil(threads::count()).clamp(MIN_PART_ROWS, most);
    for parts in threads::chunks(rows.clone(), size).chunks(threads::count()) {
        let batches = threads::map(parts.to_vec(), part);
        let Some(batches) = batches.into_iter().collect::<Option<Vec<Batch>>>() else { return Ok(None) };
        let unread = threads::map(batches.iter().collect(), |part| Unread::new(part, &common.programs));
        let Some(unread) = unread.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        // Where a value is null or picked, how long the texts are is found row by row: it is as much work as copying some.
        let bind = |(unread, batch): (_, &Batch)| {
            let Some(part) = PlainRows::new(common, unread, 0..batch.rows)? else { return Ok(None) };
            let offsets = part.offsets()?;
            Ok(Some((part, offsets)))
        };
        let bound = threads::map(unread.iter().zip(&batches).collect(), bind);
        let Ok(Some(bound)) = bound.into_iter().collect::<Result<Option<Vec<_>>>>() else { return Ok(None) };
        let (bound, offsets): (Vec<PlainRows>, Vec<TextOffsets>) = bound.into_iter().unzip();
        let before = total;
        for (part, offsets) in bound.iter().zip(offsets) {
            if !stay_within(plans, 0..part.rows(), &offsets, limits) {
                return Ok(None);
            }
            total += part.total;
            ends.push(offsets);
        }
        if total > limit {
            return Ok(None);
        }
        if total > bytes.len() {
            let done = parts.last().map_or(rows.end, |last| last.end);
            // Where there isn't as much, there may be what is needed: that is found out by measuring all of it first.
            let Ok(mut larger) = Bytes::new(likely.expected(&rows, done, total).min(limit)) else { return Ok(None) };
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

/// What is known of how long texts are before any value is printed or escaped: what is the same in all rows, and the strings
/// as they lie.
struct LikelySize<'b> {
    literals: usize,
    /// How many values of a row haven't been printed.
    unprinted: usize,
    strings: Vec<&'b TextColumn>,
}

/// Bytes of a value that hasn't been printed, for all that is known.
const UNPRINTED_BYTES: usize = 8;

impl<'b> LikelySize<'b> {
    fn new(batch: &'b Batch, common: &PlainPrograms) -> Self {
        let mut out = Self { literals: 0, unprinted: 0, strings: Vec::new() };
        for op in common.programs.iter().flat_map(|program| &program.ops) {
            match *op {
                Op::Lit(start, end) => out.literals += end - start,
                // Row numbers, which are made with the parts, stand behind the batch's own columns.
                Op::Field(column) if column >= batch.columns.names.len() => out.unprinted += 1,
                Op::Field(column) => match batch.made(column).or_else(|| batch.unread(column)) {
                    Some(texts) => out.strings.push(texts),
                    None => out.unprinted += 1,
                },
                Op::Fragment(_) | Op::LineIf(_) => {}
            }
        }
        out
    }

    /// What some rows have at least: printing makes something of nothing, and escapes only lengthen.
    fn at_least(&self, rows: Range<usize>) -> usize {
        let strings = self.strings.iter().map(|texts| texts.total_length(rows.clone()));
        self.literals * rows.len() + strings.sum::<usize>()
    }

    /// Memory for all of `rows`, of which those before `done` have `total` bytes.
    fn expected(&self, rows: &Range<usize>, done: usize, total: usize) -> usize {
        let likely =
            |rows: Range<usize>| (self.at_least(rows.clone()) + UNPRINTED_BYTES * self.unprinted * rows.len()) as f64;
        let left = likely(done..rows.end) / likely(rows.start..done).max(1.0);
        // Where something else makes up most of the first rows, strings don't say how much longer the others are.
        let by_number = (rows.end - done) as f64 / (done - rows.start).max(1) as f64;
        total + (total as f64 * left.min(MAX_LONGER * by_number) * SPARE) as usize
    }
}
