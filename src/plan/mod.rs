//! What is compiled: template × role × retriever, then × schema. A plan is immutable and knows no row.

mod alike;
mod chat;
mod config;
mod example;
mod finding;
mod labels;
mod planner;
mod recipe;
mod request_plan;
mod retriever;
mod segment;
mod tokens;
mod turns;

pub use alike::Alike;
pub use chat::chat_request;
pub use config::{Config, Layout, Mode, Names, Output, READER_KEYS, Reader, Settings};
pub use example::{ExampleForm, IceForm, messages_of};
pub use finding::Finding;
pub use labels::{Labels, labels};
pub use planner::{Key, Planner, plan_rows};
pub use recipe::{merge_meta, message, recipe};
pub use request_plan::{Plan, Plans};
pub use retriever::{Choice, Draws, Retriever};
pub use segment::{Columns, Op, Program, SPARE, Seg, Substitution, Unit};
pub use tokens::Tokens;
pub use turns::{Cut, InferMode, turn_recipe, turn_shapes};
