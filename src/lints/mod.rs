//! Notes: probable mistakes that the configuration and the schema show.
//!
//! A harness renders a misspelt placeholder as it stands, and a turn under a misspelt key as an empty one. This crate
//! does the same, but reports it. A note is based on the configuration and the schema: the names of columns, the keys
//! that are read, the texts that are filled. It is more important that no correct configuration gets a warning than
//! that every mistake gets one.
//!
//! | file | content |
//! |---|---|
//! | `subject`, `table_facts` | the input of notes: the configuration, and facts about the tables |
//! | `collect` | all notes, in their order |
//! | `unread_keys`, `structure`, `left_out`, `inferencer`, `silent_turns`, `placeholders`, `columns` | one kind of
//! notes each |
//! | `dialogues`, `texts` | the turns of a template, and its texts with their fillings |
//! | `braces` | finds texts in braces that look like placeholders |
//! | `note` | the parts of a note |

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
