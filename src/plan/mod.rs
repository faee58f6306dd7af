//! Compiles templates, roles and retrievers into plans, and then binds plans to a schema. A plan is immutable and
//! independent of rows.
//!
//! A `config` is read and checked once. `build_request` follows the harness's steps with the sample left open: examples
//! (`example`, `retriever`), the template of a label (`labels`), and the output form (`to_request`). `turn_request` and
//! `chat_request` do the same for conversations. A request's texts are bound to columns (`segment`, `tokens`) as a plan
//! (`request_plan`), once for each shape of a row (`planner`).

mod build_request;
mod chat_request;
mod common_affixes;
mod config;
mod example;
mod finding;
mod infer_mode;
mod labels;
mod limits;
mod planner;
mod request_plan;
mod retriever;
mod segment;
mod setting;
mod sites;
mod substitution;
mod to_request;
mod tokens;
mod turn_request;

pub use build_request::{build_request, build_request_without};
pub use chat_request::build_chat_request;
pub use config::{Config, Settings};
pub use finding::Finding;
pub use labels::Labels;
pub use limits::Limits;
pub use retriever::Draws;
pub use setting::{SETTINGS, Setting, SettingGroup};

pub(crate) use common_affixes::CommonAffixes;
pub(crate) use config::{Layout, Mode, READER_KEYS};
pub(crate) use example::{ExampleForm, IceForm, messages_of};
pub(crate) use infer_mode::InferMode;
pub(crate) use labels::labels;
pub(crate) use planner::{Key, Planner, plan_rows};
pub(crate) use request_plan::{Plan, Plans};
pub(crate) use retriever::Choice;
pub(crate) use segment::{Columns, CopiedPiece, Fill, LITERAL_PADDING_BYTES, Op, Program, Seg, Unit};
#[cfg(test)]
pub(crate) use sites::sites;
pub(crate) use sites::{Site, is_filled, pairs_around};
pub(crate) use substitution::Substitution;
pub(crate) use to_request::{expanded_request, expands_columns, request_shape};
pub(crate) use tokens::Tokens;
pub(crate) use turn_request::{build_turn_request, turn_request_shapes};
