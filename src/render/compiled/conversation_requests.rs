//! The requests of a batch's conversations.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::render::compiled::CompiledConfig;
use crate::render::conversations::{Conversations, Replies, chat_requests, turn_requests};
use crate::render::input::PythonCallbacks;
use crate::template::Template;

/// Return the requests of a batch's conversations; None if the samples are no conversations.
///
/// # Errors
///
/// `RenderError` for columns that make no conversations, and for requests that a plan refuses.
pub(in crate::render) fn conversations(
    compiled: &CompiledConfig,
    batch: &RecordBatch,
    start: usize,
    replies: Option<Replies>,
    host: &dyn PythonCallbacks,
) -> Result<Option<Conversations>> {
    let config = &compiled.config;
    match config.main() {
        Template::Turns(turns) => turn_requests(turns, config, batch, start, replies, host).map(Some),
        Template::Chat(chat) => chat_requests(chat, config, batch, start, replies, host).map(Some),
        _ => Ok(None),
    }
}
