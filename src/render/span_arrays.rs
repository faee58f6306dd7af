//! Spans of requests as an Arrow array: a list of them for each request.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::memory::reserved;
use crate::error::{Code, Error, Result};
use crate::template::{Origin, SOURCES};
use crate::threads;

/// How much is said of each span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spans {
    /// There are none.
    #[default]
    None,
    /// Where it comes from.
    Sources,
    /// The column, the example and the role too.
    Detailed,
}

/// Which fields a span has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanType {
    /// The number of the message.
    pub(super) messages: bool,
    /// The number of the part within it.
    pub(super) parts: bool,
    /// Column, example and role.
    pub(super) detailed: bool,
}

const MESSAGE: &str = "message";
const PART: &str = "part";

impl SpanType {
    /// The type of a request's spans.
    pub(super) fn data_type(self) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(DataType::Struct(self.fields()), true)))
    }

    fn fields(self) -> Fields {
        let text = |index: DataType| DataType::Dictionary(Box::new(index), Box::new(DataType::Utf8));
        let mut fields = Vec::new();
        if self.messages {
            fields.push(Field::new(MESSAGE, DataType::Int32, true));
        }
        if self.parts {
            fields.push(Field::new(PART, DataType::Int32, true));
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

/// That a request isn't split into parts.
pub(super) const NO_PART: i32 = -1;

/// The spans of some requests, one after the other.
#[derive(Default)]
pub(super) struct SpanChunk {
    pub(super) is_messages: bool,
    /// How many each request has.
    pub(super) counts: Vec<u32>,
    starts: Vec<i64>,
    ends: Vec<i64>,
    /// By their numbers.
    origins: Vec<u32>,
    messages: Vec<i32>,
    parts: Vec<i32>,
    /// Where the text at hand has come to; None where none is begun.
    at: i64,
    last: Option<u32>,
    message: i32,
    part: i32,
    /// Spans before the request at hand.
    before: usize,
}

impl SpanChunk {
    /// For so many requests of so many spans.
    pub(super) fn new(requests: usize, spans: usize, is_messages: bool) -> Result<Self> {
        let count = requests.saturating_mul(spans);
        let beside = if is_messages { count } else { 0 };
        Ok(Self {
            is_messages,
            counts: reserved(requests)?,
            starts: reserved(count)?,
            ends: reserved(count)?,
            origins: reserved(count)?,
            messages: reserved(beside)?,
            parts: reserved(beside)?,
            ..Self::default()
        })
    }

    /// Go on to a text: that of a message, or of a part.
    #[inline]
    pub(super) fn text(&mut self, message: i32, part: i32) {
        (self.at, self.last, self.message, self.part) = (0, None, message, part);
    }

    /// Add a stretch of the text; one that goes on as the last is the same span.
    #[inline]
    pub(super) fn add(&mut self, bytes: usize, origin: u32) {
        if bytes == 0 {
            return;
        }
        let end = self.at + bytes as i64;
        if self.last == Some(origin)
            && let Some(last) = self.ends.last_mut()
        {
            *last = end;
        } else {
            self.starts.push(self.at);
            self.ends.push(end);
            self.origins.push(origin);
            if self.is_messages {
                self.messages.push(self.message);
                self.parts.push(self.part);
            }
            self.last = Some(origin);
        }
        self.at = end;
    }

    /// End a request.
    #[inline]
    pub(super) fn end(&mut self) {
        self.counts.push((self.starts.len() - self.before) as u32);
        self.before = self.starts.len();
    }
}

/// The array of some requests' spans, whose origins are numbered.
///
/// # Errors
///
/// `RenderError` for more spans than one array can hold.
pub(super) fn span_array(chunks: &[SpanChunk], origins: &[Origin], of: SpanType) -> Result<ArrayRef> {
    let total: usize = chunks.iter().map(|chunk| chunk.starts.len()).sum();
    if i32::try_from(total).is_err() {
        let message = format!("{total} spans are more than one array can hold; give smaller batches");
        return Err(Error::render(Code::OffsetOverflow, message));
    }
    let mut offsets = reserved(chunks.iter().map(|chunk| chunk.counts.len()).sum::<usize>() + 1)?;
    let mut at = 0;
    offsets.push(0);
    for count in chunks.iter().flat_map(|chunk| &chunk.counts) {
        at += *count as i32;
        offsets.push(at);
    }
    let starts = Int64Array::from(joined(chunks, total, |chunk, out| out.copy_from_slice(&chunk.starts))?);
    let ends = Int64Array::from(joined(chunks, total, |chunk, out| out.copy_from_slice(&chunk.ends))?);
    let mut columns: Vec<ArrayRef> = Vec::new();
    if of.messages {
        let messages = joined(chunks, total, |chunk, out| out.copy_from_slice(&chunk.messages))?;
        columns.push(Arc::new(Int32Array::from(messages)));
    }
    if of.parts {
        let parts = chunks.iter().flat_map(|chunk| &chunk.parts).map(|part| (*part != NO_PART).then_some(*part));
        columns.push(Arc::new(parts.collect::<Int32Array>()));
    }
    columns.push(Arc::new(starts));
    columns.push(Arc::new(ends));
    let numbers: Vec<i8> = origins.iter().map(|origin| origin.source as i8).collect();
    let sources = joined(chunks, total, |chunk, out: &mut [i8]| {
        for (own, origin) in out.iter_mut().zip(&chunk.origins) {
            *own = numbers[*origin as usize];
        }
    })?;
    let names = Arc::new(SOURCES.iter().map(|source| Some(source.name())).collect::<StringArray>());
    columns.push(Arc::new(dictionary(DictionaryArray::<Int8Type>::try_new(Int8Array::from(sources), names))?));
    if of.detailed {
        let each = || chunks.iter().flat_map(|chunk| &chunk.origins).map(|origin| &origins[*origin as usize]);
        columns.push(texts(origins, chunks, |origin| origin.column.as_deref())?);
        columns.push(Arc::new(each().map(|origin| origin.example.map(|n| n as i32)).collect::<Int32Array>()));
        columns.push(texts(origins, chunks, |origin| origin.role.as_deref())?);
    }
    let spans = StructArray::new(of.fields(), columns, None);
    let field = Arc::new(Field::new_list_field(spans.data_type().clone(), true));
    Ok(Arc::new(ListArray::new(field, OffsetBuffer::new(offsets.into()), Arc::new(spans), None)))
}

fn dictionary<T>(made: std::result::Result<T, arrow_schema::ArrowError>) -> Result<T> {
    made.map_err(|e| Error::render(Code::InternalError, e.to_string()))
}

/// What stands in all chunks, one after the other; `fill` writes a chunk's.
fn joined<T: Copy + Default + Send>(
    chunks: &[SpanChunk],
    total: usize,
    fill: impl Fn(&SpanChunk, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let mut out = reserved(total)?;
    out.resize(total, T::default());
    let mut rest = &mut out[..];
    let mut slices = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let (own, after) = rest.split_at_mut(chunk.starts.len());
        slices.push((chunk, own));
        rest = after;
    }
    threads::map(slices, |(chunk, own)| fill(chunk, own));
    Ok(out)
}

/// A text of each span's origin.
fn texts(origins: &[Origin], chunks: &[SpanChunk], of: fn(&Origin) -> Option<&str>) -> Result<ArrayRef> {
    let mut names: Vec<&str> = Vec::new();
    let numbers: Vec<Option<i32>> = origins
        .iter()
        .map(|origin| {
            let text = of(origin)?;
            Some(names.iter().position(|known| *known == text).unwrap_or_else(|| {
                names.push(text);
                names.len() - 1
            }) as i32)
        })
        .collect();
    let keys = chunks.iter().flat_map(|chunk| &chunk.origins).map(|origin| numbers[*origin as usize]);
    let keys = keys.collect::<Int32Array>();
    let names = Arc::new(names.into_iter().map(Some).collect::<StringArray>());
    Ok(Arc::new(dictionary(DictionaryArray::<Int32Type>::try_new(keys, names))?))
}
