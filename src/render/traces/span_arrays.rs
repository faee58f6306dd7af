//! Spans of requests as an Arrow array, with a list of spans for each request: the spans are counted first, then
//! written.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Code, Error, Result};
use crate::render::memory::{Bytes, reserved};
use crate::template::{Origin, SOURCES};

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
pub(in crate::render) const NO_PART: i32 = -1;

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
    origins: Vec<[u8; 4]>,
    messages: Vec<[u8; 4]>,
    parts: Vec<[u8; 4]>,
}

impl<'b> SpanBlock<'b> {
    /// Make a block of spans and their runs; `sources` are those of origins, by number.
    pub(in crate::render) fn new(spans: &[Span], runs: &'b [SpanRun], sources: &[i8]) -> Self {
        Self {
            runs,
            starts: spans.iter().map(|span| span.start).collect(),
            ends: spans.iter().map(|span| span.end).collect(),
            sources: spans.iter().map(|span| sources[span.origin as usize].to_ne_bytes()).collect(),
            origins: spans.iter().map(|span| span.origin.to_ne_bytes()).collect(),
            messages: spans.iter().map(|span| span.text.0.to_ne_bytes()).collect(),
            parts: spans.iter().map(|span| span.text.1.to_ne_bytes()).collect(),
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

/// The columns of all spans, to be written.
pub(in crate::render) struct SpanColumns {
    of: SpanType,
    spans: usize,
    offsets: Vec<i32>,
    starts: Bytes,
    ends: Bytes,
    sources: Bytes,
    origins: Bytes,
    messages: Bytes,
    parts: Bytes,
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
    origins: &'s mut [[u8; 4]],
    messages: &'s mut [[u8; 4]],
    parts: &'s mut [[u8; 4]],
    /// The sources of origins, by their numbers.
    of_origins: &'s [i8],
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
            origins: numbers(of.detailed)?,
            messages: numbers(of.messages)?,
            parts: numbers(of.parts)?,
            of,
            spans,
            offsets,
        })
    }

    /// Split the room into slots for these numbers of spans; `sources` are those of origins, by number.
    pub(in crate::render) fn slots<'s>(
        &'s mut self,
        counts: impl Iterator<Item = usize>,
        sources: &'s [i8],
    ) -> Vec<SpanSlots<'s>> {
        let mut rest = SpanSlots {
            starts: Positions::new(&mut self.starts, self.of.positions),
            ends: Positions::new(&mut self.ends, self.of.positions),
            sources: self.sources.as_chunks_mut().0,
            origins: self.origins.as_chunks_mut().0,
            messages: self.messages.as_chunks_mut().0,
            parts: self.parts.as_chunks_mut().0,
            of_origins: sources,
            position: 0,
        };
        counts
            .map(|count| SpanSlots {
                starts: rest.starts.first(count),
                ends: rest.ends.first(count),
                sources: first(&mut rest.sources, count),
                origins: first(&mut rest.origins, count),
                messages: first(&mut rest.messages, count),
                parts: first(&mut rest.parts, count),
                of_origins: sources,
                position: 0,
            })
            .collect()
    }

    /// Return the array of spans; `origins` are the origins, ordered by number.
    ///
    /// # Errors
    ///
    /// `RenderError` if the spans are inconsistent, which is a bug.
    pub(in crate::render) fn array(self, origins: &[Origin]) -> Result<ArrayRef> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.of.messages {
            columns.push(Arc::new(Int32Array::new(aligned(self.messages, self.spans), None)));
        }
        if self.of.parts {
            let parts: ScalarBuffer<i32> = aligned(self.parts, self.spans);
            let is_part = BooleanBuffer::collect_bool(parts.len(), |span| parts[span] != NO_PART);
            columns.push(Arc::new(Int32Array::new(parts, nulls(is_part))));
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
            let spans: ScalarBuffer<u32> = aligned(self.origins, self.spans);
            columns.push(texts(origins, &spans, |origin| origin.column.as_deref())?);
            let examples: Vec<_> = origins.iter().map(|o| o.example.map(|example| example as i32)).collect();
            columns.push(Arc::new(by_origin(&examples, &spans)));
            columns.push(texts(origins, &spans, |origin| origin.role.as_deref())?);
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
        self.sources[position] = self.of_origins[span.origin as usize].to_ne_bytes();
        if let Some(origin) = self.origins.get_mut(position) {
            *origin = span.origin.to_ne_bytes();
        }
        if let Some(message) = self.messages.get_mut(position) {
            *message = span.text.0.to_ne_bytes();
        }
        if let Some(part) = self.parts.get_mut(position) {
            *part = span.text.1.to_ne_bytes();
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
        for (pattern, column) in [
            (&block.origins, &mut self.origins),
            (&block.messages, &mut self.messages),
            (&block.parts, &mut self.parts),
        ] {
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

/// Convert bytes to numbers; small blocks may lack the alignment, so they are copied.
fn aligned<T: ArrowNativeType>(bytes: Bytes, count: usize) -> ScalarBuffer<T> {
    let buffer = bytes.into_buffer();
    let is_aligned = buffer.as_ptr().align_offset(align_of::<T>()) == 0;
    ScalarBuffer::new(if is_aligned { buffer } else { Buffer::from_slice_ref(&*buffer) }, 0, count)
}

/// Return the nulls of values, or none if all are valid.
fn nulls(is_valid: BooleanBuffer) -> Option<NullBuffer> {
    Some(NullBuffer::new(is_valid)).filter(|nulls| nulls.null_count() > 0)
}

/// Return each span's number, which its origin has.
fn by_origin(numbers: &[Option<i32>], spans: &[u32]) -> Int32Array {
    let values: Vec<i32> = numbers.iter().map(|number| number.unwrap_or(0)).collect();
    let values: Vec<i32> = spans.iter().map(|origin| values[*origin as usize]).collect();
    let is_valid = BooleanBuffer::collect_bool(spans.len(), |span| numbers[spans[span] as usize].is_some());
    Int32Array::new(values.into(), nulls(is_valid))
}

/// Return a text of each span's origin.
fn texts(origins: &[Origin], spans: &[u32], of: fn(&Origin) -> Option<&str>) -> Result<ArrayRef> {
    let mut names: Vec<&str> = Vec::new();
    let numbers: Vec<Option<i32>> = origins
        .iter()
        .map(|origin| {
            let text = of(origin)?;
            Some(names.iter().position(|name| *name == text).unwrap_or_else(|| {
                names.push(text);
                names.len() - 1
            }) as i32)
        })
        .collect();
    let keys = by_origin(&numbers, spans);
    let names = Arc::new(names.into_iter().map(Some).collect::<StringArray>());
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, names).map_err(|e| internal(&e))?))
}

fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}
