//! Notes on columns that the tables lack, messages written as text, an answer that isn't masked, and examples that are
//! also samples.

use super::note::{Note, listed};
use super::subject::Subject;
use super::texts::{TemplateText, messages_path, names, template_texts};
use crate::plan::{Choice, Mode};
use crate::suggest::{closest, did_you_mean};
use crate::template::{RawItem, Shape, Template};

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    reader(subject, out);
    for (template, value, path) in subject.templates() {
        if let Template::Raw(raw) = template {
            let messages = messages_path(value, path);
            for (n, item) in raw.items.iter().enumerate() {
                expanded(subject, item, path, &format!("{messages}[{n}].expand_column"), out);
            }
        }
        messages_as_text(subject, &template_texts(template, value, path, path == "ice_template"), out);
    }
    unmasked(subject, out);
    same_rows(subject, out);
}

fn lacks(subject: &Subject, name: &str) -> bool {
    // Nothing is known about a table without a schema, and the retriever's column exists.
    !subject.tables.samples.contains(&name)
}

fn hint(subject: &Subject, name: &str) -> String {
    match closest(name, subject.fields.iter().copied()) {
        Some(suggestion) => format!("did you mean '{suggestion}'?"),
        None => format!("the samples have {}", listed(subject.fields.iter().copied())),
    }
}

fn reader(subject: &Subject, out: &mut Vec<Note>) {
    let reader = &subject.config.reader;
    for (n, name) in reader.input_columns.iter().enumerate() {
        if lacks(subject, name) {
            let message = format!("the samples have no column '{name}'");
            let path = format!("reader.input_columns[{n}]");
            out.push(Note::warning("missing_input_column", &path, message, hint(subject, name)));
        }
    }
    let Some(name) = reader.output_column.as_deref().filter(|name| lacks(subject, name)) else { return };
    let path = "reader.output_column";
    let main = subject.config.main();
    let texts = template_texts(main, &subject.settings.prompt_template, "prompt_template", false);
    let has_suggestion = closest(name, subject.fields.iter().copied()).is_some();
    let lacking = format!("the samples have no column '{name}'");
    let (note, becomes): (fn(_, &str, _, _) -> _, _) = match (subject.masks(name), names(subject, &texts, name)) {
        // The samples have no answers: they are rendered as if they had some.
        (true, true) => (
            if has_suggestion { Note::warning } else { Note::info },
            format!("; '{{{name}}}' is left empty all the same"),
        ),
        // A split without answers may be intended, too. But another column in a template may be the answer.
        (true, false) => {
            let inputs = &reader.input_columns;
            let other = |field: &&str| !inputs.iter().any(|input| input == field) && names(subject, &texts, field);
            let names_other_column = !inputs.is_empty() && subject.fields.iter().any(other);
            (
                if has_suggestion || names_other_column { Note::warning } else { Note::info },
                ", so no column is masked".to_owned(),
            )
        }
        (false, _) => (if has_suggestion { Note::warning } else { Note::info }, String::new()),
    };
    out.push(note("missing_output_column", path, lacking + &becomes, hint(subject, name)));
}

fn expanded(subject: &Subject, item: &RawItem, path: &str, item_path: &str, out: &mut Vec<Note>) {
    let RawItem::Expand(column) = item else { return };
    let columns = if path == "ice_template" && subject.config.prompt.is_some() {
        match &subject.tables.examples {
            Some(columns) => columns,
            None => return,
        }
    } else {
        &subject.fields
    };
    if columns.contains(&column.as_str()) {
        return;
    }
    let message = format!("there is no column '{column}', so it gives no messages");
    let hint = did_you_mean(column, columns.iter().copied());
    let remedy = match hint.strip_prefix("; ") {
        Some(hint) => hint.to_owned(),
        None => format!("the columns are {}", listed(columns.iter().copied())),
    };
    out.push(Note::warning("missing_expand_column", item_path, message, remedy));
}

/// Adds a note for each text that would show a list of messages as Python prints it.
fn messages_as_text(subject: &Subject, texts: &[TemplateText], out: &mut Vec<Note>) {
    for text in texts {
        for column in &subject.tables.conversations {
            if names(subject, std::slice::from_ref(text), column) {
                let message =
                    format!("'{{{column}}}' is a column of messages, written as Python prints a list of dicts");
                let remedy = format!(
                    "a chat template (ChatTemplate, --chat-template) renders the messages; \
                     {{'expand_column': '{column}'}} among raw messages passes them on"
                );
                out.push(Note::warning("messages_as_text", &text.path, message, remedy));
            }
        }
    }
}

/// Adds a note if the prompt of a template that is never masked has the answer.
fn unmasked(subject: &Subject, out: &mut Vec<Note>) {
    let config = subject.config;
    let Some(column) = config.reader.output_column.as_deref().filter(|name| subject.has(name)) else { return };
    let (main, value, path) = subject.main();
    let (why, remedy) = match main {
        Template::Raw(_) if config.mode == Mode::Gen => ("raw messages are never masked", "leave it out"),
        Template::Media(_) => ("a dialogue with media is never masked", "leave it out"),
        // The model scores a label's text; the true answer next to it would give the label away.
        Template::Prompt(prompt) if config.mode == Mode::Ppl && matches!(prompt.shape, Shape::Labels(_)) => {
            ("nothing is masked in ppl mode", "write the label's own text")
        }
        _ => return,
    };
    for text in template_texts(main, value, path, false) {
        if names(subject, std::slice::from_ref(&text), column) {
            let message = format!("'{{{column}}}' is the output column: the answer stands in the prompt, for {why}");
            out.push(Note::warning("unmasked_output_column", &text.path, message, remedy.to_owned()));
        }
    }
    if let Template::Raw(raw) = main {
        let messages = messages_path(value, path);
        for (n, item) in raw.items.iter().enumerate() {
            if matches!(item, RawItem::Expand(name) if name == column) {
                let item_path = format!("{messages}[{n}].expand_column");
                let message = format!("'{column}' is the output column: the answer stands in the prompt, for {why}");
                out.push(Note::warning("unmasked_output_column", &item_path, message, remedy.to_owned()));
            }
        }
    }
}

/// Adds a note if examples have the answers of samples.
fn same_rows(subject: &Subject, out: &mut Vec<Note>) {
    if subject.ice().is_none() {
        return;
    }
    let remedy = || "give the train split as examples".to_owned();
    let choice = &subject.config.retriever.choice;
    match (choice, subject.tables.same) {
        (Choice::Random { .. }, true) => {
            let message = "the examples are the samples' own table: a sample may be its own example".to_owned();
            out.push(Note::warning("same_table", "examples", message, remedy()));
        }
        // The rows before a sample, or the rows that were retrieved for it, may be samples on purpose.
        (Choice::Window { .. } | Choice::Column(_), true) => {
            let message = "the examples are the samples' own table".to_owned();
            out.push(Note::info("same_table", "examples", message, remedy()));
        }
        (Choice::Fixed(_), true) => {
            let message = "the examples are the samples' own table: those that are chosen show their own answers";
            let remedy = "give the train split as examples, or leave the chosen rows out of the samples".to_owned();
            out.push(Note::warning("same_table", "examples", message.to_owned(), remedy));
        }
        (Choice::Fixed(_), false) if !subject.tables.shared.is_empty() => {
            let rows: Vec<String> = subject.tables.shared.iter().map(i64::to_string).collect();
            let message = format!("samples hold the examples of these rows too: {}", rows.join(", "));
            let remedy = "choose rows that are no samples, or leave these out of the samples".to_owned();
            out.push(Note::warning("chosen_samples", "retriever.fix_id_list", message, remedy));
        }
        _ => {}
    }
}
