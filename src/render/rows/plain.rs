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
use super::rows_apart::{FilledRows, RowsApart};
use super::sizes::stay_within;
use super::unread::{Unread, shown_by};
use crate::error::Result;
use crate::plan::{Op, Plans};
use crate::python_text::TextColumn;
use crate::render::input::{Batch, PythonCallbacks};
use crate::render::memory::{Bytes, TextOffsets, Texts};
use crate::threads;

/// The most rows whose values a thread prints at a time ...
const PART_ROWS: usize = 4096;
/// ... unless a row has few and short values: then this number of values is printed.
const PART_VALUES: usize = 4 * PART_ROWS;
/// The bytes of columns that are still in cache when they are read again.
const PART_BYTES: usize = 512 << 10;
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
        let part = |rows| Ok(Some(Part { batch: batch.slice(rows), filled: None }));
        return Ok(in_parts(batch, &part, most, &common, rows, limit)?.map_or(Attempt::No, Attempt::Texts));
    }
    let Some(unread) = Unread::new(batch, &common.programs) else { return Ok(Attempt::No) };
    let Some(all) = PlainRows::new(&common, &unread, rows.clone())? else { return Ok(Attempt::No) };
    let offsets = all.offsets(&RowsApart::default())?;
    // A value that is too long may become shorter if it names other values, which only rendering each row decides.
    if !stay_within(plans, rows.clone(), &offsets, batch.host.limits()) {
        return Ok(Attempt::No);
    }
    if all.total > limit {
        return Ok(Attempt::TooLong);
    }
    let mut bytes = Bytes::new(all.total)?;
    let end = all.write(&mut bytes, batch.host)?;
    if end == rows.end {
        return Ok(Attempt::Texts(Texts { offsets, bytes, is_plain: true, changed: Some(Vec::new()) }));
    }
    // What was written stays. The other rows are searched before they are written, part by part, so that they are still
    // in cache then.
    let mut written = WrittenParts::new(batch, &common, rows.clone(), limit);
    bytes.widen();
    written.total = offsets.get((end - rows.start) * all.texts_of_row());
    (written.bytes, written.copies, written.searches_first) = (bytes, Some(offsets), true);
    let read = unread.total_length(&rows) / rows.len().max(1);
    let most = (PART_BYTES / read.max(1)).clamp(MIN_PART_ROWS, PART_ROWS);
    let size = (rows.end - end).div_ceil(threads::count()).clamp(MIN_PART_ROWS, most);
    for group in threads::chunks(end..rows.end, size).chunks(threads::count()) {
        let part = |rows: &Range<usize>| BoundPart { first: 0, plain: &all, rows: rows.clone(), apart: None };
        if !written.write(group.iter().map(part).collect(), group.last().map_or(rows.end, |last| last.end))? {
            return Ok(Attempt::No);
        }
    }
    Ok(written.into_texts()?.map_or(Attempt::No, Attempt::Texts))
}

/// Some rows as a batch of their own, with the texts that they show.
pub struct Part<'b> {
    /// The rows, numbered from 0.
    pub batch: Batch<'b>,
    /// The rows that copying isn't enough for. None if that is still to be found out.
    pub filled: Option<FilledRows>,
}

/// Return some rows as a part; None if copying isn't enough.
pub type MakePart<'p, 'b> = &'p (dyn Fn(Range<usize>) -> Result<Option<Part<'b>>> + Sync);

/// Render the texts of rows `rows` of a batch as `part` makes them; None if not all of them are plain copies, or if
/// they exceed some limit.
///
/// # Errors
///
/// The error with which the host stops the work.
pub fn texts_of_parts(
    batch: &Batch,
    part: MakePart,
    plans: &Plans,
    rows: Range<usize>,
    limit: usize,
) -> Result<Option<Texts>> {
    let Some(common) = PlainPrograms::new(plans) else { return Ok(None) };
    in_parts(batch, part, PART_ROWS, &common, rows, limit)
}

/// Print the texts of rows in parts of at most `most` rows, with as many parts at a time as there are threads; None if
/// the texts aren't plain, or if they exceed some limit.
fn in_parts(
    batch: &Batch,
    part: MakePart,
    most: usize,
    common: &PlainPrograms,
    rows: Range<usize>,
    limit: usize,
) -> Result<Option<Texts>> {
    let mut written = WrittenParts::new(batch, common, rows.clone(), limit);
    if written.likely.at_least(rows.clone()) > written.limit {
        return Ok(None);
    }
    let size = rows.len().div_ceil(threads::count()).clamp(MIN_PART_ROWS, most);
    for parts in threads::chunks(rows.clone(), size).chunks(threads::count()) {
        let made = threads::try_map(parts.to_vec(), part)?;
        let Some(made) = made.into_iter().collect::<Option<Vec<Part>>>() else { return Ok(None) };
        let (batches, filled): (Vec<_>, Vec<_>) = made.into_iter().map(|part| (part.batch, part.filled)).unzip();
        let unread = threads::map(batches.iter().collect(), |part| Unread::new(part, &common.programs));
        let Some(unread) = unread.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let bind = |(unread, rows): (_, &Range<usize>)| PlainRows::new(common, unread, 0..rows.len());
        let bound = threads::map(unread.iter().zip(parts).collect(), bind);
        let Ok(Some(bound)) = bound.into_iter().collect::<Result<Option<Vec<_>>>>() else { return Ok(None) };
        let among = |((plain, filled), rows): ((_, Option<FilledRows>), &Range<usize>)| {
            let apart = filled.map(|filled| PlainRows::among(plain, filled));
            let is_among = !matches!(apart, Some(None));
            is_among.then(|| BoundPart { first: rows.start, plain, rows: plain.rows(), apart: apart.flatten() })
        };
        let bound = bound.iter().zip(filled).zip(parts).map(among).collect::<Option<Vec<_>>>();
        let Some(bound) = bound else { return Ok(None) };
        if !written.write(bound, parts.last().map_or(rows.end, |last| last.end))? {
            return Ok(None);
        }
    }
    written.into_texts()
}

/// Some rows that are bound to what they show.
struct BoundPart<'p> {
    /// The number of the batch's row from which on the rows count.
    first: usize,
    plain: &'p PlainRows<'p>,
    /// Those of the plain rows that are the part.
    rows: Range<usize>,
    /// The rows that copying isn't enough for, if that is known.
    apart: Option<RowsApart>,
}

/// Texts of some rows that are written part by part into a block that has room for all of them.
struct WrittenParts<'b> {
    likely: LikelySize<'b>,
    common: &'b PlainPrograms<'b>,
    rows: Range<usize>,
    host: &'b dyn PythonCallbacks,
    /// The most bytes of all texts.
    limit: usize,
    bytes: Bytes,
    total: usize,
    /// The offsets of all texts if they were copies; these stay within the limits.
    copies: Option<TextOffsets>,
    /// The offsets of each part's texts, if those of copies aren't known.
    offsets: Vec<TextOffsets>,
    /// True if parts are searched for placeholders before they are written, because a part before them had some.
    searches_first: bool,
    /// The rows that were filled in, and the lengths of their texts.
    filled: (Vec<usize>, Vec<usize>),
    changed: Vec<usize>,
}

impl<'b> WrittenParts<'b> {
    fn new(batch: &'b Batch, common: &'b PlainPrograms, rows: Range<usize>, limit: usize) -> Self {
        Self {
            likely: LikelySize::new(batch, common),
            common,
            rows,
            host: batch.host,
            limit: limit.min(batch.host.limits().batch_bytes),
            bytes: Bytes::default(),
            total: 0,
            copies: None,
            offsets: Vec::new(),
            searches_first: false,
            filled: (Vec::new(), Vec::new()),
            changed: Vec::new(),
        }
    }

    /// Write parts that follow those before, up to row `end`. Return false if copying and filling in isn't enough for
    /// them, or if they exceed some limit.
    ///
    /// # Errors
    ///
    /// The error with which the host stops the work.
    fn write<'p>(&mut self, mut parts: Vec<BoundPart<'p>>, end: usize) -> Result<bool> {
        let none = RowsApart::default();
        loop {
            if self.searches_first {
                let search = |mut part: BoundPart<'p>| -> Result<Option<BoundPart<'p>>> {
                    if part.apart.is_none() {
                        part.apart = part.plain.apart(&part.rows)?;
                    }
                    Ok(part.apart.is_some().then_some(part))
                };
                let searched = threads::try_map(parts, search)?;
                let Some(searched) = searched.into_iter().collect::<Option<Vec<_>>>() else { return Ok(false) };
                parts = searched;
            }
            let apart = |part: &'_ BoundPart| part.plain.total_with(&part.rows, part.apart.as_ref().unwrap_or(&none));
            let sizes: Vec<usize> = parts.iter().map(apart).collect();
            let mut offsets = Vec::new();
            if self.copies.is_none() {
                // If values are null or picked, the lengths of texts are found row by row, which takes as long as
                // copying some texts.
                let of_part = |part: &BoundPart| part.plain.offsets(part.apart.as_ref().unwrap_or(&none));
                let Ok(of_parts) = threads::try_map(parts.iter().collect(), of_part) else { return Ok(false) };
                let limits = self.host.limits();
                if !parts
                    .iter()
                    .zip(&of_parts)
                    .all(|(part, offsets)| stay_within(self.common.plans, part.rows.clone(), offsets, limits))
                {
                    return Ok(false);
                }
                offsets = of_parts;
            }
            let total = self.total + sizes.iter().sum::<usize>();
            if total > self.limit || !self.make_room(total, end) {
                return Ok(false);
            }
            let mut rest = &mut self.bytes[self.total..total];
            let mut work = Vec::with_capacity(parts.len());
            for (part, size) in parts.iter().zip(sizes) {
                let (output, after) = rest.split_at_mut(size);
                work.push((part, output));
                rest = after;
            }
            let host = self.host;
            let write = |(part, output): (&BoundPart, &mut [u8])| -> Result<bool> {
                let Some(apart) = &part.apart else { return Ok(part.plain.write(output, host)? == part.rows.end) };
                host.check()?;
                part.plain.write_with(&part.rows, apart, output);
                Ok(true)
            };
            if !threads::try_map(work, write)?.into_iter().all(|is_written| is_written) {
                self.searches_first = true;
                continue;
            }
            self.total = total;
            self.offsets.append(&mut offsets);
            for (first, apart) in parts.iter().filter_map(|part| Some((part.first, part.apart.as_ref()?))) {
                let FilledRows { rows, lengths, changed, .. } = apart.filled();
                self.filled.0.extend(rows.iter().map(|row| first + row));
                self.filled.1.extend(lengths);
                self.changed.extend(changed.iter().map(|row| first + row));
            }
            return Ok(true);
        }
    }

    /// Make room for `total` bytes, after which rows from `end` on follow; false if there is none. The exact amount may
    /// still be allocated: the caller measures all texts first.
    fn make_room(&mut self, total: usize, end: usize) -> bool {
        if total <= self.bytes.len() {
            return true;
        }
        let Ok(mut larger) = Bytes::new(self.likely.expected(&self.rows, end, total).min(self.limit)) else {
            return false;
        };
        larger[..self.total].copy_from_slice(&self.bytes[..self.total]);
        self.bytes = larger;
        true
    }

    /// Return all texts; None if they are too long for their offsets.
    fn into_texts(mut self) -> Result<Option<Texts>> {
        self.bytes.truncate(self.total);
        let (filled, lengths) = &self.filled;
        let each = self.common.programs.len();
        let offsets = match self.copies {
            None => TextOffsets::joined(&self.offsets, self.total)?,
            Some(mut offsets) => {
                let first = |row: &usize| (row - self.rows.start) * each;
                let texts = filled.iter().flat_map(|row| first(row)..first(row) + each).zip(lengths.iter().copied());
                if !offsets.give_lengths(texts, self.total) {
                    return Ok(None);
                }
                offsets
            }
        };
        Ok(Some(Texts { offsets, bytes: self.bytes, is_plain: filled.is_empty(), changed: Some(self.changed) }))
    }
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
