//! Renders rows that are plain copies of literals and fields, as nearly all rows are. No decision is made for a single
//! row.
//!
//! Lengths follow from the columns' offsets, before any byte of a column is read. So the output is laid out first. Then
//! each column's bytes are checked, searched for placeholders and copied while they are in cache, in the column or in
//! the output: they are loaded from memory once. If an error is found, the attempt ends, and the rows are rendered in
//! the usual way, which finds the error again and its row.
//!
//! Values that aren't text have to be printed before their lengths are known. Then rows are taken in parts that are
//! small enough that printed texts are still in cache when they are copied. The same holds if the columns' texts are
//! changed on the way, as by escapes in JSON.

use std::ops::Range;

use super::plain_rows::{PlainPrograms, PlainRows};
use super::sizes::stay_within;
use super::unread::{Unread, shown_by};
use crate::error::Result;
use crate::plan::{Op, Plans};
use crate::python_text::TextColumn;
use crate::render::input::Batch;
use crate::render::memory::{Bytes, TextOffsets, Texts};
use crate::threads;

/// The most rows whose values a thread prints at a time ...
const PART_ROWS: usize = 4096;
/// ... unless a row has few and short values: then this number of values is printed.
const PART_VALUES: usize = 4 * PART_ROWS;
/// The least number of rows that pays for a thread.
const MIN_PART_ROWS: usize = 256;

/// The factor between the allocated memory and the memory that the lengths of the first rows suggest. Thousands of rows
/// differ by less, and a block that is much too large isn't kept for long.
const SPARE: f64 = 1.03;
/// The largest assumed ratio between the lengths of the other rows and those of the first rows.
const MAX_LONGER: f64 = 2.0;

/// The result of an attempt.
pub enum Attempt {
    /// The rows aren't plain.
    No,
    /// The texts exceed the limit.
    TooLong,
    /// All texts.
    Texts(Texts),
}

/// Render the texts of rows `rows` if all of them are plain copies.
///
/// # Errors
///
/// The error with which the host stops the work.
pub fn texts(batch: &Batch, plans: &Plans, rows: Range<usize>, limit: usize) -> Result<Attempt> {
    let Some(common) = PlainPrograms::new(plans) else { return Ok(Attempt::No) };
    let (printed, others): (Vec<usize>, Vec<usize>) =
        shown_by(&common.programs).into_iter().partition(|column| batch.prints_by_row(*column));
    if rows.len() > PART_ROWS && !printed.is_empty() {
        // Values that rows pick from are printed once for all rows.
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
    // A value that is too long may become shorter if it names other values, which only rendering each row decides.
    if !stay_within(plans, rows, &offsets, batch.host.limits()) {
        return Ok(Attempt::No);
    }
    if all.total > limit {
        return Ok(Attempt::TooLong);
    }
    let mut bytes = Bytes::new(all.total)?;
    let is_plain = all.write(&mut bytes, batch.host)?;
    Ok(if is_plain { Attempt::Texts(Texts { offsets, bytes, is_plain: true }) } else { Attempt::No })
}

/// Return some rows as a new batch with the texts that they show; None if copying isn't enough.
pub type Part<'p, 'b> = &'p (dyn Fn(Range<usize>) -> Option<Batch<'b>> + Sync);

/// Render the texts of rows `rows` of a batch as `part` makes them; None if not all of them are plain copies, or if
/// they exceed some limit.
///
/// # Errors
///
/// The error with which the host stops the work.
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

/// Print the texts of rows in parts of at most `most` rows, with as many parts at a time as there are threads; None if
/// the texts aren't plain, or if they exceed some limit.
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
        // If values are null or picked, the lengths of texts are found row by row, which takes as long as copying some
        // texts.
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
            let printed_end = parts.last().map_or(rows.end, |last| last.end);
            // If this much memory can't be allocated, the exact amount may still be: the caller measures all texts
            // first.
            let Ok(mut larger) = Bytes::new(likely.expected(&rows, printed_end, total).min(limit)) else {
                return Ok(None);
            };
            larger[..before].copy_from_slice(&bytes[..before]);
            bytes = larger;
        }
        let mut rest = &mut bytes[before..total];
        let mut work = Vec::with_capacity(bound.len());
        for part in bound {
            let (output, after) = rest.split_at_mut(part.total);
            work.push((part, output));
            rest = after;
        }
        let are_plain = threads::try_map(work, |(part, output)| part.write(output, batch.host))?;
        if !are_plain.into_iter().all(|are_plain| are_plain) {
            return Ok(None);
        }
    }
    bytes.truncate(total);
    Ok(Some(Texts { offsets: TextOffsets::joined(&ends, total)?, bytes, is_plain: true }))
}

/// An estimate of the length of texts before any value is printed or escaped. It counts the bytes that are the same in
/// all rows, and the strings without escapes.
struct LikelySize<'b> {
    literals: usize,
    /// The number of a row's values that haven't been printed.
    unprinted: usize,
    strings: Vec<&'b TextColumn>,
}

/// The assumed number of bytes of a value that hasn't been printed.
const UNPRINTED_BYTES: usize = 8;

impl<'b> LikelySize<'b> {
    fn new(batch: &'b Batch, common: &PlainPrograms) -> Self {
        let mut out = Self { literals: 0, unprinted: 0, strings: Vec::new() };
        for op in common.programs.iter().flat_map(|program| &program.ops) {
            match *op {
                Op::Lit(start, end) => out.literals += end - start,
                // Row numbers, which are made with the parts, follow the batch's columns.
                Op::Field(column) if column >= batch.columns.names.len() => out.unprinted += 1,
                Op::Field(column) => match batch.existing_texts(column).or_else(|| batch.unread(column)) {
                    Some(texts) => out.strings.push(texts),
                    None => out.unprinted += 1,
                },
                Op::Fragment(_) | Op::LineIf(_) => {}
            }
        }
        out
    }

    /// Return the least number of bytes of some rows: printing a value adds bytes, and escapes only lengthen.
    fn at_least(&self, rows: Range<usize>) -> usize {
        let strings = self.strings.iter().map(|texts| texts.total_length(rows.clone()));
        self.literals * rows.len() + strings.sum::<usize>()
    }

    /// Return the number of bytes to allocate for all of `rows`; those before `done` have `total` bytes.
    fn expected(&self, rows: &Range<usize>, printed_end: usize, total: usize) -> usize {
        let likely =
            |rows: Range<usize>| (self.at_least(rows.clone()) + UNPRINTED_BYTES * self.unprinted * rows.len()) as f64;
        let left = likely(printed_end..rows.end) / likely(rows.start..printed_end).max(1.0);
        // If other bytes make up most of the first rows, the strings don't predict the lengths of the other rows.
        let by_number = (rows.end - printed_end) as f64 / (printed_end - rows.start).max(1) as f64;
        total + (total as f64 * left.min(MAX_LONGER * by_number) * SPARE) as usize
    }
}
