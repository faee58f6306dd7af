//! Spans of requests as an Arrow array, with a list of spans for each request: the spans are counted first, then
//! written.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
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
        fields.push(Field::new("start", DataType::Int64, true));
        fields.push(Field::new("end", DataType::Int64, true));
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

/// The columns of all spans, to be written.
pub(in crate::render) struct SpanColumns {
    of: SpanType,
    spans: usize,
    offsets: Vec<i32>,
    starts: Bytes,
    ends: Bytes,
    sources: Vec<i8>,
    origins: Vec<u32>,
    messages: Vec<i32>,
    parts: Vec<i32>,
}

/// The slots of some requests' spans.
pub(in crate::render) struct SpanSlots<'s> {
    starts: &'s mut [[u8; 8]],
    ends: &'s mut [[u8; 8]],
    sources: &'s mut [i8],
    origins: &'s mut [u32],
    messages: &'s mut [i32],
    parts: &'s mut [i32],
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
        let (starts, ends) = (Bytes::new(spans * 8)?, Bytes::new(spans * 8)?);
        let sources = filled(spans, true)?;
        let (messages, parts) = (filled(spans, of.messages)?, filled(spans, of.parts)?);
        Ok(Self { of, spans, offsets, starts, ends, sources, origins: filled(spans, of.detailed)?, messages, parts })
    }

    /// Split the room into slots for these numbers of spans; `sources` are those of origins, by number.
    pub(in crate::render) fn slots<'s>(
        &'s mut self,
        counts: impl Iterator<Item = usize>,
        sources: &'s [i8],
    ) -> Vec<SpanSlots<'s>> {
        let mut rest = SpanSlots {
            starts: self.starts.as_chunks_mut().0,
            ends: self.ends.as_chunks_mut().0,
            sources: &mut self.sources,
            origins: &mut self.origins,
            messages: &mut self.messages,
            parts: &mut self.parts,
            of_origins: sources,
            position: 0,
        };
        counts
            .map(|count| SpanSlots {
                starts: first(&mut rest.starts, count),
                ends: first(&mut rest.ends, count),
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
            columns.push(Arc::new(Int32Array::from(self.messages)));
        }
        if self.of.parts {
            let parts = self.parts.into_iter().map(|part| (part != NO_PART).then_some(part));
            columns.push(Arc::new(parts.collect::<Int32Array>()));
        }
        for numbers in [self.starts, self.ends] {
            columns.push(Arc::new(Int64Array::new(aligned(numbers, self.spans)?, None)));
        }
        let names = Arc::new(SOURCES.iter().map(|source| Some(source.name())).collect::<StringArray>());
        let sources = DictionaryArray::<Int8Type>::try_new(Int8Array::from(self.sources), names);
        columns.push(Arc::new(sources.map_err(|e| internal(&e))?));
        if self.of.detailed {
            columns.push(texts(origins, &self.origins, |origin| origin.column.as_deref())?);
            let examples = self.origins.iter().map(|n| origins[*n as usize].example.map(|example| example as i32));
            columns.push(Arc::new(examples.collect::<Int32Array>()));
            columns.push(texts(origins, &self.origins, |origin| origin.role.as_deref())?);
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
        self.starts[position] = span.start.to_ne_bytes();
        self.ends[position] = span.end.to_ne_bytes();
        self.sources[position] = self.of_origins[span.origin as usize];
        if let Some(origin) = self.origins.get_mut(position) {
            *origin = span.origin;
        }
        if let Some(message) = self.messages.get_mut(position) {
            *message = span.text.0;
        }
        if let Some(part) = self.parts.get_mut(position) {
            *part = span.text.1;
        }
        self.position = position + 1;
    }
}

/// Return zeros, or nothing if they aren't wanted.
fn filled<T: Clone + Default>(count: usize, wanted: bool) -> Result<Vec<T>> {
    if !wanted {
        return Ok(Vec::new());
    }
    let mut out = reserved(count)?;
    out.resize(count, T::default());
    Ok(out)
}

/// Cut the first elements off; an empty column that isn't wanted gives none.
#[allow(clippy::mut_mut, reason = "the rest is shortened")]
fn first<'s, T>(rest: &mut &'s mut [T], count: usize) -> &'s mut [T] {
    let count = count.min(rest.len());
    rest.split_off_mut(..count).unwrap_or_default()
}

/// Convert bytes to numbers; small blocks may lack the alignment, so they are copied.
fn aligned(bytes: Bytes, count: usize) -> Result<ScalarBuffer<i64>> {
    let buffer = bytes.into_buffer();
    if buffer.as_ptr().align_offset(align_of::<i64>()) == 0 {
        return Ok(ScalarBuffer::new(buffer, 0, count));
    }
    let mut numbers = reserved(count)?;
    numbers.extend(buffer.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes)));
    Ok(numbers.into())
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
    let keys = spans.iter().map(|origin| numbers[*origin as usize]).collect::<Int32Array>();
    let names = Arc::new(names.into_iter().map(Some).collect::<StringArray>());
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, names).map_err(|e| internal(&e))?))
}

fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::render(Code::InternalError, error.to_string())
}
