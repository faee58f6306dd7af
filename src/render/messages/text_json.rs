//! Requests that are texts, each as a JSON string.

use arrow_array::ArrayRef;

use crate::error::Result;
use crate::plan::Layout;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::values::json;

/// JSON of requests that are texts; None where they pass what one array can hold. `empty` writes that of an empty text.
///
/// # Errors
///
/// As `empty`.
pub fn text_json(
    block: &TextBlock,
    layout: Layout,
    empty: impl Fn(usize, &mut String) -> Result<()>,
) -> Result<Option<ArrayRef>> {
    let (mut offsets, mut out) = (vec![0], String::new());
    for n in 0..block.len() {
        if block.get(n).is_empty() {
            empty(n, &mut out)?;
        } else {
            json::string(&String::from_utf8_lossy(block.get(n)), &mut out);
        }
        offsets.push(out.len());
    }
    let texts = Texts { offsets: offsets.into(), bytes: out.into_bytes().into(), is_plain: false };
    Ok((texts.bytes.len() <= limit(layout)).then(|| TextBlock::new(texts).array(layout, None)))
}
