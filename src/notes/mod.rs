//! What is probably a mistake, from the configuration and the schema alone.
//!
//! A harness renders a misspelt placeholder as it stands and a turn under a misspelt key as an empty one. So does this
//! crate; but it says so. A note argues from what is written down: which names are columns, which keys somebody reads,
//! which texts are filled. That no configuration that is right gets a warning weighs more than that every mistake gets
//! one.
//!
//! | file | what it knows |
//! |---|---|
//! | `subject`, `table_facts` | what notes are made of: the configuration, and what is known of the tables |
//! | `collect` | which notes there are, in their order |
//! | `unread_keys`, `structure`, `left_out`, `inferencer`, `silent_turns`, `placeholders`, `columns` | notes of one kind each |
//! | `dialogues`, `texts` | the turns of a template, and its texts with what is filled into each |
//! | `braces` | which texts in braces look like placeholders |
//! | `note` | what a note says |

mod braces;
mod collect;
mod columns;
mod dialogues;
mod inferencer;
mod left_out;
mod note;
mod placeholders;
mod silent_turns;
mod structure;
mod subject;
mod table_facts;
mod texts;
mod unread_keys;

pub use collect::notes;
pub use note::{Note, Severity};
pub use table_facts::TableFacts;
