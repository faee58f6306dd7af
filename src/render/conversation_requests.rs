//! What a batch's conversations ask for.

use arrow_array::RecordBatch;

use super::compiled::CompiledConfig;
use super::conversations::{Conversations, Replies, chat_requests, turn_requests};
use super::input::Host;
use crate::error::Result;
use crate::template::Template;

/// The requests of a batch's conversations; None where samples are none.
///
/// # Errors
///
/// `RenderError` for columns that make no conversations, and for whatever a plan refuses.
pub(super) fn conversations(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    replies: Option<Replies>,
    host: &dyn Host,
) -> Result<Option<Conversations>> {
    let config = &compiled.config;
    match config.main() {
        Template::Turns(turns) => turn_requests(turns, config, batch, start, replies, host).map(Some),
        Template::Chat(chat) => chat_requests(chat, config, batch, start, replies, host).map(Some),
        _ => Ok(None),
    }
}
