//! Spans of requests as an Arrow array, with a list of spans for each request: the spans are counted first, then
//! written.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::nullable::{NULL, aligned, nullable};
use super::origin_codes::OriginCodes;
use crate::error::{Code, Error, Result};
use crate::render::memory::{Bytes, reserved};
use crate::template::SOURCES;

/// The detail of each span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spans {
    /// No spans are wanted.
    #[default]
    None,
    /// The origin of each span, without details.
    Sources,
    /// The column, the example and the role too.
    Detailed,
}

/// The fields of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::render) struct SpanType {
    /// The number of the message.
    pub(in crate::render) messages: bool,
    /// The number of the part within it.
    pub(in crate::render) parts: bool,
    /// Column, example and role.
    pub(in crate::render) detailed: bool,
    pub(in crate::render) positions: PositionType,
}

/// The type of positions in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::render) enum PositionType {
    /// 32 bits.
    Narrow,
    /// 64 bits: a text may have 2 GiB or more.
    Wide,
}

impl SpanType {
    /// Return the type of a request's spans.
    pub(in crate::render) fn data_type(self) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(DataType::Struct(self.fields()), true)))
    }

    fn fields(self) -> Fields {
        let text = |index: DataType| DataType::Dictionary(Box::new(index), Box::new(DataType::Utf8));
        let mut fields = Vec::new();
        if self.messages {
            fields.push(Field::new("message", DataType::Int32, true));
        }
        if self.parts {
            fields.push(Field::new("part", DataType::Int32, true));
        }
        let position = match self.positions {
            PositionType::Narrow => DataType::Int32,
            PositionType::Wide => DataType::Int64,
        };
        fields.push(Field::new("start", position.clone(), true));
        fields.push(Field::new("end", position, true));
        fields.push(Field::new("source", text(DataType::Int8), true));
        if self.detailed {
            fields.push(Field::new("column", text(DataType::Int32), true));
            fields.push(Field::new("example", DataType::Int32, true));
            fields.push(Field::new("role", text(DataType::Int32), true));
        }
        fields.into()
    }
}

/// Marks a message without parts.
pub(in crate::render) const NO_PART: i32 = NULL;

/// The text of a request that a span lies in: the number of the message, and of its part.
pub(in crate::render) type TextPosition = (i32, i32);

/// A span.
#[derive(Clone, Copy, Debug)]
pub(in crate::render) struct Span {
    pub(in crate::render) start: i64,
    pub(in crate::render) end: i64,
    /// The number of the origin.
    pub(in crate::render) origin: u32,
    pub(in crate::render) text: TextPosition,
}

/// Takes the stretches of requests' texts, in order, and joins those that form a single span.
pub(in crate::render) struct Stretches<F> {
    open: Option<Span>,
    text: TextPosition,
    position: i64,
    each: F,
}

impl<F: FnMut(Span)> Stretches<F> {
    /// Gives each span to `each`.
    pub(in crate::render) fn new(each: F) -> Self {
        Self { open: None, text: (0, NO_PART), position: 0, each }
    }

    /// Begin another text.
    #[inline]
    pub(in crate::render) fn text(&mut self, text: TextPosition) {
        self.end();
        (self.position, self.text) = (0, text);
    }

    /// Add a stretch of the text; one that goes on as the last is the same span.
    #[inline]
    pub(in crate::render) fn add(&mut self, bytes: usize, origin: u32) {
        if bytes == 0 {
            return;
        }
        let end = self.position + bytes as i64;
        match &mut self.open {
            Some(open) if open.origin == origin => open.end = end,
            _ => {
                self.end();
                self.open = Some(Span { start: self.position, end, origin, text: self.text });
            }
        }
        self.position = end;
    }

    /// Give the last span to `each`, if there is any.
    #[inline]
    pub(in crate::render) fn end(&mut self) {
        if let Some(open) = self.open.take() {
            (self.each)(open);
        }
    }
}

/// Consecutive spans of a block that the length of one field moves.
pub(in crate::render) struct SpanRun {
    pub(in crate::render) spans: Range<usize>,
    /// The number of the field, whose bytes lie in the first span.
    pub(in crate::render) field: Option<usize>,
    /// True if the first span is the first of its text.
    pub(in crate::render) opens_text: bool,
}

impl SpanRun {
    /// Return true if no field moves the spans.
    pub(in crate::render) fn is_constant(&self) -> bool {
        self.opens_text && self.field.is_none()
    }
}

/// The spans that many requests have, as if fields had no bytes.
pub(in crate::render) struct SpanBlock<'b> {
    runs: &'b [SpanRun],
    starts: Vec<i64>,
    ends: Vec<i64>,
    sources: Vec<[u8; 1]>,
    numbers: [Vec<[u8; 4]>; NUMBERS],
}

impl<'b> SpanBlock<'b> {
    /// Make a block of spans and their runs.
    pub(in crate::render) fn new(spans: &[Span], runs: &'b [SpanRun], codes: &OriginCodes) -> Self {
        let of_origins = |codes: &[i32]| spans.iter().map(|span| codes[span.origin as usize].to_ne_bytes()).collect();
        Self {
            runs,
            starts: spans.iter().map(|span| span.start).collect(),
            ends: spans.iter().map(|span| span.end).collect(),
            sources: spans.iter().map(|span| codes.sources[span.origin as usize].to_ne_bytes()).collect(),
            numbers: [
                spans.iter().map(|span| span.text.0.to_ne_bytes()).collect(),
                spans.iter().map(|span| span.text.1.to_ne_bytes()).collect(),
                of_origins(&codes.columns),
                of_origins(&codes.examples),
                of_origins(&codes.roles),
            ],
        }
    }

    /// Write the positions of some requests' spans; `lengths` are those of the first field in all requests, then those of
    /// the next.
    fn write_positions<const N: usize>(
        &self,
        starts: &mut [[u8; N]],
        ends: &mut [[u8; N]],
        lengths: &[i64],
        convert: impl Fn(i64) -> [u8; N] + Copy,
    ) {
        let (spans, count) = (self.starts.len(), starts.len() / self.starts.len());
        let mut first = 0;
        for (starts, ends) in starts.chunks_mut(BLOCK_REQUESTS * spans).zip(ends.chunks_mut(BLOCK_REQUESTS * spans)) {
            let shifts = &mut [0; BLOCK_REQUESTS][..starts.len() / spans];
            for run in self.runs {
                let (span, rest) = (run.spans.start, run.spans.start + 1..run.spans.end);
                if run.opens_text {
                    shifts.fill(0);
                }
                add_shifts(starts, spans, span..span + 1, &self.starts, shifts, convert);
                if let Some(field) = run.field {
                    shifts
                        .iter_mut()
                        .zip(&lengths[field * count + first..])
                        .for_each(|(shift, length)| *shift += length);
                }
                add_shifts(starts, spans, rest, &self.starts, shifts, convert);
                add_shifts(ends, spans, run.spans.clone(), &self.ends, shifts, convert);
            }
            first += shifts.len();
        }
    }
}

/// The number of requests whose positions are written at a time: they stay in the cache.
const BLOCK_REQUESTS: usize = 64;
/// From so many spans on, they are written request by request, and not span by span.
const LONG_RUN: usize = 8;

/// Write a range of positions of requests with `spans` positions each: the constant ones, with a request's shift added.
#[inline]
fn add_shifts<const N: usize>(
    out: &mut [[u8; N]],
    spans: usize,
    range: Range<usize>,
    constant: &[i64],
    shifts: &[i64],
    convert: impl Fn(i64) -> [u8; N],
) {
    if range.len() < LONG_RUN {
        for span in range {
            let constant = constant[span];
            for (out, shift) in out.chunks_exact_mut(spans).zip(shifts) {
                out[span] = convert(constant + shift);
            }
        }
        return;
    }
    for (out, shift) in out.chunks_exact_mut(spans).zip(shifts) {
        for (slot, constant) in out[range.clone()].iter_mut().zip(&constant[range.clone()]) {
            *slot = convert(constant + shift);
        }
    }
}

/// The number of columns of 32 bits next to the positions: message, part, column, example and role.
const NUMBERS: usize = 5;

/// The columns of all spans, to be written.
pub(in crate::render) struct SpanColumns {
    of: SpanType,
    spans: usize,
    offsets: Vec<i32>,
    starts: Bytes,
    ends: Bytes,
    sources: Bytes,
    /// Those that aren't wanted are empty.
    numbers: [Bytes; NUMBERS],
}

/// The slots of positions.
enum Positions<'s> {
    Narrow(&'s mut [[u8; 4]]),
    Wide(&'s mut [[u8; 8]]),
}

impl<'s> Positions<'s> {
    fn new(bytes: &'s mut Bytes, of: PositionType) -> Self {
        match of {
            PositionType::Narrow => Self::Narrow(bytes.as_chunks_mut().0),
            PositionType::Wide => Self::Wide(bytes.as_chunks_mut().0),
        }
    }

    fn first(&mut self, count: usize) -> Self {
        match self {
            Self::Narrow(slots) => Self::Narrow(first(slots, count)),
            Self::Wide(slots) => Self::Wide(first(slots, count)),
        }
    }

    #[inline]
    fn set(&mut self, position: usize, value: i64) {
        match self {
            Self::Narrow(slots) => slots[position] = (value as i32).to_ne_bytes(),
            Self::Wide(slots) => slots[position] = value.to_ne_bytes(),
        }
    }
}

/// The slots of some requests' spans.
pub(in crate::render) struct SpanSlots<'s> {
    starts: Positions<'s>,
    ends: Positions<'s>,
    sources: &'s mut [[u8; 1]],
    numbers: [&'s mut [[u8; 4]]; NUMBERS],
    codes: &'s OriginCodes<'s>,
    position: usize,
}

impl SpanColumns {
    /// Reserve room for the spans of requests; `counts` are the numbers of spans of each request.
    ///
    /// # Errors
    ///
    /// `RenderError` if the spans exceed the size of an array, or if the memory can't be allocated.
    pub(in crate::render) fn new<'c>(counts: impl Iterator<Item = &'c [u32]> + Clone, of: SpanType) -> Result<Self> {
        let requests: usize = counts.clone().map(<[u32]>::len).sum();
        let spans: usize = counts.clone().flatten().map(|count| *count as usize).sum();
        if i32::try_from(spans).is_err() {
            let message = format!("{spans} spans are more than one array can hold; give smaller batches");
            return Err(Error::render(Code::OffsetOverflow, message));
        }
        let mut offsets = reserved(requests + 1)?;
        let mut offset = 0;
        offsets.push(0);
        for count in counts.flatten() {
            offset += *count as i32;
            offsets.push(offset);
        }
        let positions = || match of.positions {
            PositionType::Narrow => Bytes::new(spans * size_of::<i32>()),
            PositionType::Wide => Bytes::new(spans * size_of::<i64>()),
        };
        let numbers = |wanted: bool| if wanted { Bytes::new(spans * 4) } else { Ok(Bytes::default()) };
        Ok(Self {
            starts: positions()?,
            ends: positions()?,
            sources: Bytes::new(spans)?,
            numbers: [
                numbers(of.messages)?,
                numbers(of.parts)?,
                numbers(of.detailed)?,
                numbers(of.detailed)?,
                numbers(of.detailed)?,
            ],
            of,
            spans,
            offsets,
        })
    }

    /// Split the room into slots for these numbers of spans.
    pub(in crate::render) fn slots<'s>(
        &'s mut self,
        counts: impl Iterator<Item = usize>,
        codes: &'s OriginCodes,
    ) -> Vec<SpanSlots<'s>> {
        let mut rest = SpanSlots {
            starts: Positions::new(&mut self.starts, self.of.positions),
            ends: Positions::new(&mut self.ends, self.of.positions),
            sources: self.sources.as_chunks_mut().0,
            numbers: self.numbers.each_mut().map(|bytes| bytes.as_chunks_mut().0),
            codes,
            position: 0,
        };
        counts
            .map(|count| SpanSlots {
                starts: rest.starts.first(count),
                ends: rest.ends.first(count),
                sources: first(&mut rest.sources, count),
                numbers: rest.numbers.each_mut().map(|slots| first(slots, count)),
                codes,
                position: 0,
            })
            .collect()
    }

    /// Return the array of spans.
    ///
    /// # Errors
    ///
    /// `RenderError` if the memory can't be allocated, or if the spans are inconsistent, which is a bug.
    pub(in crate::render) fn array(self, codes: &OriginCodes) -> Result<ArrayRef> {
        let [messages, parts, columns_of_table, examples, roles] = self.numbers;
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.of.messages {
            columns.push(Arc::new(Int32Array::new(aligned(messages, self.spans), None)));
        }
        if self.of.parts {
            columns.push(Arc::new(nullable(parts)?));
        }
        for numbers in [self.starts, self.ends] {
            columns.push(match self.of.positions {
                PositionType::Narrow => Arc::new(Int32Array::new(aligned(numbers, self.spans), None)),
                PositionType::Wide => Arc::new(Int64Array::new(aligned(numbers, self.spans), None)),
            });
        }
        let names = Arc::new(SOURCES.iter().map(|source| Some(source.name())).collect::<StringArray>());
        let sources = Int8Array::new(aligned(self.sources, self.spans), None);
        let sources = DictionaryArray::<Int8Type>::try_new(sources, names);
        columns.push(Arc::new(sources.map_err(|e| internal(&e))?));
        if self.of.detailed {
            columns.push(texts(columns_of_table, &codes.column_names)?);
            columns.push(Arc::new(nullable(examples)?));
            columns.push(texts(roles, &codes.role_names)?);
        }
        let spans = StructArray::try_new(self.of.fields(), columns, None).map_err(|e| internal(&e))?;
        let field = Arc::new(Field::new_list_field(spans.data_type().clone(), true));
        let lists = ListArray::try_new(field, OffsetBuffer::new(self.offsets.into()), Arc::new(spans), None);
        Ok(Arc::new(lists.map_err(|e| internal(&e))?))
    }
}

impl SpanSlots<'_> {
    /// Write the next span.
    #[inline]
    pub(in crate::render) fn write(&mut self, span: Span) {
        let position = self.position;
        self.starts.set(position, span.start);
        self.ends.set(position, span.end);
        let (codes, origin) = (self.codes, span.origin as usize);
        self.sources[position] = codes.sources[origin].to_ne_bytes();
        let (message, part) = span.text;
        let numbers = [message, part, codes.columns[origin], codes.examples[origin], codes.roles[origin]];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            if let Some(slot) = column.get_mut(position) {
                *slot = number.to_ne_bytes();
            }
        }
        self.position = position + 1;
    }

    /// Write the next `count` requests' spans, which are those of a block; `lengths` are those of the first field in all
    /// requests, then those of the next.
    pub(in crate::render) fn write_block(&mut self, block: &SpanBlock, count: usize, lengths: &[i64]) {
        let spans = self.position..self.position + count * block.starts.len();
        self.position = spans.end;
        if spans.is_empty() {
            return;
        }
        repeat(&block.sources, &mut self.sources[spans.clone()]);
        for (pattern, column) in block.numbers.iter().zip(&mut self.numbers) {
            if let Some(out) = column.get_mut(spans.clone()) {
                repeat(pattern, out);
            }
        }
        match (&mut self.starts, &mut self.ends) {
            (Positions::Narrow(starts), Positions::Narrow(ends)) => {
                let (starts, ends) = (&mut starts[spans.clone()], &mut ends[spans]);
                block.write_positions(starts, ends, lengths, |value| (value as i32).to_ne_bytes());
            }
            (Positions::Wide(starts), Positions::Wide(ends)) => {
                let (starts, ends) = (&mut starts[spans.clone()], &mut ends[spans]);
                block.write_positions(starts, ends, lengths, i64::to_ne_bytes);
            }
            _ => {}
        }
    }
}

/// Fill the output with a pattern, again and again. What is written is copied, so that a short pattern costs as little
/// as a long one.
fn repeat<T: Copy>(pattern: &[T], out: &mut [T]) {
    let mut written = pattern.len().min(out.len());
    out[..written].copy_from_slice(&pattern[..written]);
    while written > 0 && written < out.len() {
        let more = written.min(out.len() - written);
        out.copy_within(..more, written);
        written += more;
    }
}

/// Cut the first elements off; an empty column that isn't wanted gives none.
#[allow(clippy::mut_mut, reason = "the rest is shortened")]
fn first<'s, T>(rest: &mut &'s mut [T], count: usize) -> &'s mut [T] {
    let count = count.min(rest.len());
    rest.split_off_mut(..count).unwrap_or_default()
}

/// Return the texts that codes stand for.
fn texts(codes: Bytes, names: &[&str]) -> Result<ArrayRef> {
    let names = Arc::new(names.iter().map(Some).collect::<StringArray>());
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(nullable(codes)?, names).map_err(|e| internal(&e))?))
}

fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}
