//! Requests that are texts, each written as a JSON string.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::error::Result;
use crate::json_text;
use crate::plan::Layout;
use crate::render::memory::{TextBlock, Texts, WrittenTexts, limit};
use crate::threads;

/// The number of requests that a thread takes at a time.
const CHUNK_REQUESTS: usize = 512;

/// Write requests that are texts as JSON; None if they exceed the size of an array. `empty` writes the JSON of an empty
/// text.
///
/// # Errors
///
/// The errors of `empty`.
pub fn text_json(
    block: &TextBlock,
    layout: Layout,
    empty: impl Fn(usize, &mut String) -> Result<()> + Sync,
) -> Result<Option<ArrayRef>> {
    let write = |requests: Range<usize>| -> Result<WrittenTexts> {
        let mut out = WrittenTexts::new(requests.len());
        for n in requests {
            if block.get(n).is_empty() {
                let mut text = String::new();
                empty(n, &mut text)?;
                out.push(|out| out.extend_from_slice(text.as_bytes()));
            } else {
                out.push(|out| {
                    out.push(b'"');
                    json_text::inside_of_bytes(block.get(n), out);
                    out.push(b'"');
                });
            }
        }
        Ok(out)
    };
    joined(threads::map(threads::chunks(0..block.len(), CHUNK_REQUESTS), write), layout)
}

/// Join the texts of all threads into an array; None if they exceed the size of an array.
///
/// # Errors
///
/// The error of the first thread that failed.
pub fn joined(parts: Vec<Result<WrittenTexts>>, layout: Layout) -> Result<Option<ArrayRef>> {
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    if parts.iter().map(WrittenTexts::len).sum::<usize>() > limit(layout) {
        return Ok(None);
    }
    Ok(Some(TextBlock::new(Texts::joined(parts)?).array(layout, None)))
}
