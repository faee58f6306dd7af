//! The requests of a batch's conversations, and the programs of their texts.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use crate::error::Result;
use crate::plan::Program;
use crate::render::compiled::CompiledConfig;
use crate::render::conversations::{
    Conversations, Replies, chat_programs, chat_requests, turn_programs, turn_requests,
};
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

/// Return the programs of the texts that conversations of a schema are made of; None if the samples are no
/// conversations.
///
/// # Errors
///
/// `RenderError` for columns that make no conversations.
pub(in crate::render) fn conversation_programs(
    compiled: &CompiledConfig,
    schema: &Schema,
) -> Result<Option<Vec<Program>>> {
    let config = &compiled.config;
    match config.main() {
        Template::Turns(turns) => turn_programs(turns, config).map(Some),
        Template::Chat(chat) => chat_programs(chat, config, schema).map(Some),
        _ => Ok(None),
    }
}
