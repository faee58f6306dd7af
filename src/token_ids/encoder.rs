//! Texts as ids: the loop over rows.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use arrow_array::{Array, ArrayRef};

use super::added_tokens::{AddedTokens, TokenKind, TokenMatch};
use super::common_characters::are_common;
use super::cuts::Cuts;
use super::engine::Engine;
use super::memory::Memory;
use super::offsets::Offsets;
use super::token_rows::{Row, TokenRows};
use crate::error::Result;
use crate::python_text::TextColumn;
use crate::threads;

/// The parts that each of several threads gets.
const CHUNKS_OF_A_THREAD: usize = 4;

/// The buffers that are kept from batch to batch.
const MAX_BUFFERS: usize = 64;

/// The ids that a buffer that is kept may hold.
const MAX_BUFFER: usize = 1 << 21;

/// The bytes for which another thread pays.
const LEAST_BYTES: usize = 1 << 14;

/// A beginning has to grow by so many bytes to be encoded by itself.
const LEAST_GROWTH: usize = 64;

/// So many bytes are compared at a time, before single ones.
const STEP: usize = 64;

/// The parts of an encoder.
pub struct Parts {
    /// Encodes what stands between added tokens.
    pub engine: Box<dyn Engine>,
    /// The added tokens.
    pub added: AddedTokens,
    /// An added token, and its id, that stands before each piece but the first one of a text when it is encoded; for
    /// tokenizers that treat the beginning of a text in another way. None if they don't.
    pub context: Option<(String, i32)>,
    /// The family of places where pieces can be cut further; None: nowhere. It goes with no context.
    pub cuts: Option<Cuts>,
}

/// Encodes columns of texts. Threads may share it.
pub struct Encoder {
    parts: Parts,
    offsets: OnceLock<Offsets>,
    workers: Mutex<Vec<Worker>>,
    /// Memory for the ids of parts, which the system would have to clear anew for each batch.
    buffers: Mutex<Vec<Vec<i32>>>,
}

/// The state that a thread keeps from text to text.
#[derive(Default)]
struct Worker {
    memory: Memory,
    beginning: Beginning,
    /// The added tokens of the text before: the byte after each, and the number of ids until there.
    anchors: Vec<(usize, usize)>,
    /// A piece with the context before it.
    piece: String,
}

/// A text between two anchors.
struct Piece<'a> {
    text: &'a str,
    /// True if it begins the text.
    is_first: bool,
    /// So many of its bytes stand in the text before, too.
    same: usize,
    /// True if added tokens stand in it.
    holds_tokens: bool,
}

/// The beginning of a piece, with its ids, and where both can be cut.
#[derive(Default)]
struct Beginning {
    text: Vec<u8>,
    ids: Vec<i32>,
    /// A number of bytes and one of ids; both grow.
    stops: Vec<(usize, usize)>,
}

impl Beginning {
    /// Forget what stands after the first `length` bytes: a stop, or 0.
    fn cut(&mut self, length: usize) {
        while self.stops.last().is_some_and(|(bytes, _)| *bytes > length) {
            self.stops.pop();
        }
        let (bytes, ids) = self.stops.last().copied().unwrap_or_default();
        self.text.truncate(bytes);
        self.ids.truncate(ids);
    }
}

impl Encoder {
    /// Make an encoder.
    pub fn new(parts: Parts) -> Self {
        Self { parts, offsets: OnceLock::new(), workers: Mutex::default(), buffers: Mutex::default() }
    }

    /// Tell the number of bytes that each token stands for, from which offsets follow; and whether texts are brought
    /// into the normal form NFC before. Without it, no row has offsets.
    pub fn set_lengths(&self, lengths: Vec<u32>, has_normal_form: bool) {
        self.offsets.get_or_init(|| Offsets::new(lengths, has_normal_form));
    }

    /// Encode texts.
    ///
    /// Arguments: a column of strings; whether the bytes of tokens are asked for. A text that can't be encoded here
    /// with certainty is [`Row::Open`].
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn encode(&self, texts: &ArrayRef, with_offsets: bool) -> Result<TokenRows> {
        let column = TextColumn::new(texts)?;
        let nulls = texts.nulls();
        let read = |row: usize| match nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => std::str::from_utf8(column.bytes(row)).ok(),
        };
        let chunks = chunks(&column);
        if let [rows] = chunks.as_slice() {
            return Ok(self.encode_rows(rows.clone(), &read, with_offsets, Vec::new()));
        }
        let buffer = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let parts = threads::map(chunks, |rows| self.encode_rows(rows, &read, with_offsets, buffer()));
        let joined = TokenRows::joined(&parts, with_offsets);
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.extend(parts.into_iter().map(|part| part.ids).filter(|ids| ids.capacity() <= MAX_BUFFER));
        buffers.truncate(MAX_BUFFERS);
        Ok(joined)
    }

    fn encode_rows<'a>(
        &self,
        rows: Range<usize>,
        text: &(impl Fn(usize) -> Option<&'a str> + Sync),
        with_offsets: bool,
        mut buffer: Vec<i32>,
    ) -> TokenRows {
        let mut worker = self.workers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        buffer.clear();
        let mut out = TokenRows::new(with_offsets);
        out.ids = buffer;
        let mut before: Option<(&str, usize)> = None;
        for row in rows {
            let start = out.ids.len();
            let Some(text) = text(row) else {
                out.end(Row::Null);
                continue;
            };
            let is_encoded = self.encode_text(text, before, &mut worker, &mut out.ids).is_some()
                && out.spans.as_mut().is_none_or(|spans| {
                    self.offsets.get().is_some_and(|o| o.push(text, &out.ids[start..], spans).is_some())
                });
            if is_encoded {
                before = Some((text, start));
                out.end(Row::Encoded);
            } else {
                before = None;
                out.truncate(start);
                out.end(Row::Open);
            }
        }
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        out
    }

    /// Append the ids of a text. Return None if that isn't certain. `before` is the text before, and where its ids
    /// begin.
    fn encode_text(
        &self,
        text: &str,
        before: Option<(&str, usize)>,
        worker: &mut Worker,
        ids: &mut Vec<i32>,
    ) -> Option<()> {
        let begin = ids.len();
        let same = before.map_or(0, |(before, _)| equal_bytes(before.as_bytes(), text.as_bytes()));
        // An anchor that stands in both texts is a token of both, and so is all before it.
        let anchors = worker.anchors.partition_point(|(end, _)| *end <= same);
        worker.anchors.truncate(anchors);
        let mut index = 0;
        if let (Some((end, count)), Some((_, start))) = (worker.anchors.last(), before) {
            ids.extend_from_within(start..start + count);
            index = *end;
        }
        let (mut from, mut holds_tokens) = (index, false);
        loop {
            let token = self.parts.added.find(text.as_bytes(), from);
            match token.as_ref().map(|token| (token.kind, token.end)) {
                Some((TokenKind::Plain, end)) => {
                    (from, holds_tokens) = (end, true);
                    continue;
                }
                Some((TokenKind::Special, _)) => return None,
                _ => {}
            }
            let end = token.as_ref().map_or(text.len(), |token| token.start);
            if index < end {
                let piece = Piece {
                    text: &text[index..end],
                    is_first: index == 0,
                    same: same.saturating_sub(index),
                    holds_tokens,
                };
                self.encode_piece(&piece, worker, ids)?;
            }
            let Some(TokenMatch { end, kind: TokenKind::Anchor(id), .. }) = token else { return Some(()) };
            ids.push(id);
            (index, from, holds_tokens) = (end, end, false);
            worker.anchors.push((index, ids.len() - begin));
        }
    }

    /// Append the ids of a piece.
    fn encode_piece(&self, piece: &Piece<'_>, worker: &mut Worker, ids: &mut Vec<i32>) -> Option<()> {
        let Piece { text, is_first, .. } = *piece;
        let hash = worker.memory.hash(text, is_first);
        if let Some(kept) = worker.memory.get(hash, text, is_first) {
            ids.extend_from_slice(kept);
            return Some(());
        }
        let begin = ids.len();
        let index = match self.parts.cuts {
            Some(cuts) if !piece.holds_tokens => {
                self.encode_beginning(text, cuts, piece.same, &mut worker.beginning, ids)?
            }
            _ => 0,
        };
        let context = self.parts.context.as_ref().filter(|_| !is_first);
        self.encode_new(&text[index..], context, &mut worker.piece, ids)?;
        if index == 0 {
            worker.memory.note(hash, text, is_first, &ids[begin..]);
        }
        Some(())
    }

    /// Append the ids of the beginning of a piece, and return its length. It is what other pieces began with, too.
    fn encode_beginning(
        &self,
        piece: &str,
        cuts: Cuts,
        same: usize,
        beginning: &mut Beginning,
        ids: &mut Vec<i32>,
    ) -> Option<usize> {
        let bytes = piece.as_bytes();
        let is_cut = |index: usize| index == bytes.len() || cuts.between(bytes[index - 1], bytes[index]);
        let equal = equal_bytes(&beginning.text, bytes);
        let stop = beginning.stops.iter().rev().find(|(index, _)| *index <= equal && is_cut(*index));
        let (index, count) = stop.copied().unwrap_or_default();
        ids.extend_from_slice(&beginning.ids[..count]);
        let least = index + LEAST_GROWTH;
        if same < least || bytes.len() <= least {
            return Some(index);
        }
        let Some(cut) = cuts.last(bytes, least, same) else { return Some(index) };
        let from = ids.len();
        self.encode_new(&piece[index..cut], None, &mut String::new(), ids)?;
        beginning.cut(index);
        beginning.text.extend_from_slice(&bytes[index..cut]);
        beginning.ids.extend_from_slice(&ids[from..]);
        beginning.stops.push((cut, beginning.ids.len()));
        Some(cut)
    }

    /// Append the ids of a text in which no anchor stands.
    fn encode_new(
        &self,
        text: &str,
        context: Option<&(String, i32)>,
        piece: &mut String,
        ids: &mut Vec<i32>,
    ) -> Option<()> {
        if text.is_empty() {
            return Some(());
        }
        if !are_common(text) {
            return None;
        }
        let Some((token, id)) = context else { return self.parts.engine.encode(text, ids).ok() };
        piece.clear();
        piece.push_str(token);
        piece.push_str(text);
        let begin = ids.len();
        self.parts.engine.encode(piece, ids).ok()?;
        if ids.get(begin) != Some(id) {
            return None;
        }
        ids.remove(begin);
        Some(())
    }
}

/// Return ranges of rows for the threads: all rows for one thread, else some for each, so that none waits for long.
fn chunks(column: &TextColumn) -> Vec<Range<usize>> {
    let rows = column.len();
    let most = if threads::several() { threads::count() * CHUNKS_OF_A_THREAD } else { 1 };
    let count = (column.total_length(0..rows) / LEAST_BYTES).clamp(1, most);
    threads::chunks(0..rows, rows.div_ceil(count).max(1))
}

/// Return the number of bytes with which both begin.
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
    steps + a[steps..].iter().zip(&b[steps..]).take_while(|(a, b)| a == b).count()
}
