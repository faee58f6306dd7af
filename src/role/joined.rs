//! A dialogue without a meta template: its prompts joined by newlines.

use super::request::{Join, Piece};
use crate::error::Result;
use crate::template::Item;

/// The prompt of a dialogue where the model has no meta template, for text and messages alike.
///
/// An empty item writes nothing, but what comes after it still starts a new line.
///
/// # Errors
///
/// `TemplateError` for an item that can't be rendered.
pub fn joined(items: &[Item]) -> Result<Vec<Piece>> {
    let mut out = Vec::new();
    let mut first = true;
    for item in items {
        let text = match item {
            Item::Marker { .. } => continue,
            Item::Turn(turn) if turn.is_marker() => continue,
            Item::Turn(turn) => turn.prompt().cloned().unwrap_or_default(),
            Item::Str(text) => text.clone(),
            Item::Bad(error) => return Err(error.clone()),
        };
        let join = if first { Join::None } else { Join::Line };
        first = false;
        out.push(Piece { text, join });
    }
    Ok(out)
}
