//! The tokens of some rows, and their Arrow columns.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::offsets::Span;
use crate::error::{Code, Error, Result};
use crate::threads;

/// The label of a token that isn't trained, as PyTorch and transformers have it.
const NOT_TRAINED: i32 = -100;

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Its tokens are here.
    Encoded,
    /// The tokens of this text aren't certain here.
    Open,
    /// The row has no text.
    Null,
}

/// The tokens of some rows.
#[derive(Debug, Default)]
pub struct TokenRows {
    pub(super) ids: Vec<i32>,
    /// The bytes of each token, if they were asked for.
    pub(super) spans: Option<Vec<Span>>,
    rows: Vec<(Row, Range<usize>)>,
    /// Special tokens before and after each row, but not before one that begins with the first of them, unless `always`.
    around: (Vec<i32>, Vec<i32>),
    always: bool,
}

/// The tokens that stay of a row with too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The row has none, and is told.
    Refuse,
    /// The last ones.
    Left,
    /// The first ones.
    Right,
    /// The first half and the last half; the last has one more if their number is odd.
    Middle,
}

/// The Arrow columns of some rows.
pub struct Columns {
    /// The ids: a list of int32 for each row.
    pub ids: ArrayRef,
    /// The number of tokens of each row (int32).
    pub counts: ArrayRef,
    /// True for each token that is trained, if spans that are trained were given.
    pub mask: Option<ArrayRef>,
    /// The id of each trained token, -100 for others.
    pub labels: Option<ArrayRef>,
    /// The bytes of each token, as structs of `start` and `end` (int64), if they are known.
    pub offsets: Option<ArrayRef>,
    /// True for each row of which tokens were left out.
    pub truncated: ArrayRef,
    /// The rows with too many tokens, and how many they have.
    pub too_long: Vec<(usize, usize)>,
    /// The number of rows of which no token is trained.
    pub untrained: usize,
}

/// One token: its id, and its bytes.
type Token = (i32, Span);

impl TokenRows {
    /// Return the number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Make rows without a row.
    pub(super) fn new(with_spans: bool) -> Self {
        Self { spans: with_spans.then(Vec::new), ..Self::default() }
    }

    /// End a row, whose tokens have been appended.
    pub(super) fn end(&mut self, row: Row) {
        let start = self.rows.last().map_or(0, |(_, range)| range.end);
        self.rows.push((row, start..self.ids.len()));
    }

    /// Drop the tokens after the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.ids.truncate(count);
        if let Some(spans) = &mut self.spans {
            spans.truncate(count);
        }
    }

    /// Return the rows of several, one after the other.
    pub(super) fn joined(parts: &[Self], with_spans: bool) -> Self {
        let mut out = Self::new(with_spans);
        out.ids = concatenated(parts.iter().map(|part| part.ids.as_slice()).collect());
        if with_spans {
            out.spans =
                Some(concatenated(parts.iter().map(|part| part.spans.as_deref().unwrap_or_default()).collect()));
        }
        out.rows.reserve_exact(parts.iter().map(|part| part.rows.len()).sum());
        let mut start = 0;
        for part in parts {
            let moved = |(row, range): &(Row, Range<usize>)| (*row, range.start + start..range.end + start);
            out.rows.extend(part.rows.iter().map(moved));
            start += part.ids.len();
        }
        out
    }

    /// Make rows that another engine has to fill. A row is null where `nulls` says so.
    pub fn open(nulls: Option<&NullBuffer>, len: usize, with_spans: bool) -> Self {
        let mut out = Self::new(with_spans);
        for row in 0..len {
            out.end(if nulls.is_some_and(|nulls| nulls.is_null(row)) { Row::Null } else { Row::Open });
        }
        out
    }

    /// Return the numbers of the rows whose tokens another engine has to make.
    pub fn open_rows(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|row| self.rows[*row].0 == Row::Open).collect()
    }

    /// Return the ids of a row, without special tokens around them; None if they aren't known.
    pub fn ids(&self, row: usize) -> Option<&[i32]> {
        let (row, range) = self.rows.get(row)?;
        (*row == Row::Encoded).then(|| &self.ids[range.clone()])
    }

    /// Return the bytes of each token of a row: the first, and the one after the last. None if they aren't known.
    pub fn spans(&self, row: usize) -> Option<&[[u32; 2]]> {
        let (row, range) = self.rows.get(row)?;
        self.spans.as_ref().filter(|_| *row == Row::Encoded).map(|spans| &spans[range.clone()])
    }

    /// Set the tokens of a row: ids, and the first byte of each and the one after its last, if they are asked for.
    ///
    /// # Errors
    ///
    /// `RenderError` if there is no such row, or the numbers of ids and of bytes differ.
    pub fn fill(&mut self, row: usize, ids: &[i32], starts: &[u32], ends: &[u32]) -> Result<()> {
        let wrong = || Error::render(Code::InternalError, "tokens for no row, or without their bytes");
        if self.spans.is_some() && (starts.len() != ids.len() || ends.len() != ids.len()) {
            return Err(wrong());
        }
        let start = self.ids.len();
        *self.rows.get_mut(row).ok_or_else(wrong)? = (Row::Encoded, start..start + ids.len());
        self.ids.extend_from_slice(ids);
        if let Some(all) = &mut self.spans {
            all.extend(starts.iter().zip(ends).map(|(start, end)| [*start, *end]));
        }
        Ok(())
    }

    /// Set the special tokens around each row; `always` also around one that begins with the first of them.
    pub fn surround(&mut self, before: Vec<i32>, after: Vec<i32>, always: bool) {
        self.around = (before, after);
        self.always = always;
    }

    /// Return the columns, and give up the rows.
    ///
    /// Arguments: the stretches of each row that are trained (a list of structs of int64 `start` and `end`); whether
    /// labels are asked for; the most tokens of a row, and which stay of more; the rows that have no tokens, because
    /// something else is wrong with them, in order.
    ///
    /// # Errors
    ///
    /// `RenderError` if there are more tokens than one array can hold.
    pub fn columns(
        self,
        trained: Option<&ArrayRef>,
        with_labels: bool,
        most: Option<usize>,
        cut: Cut,
        failed: &[usize],
    ) -> Result<Columns> {
        let trained = trained.map(Trained::new).transpose()?;
        let rows = self.rows.len();
        let mut ends = vec![0];
        let mut counts = Vec::with_capacity(rows);
        let (mut valid, mut cuts) = (BooleanBufferBuilder::new(rows), BooleanBufferBuilder::new(rows));
        let (mut too_long, mut kept) = (Vec::new(), Vec::with_capacity(rows));
        let mut end = 0;
        for (number, (row, range)) in self.rows.iter().enumerate() {
            let around = *row == Row::Encoded && self.is_surrounded(&self.ids[range.clone()]);
            let count = range.len() + if around { self.around.0.len() + self.around.1.len() } else { 0 };
            let mut is_valid = *row == Row::Encoded && failed.binary_search(&number).is_err();
            let is_long = is_valid && most.is_some_and(|most| count > most);
            if is_long && cut == Cut::Refuse {
                too_long.push((number, count));
                is_valid = false;
            }
            let stays = if is_valid { count.min(most.unwrap_or(count)) } else { 0 };
            end += stays;
            let narrow = i32::try_from(end).map_err(|_| {
                Error::render(
                    Code::OffsetOverflow,
                    "the tokens of one batch pass what one array can hold: give smaller batches",
                )
            })?;
            ends.push(narrow);
            counts.push(stays as i32);
            valid.append(is_valid);
            cuts.append(is_long && is_valid);
            kept.push((around, count, stays));
        }
        let nulls = Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0);
        let lists = Lists { offsets: OffsetBuffer::new(ScalarBuffer::from(ends)), nulls: nulls.clone() };
        // Ids that stand as they are needed needn't be copied.
        let is_plain = end == self.ids.len()
            && self
                .rows
                .iter()
                .zip(&kept)
                .all(|((_, range), (_, count, stays))| count == stays && range.len() == *count)
            && self.rows.windows(2).all(|rows| rows[0].1.end == rows[1].1.start);
        let (mut mask, mut untrained) = (BooleanBufferBuilder::new(0), 0);
        let (mut ids, mut starts, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        if !is_plain || trained.is_some() || self.spans.is_some() {
            ids.reserve_exact(end);
            let mut tokens = Vec::new();
            let (mut of_row, mut wanted) = (Vec::new(), Vec::new());
            for (number, (around, count, stays)) in kept.iter().enumerate() {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(number)) {
                    continue;
                }
                self.tokens(number, *around, &mut tokens);
                of_row.clear();
                if let Some(trained) = &trained {
                    trained.spans(number, &mut wanted);
                    mark(&tokens, &wanted, &mut of_row);
                }
                let mut is_trained = false;
                for range in ranges(*count, *stays, cut) {
                    ids.extend(tokens[range.clone()].iter().map(|(id, _)| *id));
                    if self.spans.is_some() {
                        starts.extend(tokens[range.clone()].iter().map(|(_, [start, _])| i64::from(*start)));
                        stops.extend(tokens[range.clone()].iter().map(|(_, [_, stop])| i64::from(*stop)));
                    }
                    if trained.is_some() {
                        mask.append_slice(&of_row[range.clone()]);
                        is_trained |= of_row[range].contains(&true);
                    }
                }
                untrained += usize::from(trained.is_some() && !is_trained);
            }
        } else {
            ids = self.ids;
        }
        let mask = trained.map(|_| mask.finish());
        let labels = mask.as_ref().filter(|_| with_labels).map(|mask| {
            let label = |(id, is_trained): (&i32, bool)| if is_trained { *id } else { NOT_TRAINED };
            lists.of(Arc::new(Int32Array::from_iter_values(ids.iter().zip(mask.iter()).map(label))))
        });
        let offsets = self.spans.map(|_| {
            let fields = ["start", "end"].map(|name| Field::new(name, DataType::Int64, true));
            let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(starts)), Arc::new(Int64Array::from(stops))];
            lists.of(Arc::new(StructArray::new(Fields::from(fields.to_vec()), columns, None)))
        });
        Ok(Columns {
            ids: lists.of(Arc::new(Int32Array::from(ids))),
            counts: Arc::new(Int32Array::new(counts.into(), nulls.clone())),
            mask: mask.map(|mask| lists.of(Arc::new(BooleanArray::new(mask, None)))),
            labels,
            offsets,
            truncated: Arc::new(BooleanArray::new(cuts.finish(), nulls)),
            too_long,
            untrained,
        })
    }

    /// Return true if special tokens stand around a row with these ids.
    fn is_surrounded(&self, ids: &[i32]) -> bool {
        let (before, after) = &self.around;
        (!before.is_empty() || !after.is_empty()) && (self.always || before.is_empty() || ids.first() != before.first())
    }

    /// Put the tokens of a row into `out`.
    fn tokens(&self, row: usize, is_surrounded: bool, out: &mut Vec<Token>) {
        out.clear();
        let range = self.rows[row].1.clone();
        let special = |id: &i32| (*id, [0, 0]);
        if is_surrounded {
            out.extend(self.around.0.iter().map(special));
        }
        match &self.spans {
            Some(spans) => out.extend(self.ids[range.clone()].iter().copied().zip(spans[range].iter().copied())),
            None => out.extend(self.ids[range].iter().map(special)),
        }
        if is_surrounded {
            out.extend(self.around.1.iter().map(special));
        }
    }
}

/// Return the values of several slices in one vector. Each thread copies some of them.
fn concatenated<T: Copy + Default + Send + Sync>(parts: Vec<&[T]>) -> Vec<T> {
    let mut out = vec![T::default(); parts.iter().map(|part| part.len()).sum()];
    let mut rest = out.as_mut_slice();
    let mut copies = Vec::with_capacity(parts.len());
    for part in parts {
        let (first, others) = rest.split_at_mut(part.len());
        copies.push((first, part));
        rest = others;
    }
    threads::map(copies, |(to, from)| to.copy_from_slice(from));
    out
}

/// Return the ranges of tokens that stay of a row.
fn ranges(count: usize, stays: usize, cut: Cut) -> [Range<usize>; 2] {
    let first = match cut {
        Cut::Left => 0,
        Cut::Middle => stays / 2,
        Cut::Right | Cut::Refuse => stays,
    };
    [0..first, count - (stays - first)..count]
}

/// The offsets and nulls of columns of lists.
struct Lists {
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
}

impl Lists {
    fn of(&self, values: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(ListArray::new(field, self.offsets.clone(), values, self.nulls.clone()))
    }
}

/// The stretches of each row that are trained.
struct Trained {
    offsets: OffsetBuffer<i32>,
    starts: Int64Array,
    stops: Int64Array,
}

impl Trained {
    fn new(array: &ArrayRef) -> Result<Self> {
        let wrong = || Error::render(Code::InternalError, "stretches are lists of structs of two int64");
        let lists = array.as_list_opt::<i32>().ok_or_else(wrong)?;
        let [starts, stops] = lists.values().as_struct_opt().ok_or_else(wrong)?.columns() else {
            return Err(wrong());
        };
        let numbers = |array: &ArrayRef| array.as_primitive_opt::<Int64Type>().cloned().ok_or_else(wrong);
        Ok(Self { offsets: lists.offsets().clone(), starts: numbers(starts)?, stops: numbers(stops)? })
    }

    /// Put the stretches of a row into `out`.
    fn spans(&self, row: usize, out: &mut Vec<(i64, i64)>) {
        out.clear();
        let Some([start, end]) = self.offsets.get(row..row + 2) else { return };
        out.extend((*start as usize..*end as usize).map(|span| (self.starts.value(span), self.stops.value(span))));
    }
}

/// Put into `out` whether each token overlaps a stretch, by the rule of transformers 5.24. Stretches are in order.
fn mark(tokens: &[Token], spans: &[(i64, i64)], out: &mut Vec<bool>) {
    let (mut next, mut last) = (0, 0);
    for (_, [start, end]) in tokens {
        let (start, end) = (i64::from(*start), i64::from(*end));
        // Tokens may stand in another order than their bytes; then all stretches are looked at.
        if start < last {
            next = 0;
        }
        last = start;
        while spans.get(next).is_some_and(|(_, stop)| *stop <= start) {
            next += 1;
        }
        out.push(spans[next..].iter().take_while(|(begin, _)| *begin < end).any(|(_, stop)| start < *stop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[i32]]) -> TokenRows {
        let mut out = TokenRows::new(false);
        for ids in rows {
            out.ids.extend_from_slice(ids);
            out.end(Row::Encoded);
        }
        out
    }

    fn lists(array: &ArrayRef) -> Vec<Option<Vec<i32>>> {
        let lists = array.as_list::<i32>();
        let values = |list: ArrayRef| list.as_primitive::<arrow_array::types::Int32Type>().values().to_vec();
        lists.iter().map(|list| list.map(values)).collect()
    }

    #[test]
    fn rows_with_too_many_tokens_are_cut_or_told() {
        let columns = |cut| rows(&[&[1, 2, 3, 4], &[5]]).columns(None, false, Some(3), cut, &[]).unwrap();
        for (cut, ids) in [(Cut::Left, [2, 3, 4]), (Cut::Right, [1, 2, 3]), (Cut::Middle, [1, 3, 4])] {
            assert_eq!(lists(&columns(cut).ids), [Some(ids.to_vec()), Some(vec![5])]);
        }
        let refused = columns(Cut::Refuse);
        assert_eq!(lists(&refused.ids), [None, Some(vec![5])]);
        assert_eq!(refused.too_long, [(0, 4)]);
    }

    #[test]
    fn special_tokens_stand_around_rows_that_have_none() {
        let surrounded = |always| {
            let mut rows = rows(&[&[7, 1], &[1], &[]]);
            rows.surround(vec![7], vec![8], always);
            lists(&rows.columns(None, false, None, Cut::Refuse, &[]).unwrap().ids)
        };
        assert_eq!(surrounded(false), [Some(vec![7, 1]), Some(vec![7, 1, 8]), Some(vec![7, 8])]);
        assert_eq!(surrounded(true)[0], Some(vec![7, 7, 1, 8]));
    }

    #[test]
    fn rows_are_filled_in() {
        let mut rows = TokenRows::open(Some(&NullBuffer::from(vec![true, false, true])), 3, false);
        assert_eq!(rows.open_rows(), [0, 2]);
        rows.fill(2, &[5, 6], &[], &[]).unwrap();
        assert_eq!(rows.ids(2), Some(&[5, 6][..]));
        assert!(rows.fill(3, &[], &[], &[]).is_err());
        let columns = rows.columns(None, false, None, Cut::Refuse, &[]).unwrap();
        assert_eq!(lists(&columns.ids), [None, None, Some(vec![5, 6])]);
    }

    #[test]
    fn tokens_that_overlap_a_stretch_are_trained() {
        let marked = |spans: &[(i64, i64)]| {
            let mut out = Vec::new();
            mark(&[(0, [0, 0]), (1, [0, 3]), (2, [3, 4]), (3, [4, 9]), (4, [0, 0])], spans, &mut out);
            out
        };
        assert_eq!(marked(&[(3, 5)]), [false, false, true, true, false]);
        assert_eq!(marked(&[(0, 1), (8, 9)]), [false, true, false, true, false]);
        assert_eq!(marked(&[(0, 9), (3, 4)]), [false, true, true, true, false]);
    }
}
