//! Texts that are escaped for JSON strings once for all requests that show them.

use std::ops::Range;

use crate::error::{Code, Error, Result};
use crate::json_text;
use crate::plan::Layout;
use crate::python_text::{Offsets, TextColumn};
use crate::render::memory::{TextBlock, Texts, WrittenTexts, limit};
use crate::threads;

/// The number of texts that a thread takes at a time.
const CHUNK_TEXTS: usize = 4096;

/// The length from which on a separate call of the vectorised search for escapes pays.
const LONG_TEXT_BYTES: usize = 96;

/// Escape `count` texts.
///
/// # Errors
///
/// `RenderError` if the memory can't be allocated.
pub fn escaped<'t>(count: usize, text: impl Fn(usize) -> &'t [u8] + Sync) -> Result<Texts> {
    let parts = threads::map(threads::chunks(0..count, CHUNK_TEXTS), |chunk| {
        let mut out = WrittenTexts::new(chunk.len());
        for n in chunk {
            out.push(|out| json_text::inside_of_bytes(text(n), out));
        }
        out
    });
    Texts::joined(parts)
}

/// Escape the texts of a column that has been checked; the column itself is returned if no text needs an escape.
///
/// # Errors
///
/// The errors of [`escaped`].
pub fn escaped_column(texts: &TextColumn) -> Result<TextColumn> {
    if let Some(values) = texts.picked_from()
        && let Some(picked) = texts.picking_from(escaped_column(values)?)
    {
        return Ok(picked);
    }
    let chunks = || threads::chunks(0..texts.len(), CHUNK_TEXTS);
    let escaped_texts = match texts.plain() {
        Some((Offsets::Narrow(offsets), data)) => escaped_lying(texts.len(), |n| offsets[n] as usize, data)?,
        Some((Offsets::Wide(offsets), data)) => escaped_lying(texts.len(), |n| offsets[n] as usize, data)?,
        None if threads::all(chunks(), |rows| {
            rows.into_iter().all(|row| json_text::next_special(texts.bytes(row), 0).is_none())
        }) =>
        {
            None
        }
        None => Some(escaped(texts.len(), |row| texts.bytes(row))?),
    };
    let Some(escaped_texts) = escaped_texts else { return Ok(texts.clone()) };
    let layout = if escaped_texts.bytes.len() > limit(Layout::String) { Layout::LargeString } else { Layout::String };
    let array = TextBlock::new(escaped_texts).array(layout, None);
    // The texts that this one consists of have been checked.
    TextColumn::unread(&*array).ok_or_else(|| Error::render(Code::InternalError, "escaped texts lie in order"))
}

/// Escape contiguous texts of a column that have been checked, as [`escaped`] does. Bytes that need no escape are
/// copied unchanged. None if no text needs an escape.
fn escaped_lying(count: usize, start: impl Fn(usize) -> usize + Sync, data: &[u8]) -> Result<Option<Texts>> {
    let chunks = || threads::chunks(0..count, CHUNK_TEXTS);
    let of = |rows: &Range<usize>| &data[start(rows.start)..start(rows.end)];
    if threads::all(chunks(), |rows| json_text::next_special(of(&rows), 0).is_none()) {
        return Ok(None);
    }
    let parts = threads::try_map(chunks(), |rows| -> Result<WrittenTexts> {
        let (first, bytes) = (start(rows.start), of(&rows));
        let mut out = WrittenTexts::sized(rows.len(), bytes.len() + bytes.len() / 16)?;
        if bytes.len() >= rows.len() * LONG_TEXT_BYTES {
            for row in rows {
                out.push(|out| json_text::inside_of_bytes(&data[start(row)..start(row + 1)], out));
            }
            return Ok(out);
        }
        out.push_all(|out, ends| {
            json_text::insides(bytes, rows.map(|row| start(row + 1) - first), out, |end| ends.push(end));
        });
        Ok(out)
    });
    Texts::joined(parts?).map(Some)
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn texts_are_escaped_wherever_they_stand() {
        let plain: Vec<String> = (0..3 * CHUNK_TEXTS).map(|n| format!("é{n}")).collect();
        let column = |texts: &[String]| TextColumn::new(&StringArray::from_iter_values(texts)).unwrap();
        let clean = escaped_column(&column(&plain)).unwrap();
        assert!((0..plain.len()).all(|n| clean.bytes(n) == plain[n].as_bytes()));
        let mut odd = plain.clone();
        odd[CHUNK_TEXTS + 7] = "a\"\n\u{1}\\".into();
        let escaped = escaped_column(&column(&odd)).unwrap();
        for (n, text) in odd.iter().enumerate() {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(std::str::from_utf8(escaped.bytes(n)).unwrap(), &json[1..json.len() - 1]);
        }
    }
}
