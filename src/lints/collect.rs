//! Collects all notes, in their order.

use std::collections::BTreeSet;

use super::note::{Note, Severity};
use super::subject::Subject;
use super::table_facts::TableFacts;
use super::{columns, inferencer, left_out, placeholders, silent_turns, structure, unread_keys};
use crate::plan::{Config, Settings};

/// Return true for a note on what nobody means.
fn is_sure(note: &Note) -> bool {
    matches!(note.code, "empty_template" | "unclosed_brace")
        || note.code == "unknown_placeholder" && note.column.is_some()
}

/// Return all notes on a configuration and its tables, in the order of the configuration's parts.
pub fn notes(settings: &Settings, config: &Config, tables: &TableFacts) -> Vec<Note> {
    let mut out = Vec::new();
    let subject = Subject::new(settings, config, tables);
    unread_keys::notes(&subject, &mut out);
    structure::notes(&subject, &mut out);
    left_out::notes(&subject, &mut out);
    inferencer::notes(&subject, &mut out);
    silent_turns::notes(&subject, &mut out);
    placeholders::notes(&subject, &mut out);
    columns::notes(&subject, &mut out);
    if config.refuses_mistakes {
        for note in out.iter_mut().filter(|note| is_sure(note)) {
            note.severity = Severity::Error;
        }
    }
    // A part that the labels of a label map share gives the same note for each label.
    let mut seen = BTreeSet::new();
    out.retain(|note| seen.insert((note.code, note.path.clone(), note.message.clone())));
    out
}
