//! The handling of dialogues that text and messages share.

use super::form::ModelSide;
use crate::error::{Code, Error, Result};
use crate::role::{Piece, concatenated, joined_by_lines};
use crate::template::Item;

/// Return the text of a dialogue without a meta template.
///
/// # Errors
///
/// `TemplateError` for an item that can't be rendered.
pub(super) fn without_meta(side: ModelSide, items: &[Item]) -> Result<Vec<Piece>> {
    if side.dialect.turns_stand_alone() { concatenated(items) } else { joined_by_lines(items) }
}

/// Return the error for a dialogue with a meta template in the list form.
pub(super) fn wrong_meta_form() -> Error {
    Error::template(
        Code::WrongMetaTemplateForm,
        "meta_template",
        "the list form is for raw messages; a dialogue needs a dict with a round",
    )
}
