//! Texts as they stand within JSON strings, escaped once for all requests that show them.

use std::ops::Range;

use crate::error::{Code, Error, Result};
use crate::json_text;
use crate::plan::Layout;
use crate::pytext::TextColumn;
use crate::render::memory::{Bytes, OffsetSlot, OffsetSlots, TextBlock, TextOffsets, Texts, limit};
use crate::threads;

/// Texts that one thread takes at a time.
const CHUNK_TEXTS: usize = 1024;

/// So many texts, escaped.
///
/// # Errors
///
/// `RenderError` where there isn't as much memory.
pub fn escaped<'t>(count: usize, text: impl Fn(usize) -> &'t [u8] + Sync) -> Result<Texts> {
    let made = threads::map(threads::chunks(0..count, CHUNK_TEXTS), |chunk| {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(chunk.len()));
        for n in chunk {
            json_text::inside(&String::from_utf8_lossy(text(n)), &mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    });
    let total = made.iter().map(|(bytes, _)| bytes.len()).sum();
    let (mut out, mut offsets) = (Bytes::new(total)?, TextOffsets::new(count, total)?);
    let (mut rest, mut at, mut work) = (&mut out[..], 0, Vec::with_capacity(made.len()));
    for (slots, (bytes, ends)) in offsets.split_mut(made.iter().map(|(_, ends)| ends.len())).into_iter().zip(&made) {
        let (own, after) = rest.split_at_mut(bytes.len());
        work.push((slots, own, bytes, ends, at));
        (rest, at) = (after, at + bytes.len());
    }
    threads::map(work, |(slots, own, bytes, ends, at)| {
        own.copy_from_slice(bytes);
        match slots {
            OffsetSlots::Narrow(slots) => slots.iter_mut().zip(ends).for_each(|(slot, end)| slot.set(at + end)),
            OffsetSlots::Wide(slots) => slots.iter_mut().zip(ends).for_each(|(slot, end)| slot.set(at + end)),
        }
    });
    Ok(Texts { offsets, bytes: out, is_plain: false })
}

/// A column's texts, escaped; the column itself where none of them has to be.
///
/// # Errors
///
/// As [`escaped`].
pub fn escaped_column(texts: &TextColumn) -> Result<TextColumn> {
    let clean = |rows: Range<usize>| rows.into_iter().all(|row| json_text::next_special(texts.bytes(row), 0).is_none());
    if threads::all(threads::chunks(0..texts.len(), CHUNK_TEXTS), clean) {
        return Ok(texts.clone());
    }
    let made = escaped(texts.len(), |row| texts.bytes(row))?;
    let layout = if made.bytes.len() > limit(Layout::String) { Layout::LargeString } else { Layout::String };
    let array = TextBlock::new(made).array(layout, None);
    // What it is made of has been checked.
    TextColumn::unread(&*array).ok_or_else(|| Error::render(Code::InternalError, "escaped texts lie in order"))
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
        let made = escaped_column(&column(&odd)).unwrap();
        for (n, text) in odd.iter().enumerate() {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(std::str::from_utf8(made.bytes(n)).unwrap(), &json[1..json.len() - 1]);
        }
    }
}
