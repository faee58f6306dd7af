//! Placeholders that nothing fills, and templates that have none.

use std::collections::BTreeSet;

use super::braces::{Braced, braced};
use super::texts::{Filling, Site, sites};
use super::{Note, Subject, listed};
use crate::near::near;
use crate::plan::{Choice, Substitution};
use crate::template::{RawItem, Source, Template};
use crate::value::Value;

/// What a conversation is filled with.
const PAIR: [&str; 2] = ["question", "answer"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let chat = chat_template(subject);
    let config = subject.config;
    let (main, value, path) = match (&chat, &config.prompt) {
        (Some(template), _) => (template, &subject.settings.prompt_template, "prompt_template"),
        (None, Some(template)) => (template, &subject.settings.prompt_template, "prompt_template"),
        (None, None) => (config.main(), &subject.settings.ice_template, "ice_template"),
    };
    let texts = sites(main, value, path, false);
    let before = out.len();
    let tokens = tokens_of(main);
    for site in &texts {
        if tokens.is_none() {
            in_text(subject, main, site, &subject.fields, false, out);
        }
    }
    let used = uses_column(subject, main, &texts);
    // Of a table without columns nothing can be named.
    let nameable = !subject.fields.is_empty();
    if nameable && !used && chat.is_none() && out.len() == before && !explained(out, path) {
        out.push(unused(path_of(main, path), "sample", "samples", &subject.fields));
    }
    let Some(ice) = subject.ice().filter(|_| config.prompt.is_some() && chat.is_none()) else { return };
    let Some(columns) = &subject.tables.examples else { return };
    let texts = sites(ice, &subject.settings.ice_template, "ice_template", true);
    let before = out.len();
    if tokens_of(ice).is_none() {
        for site in &texts {
            in_text(subject, ice, site, columns, true, out);
        }
    }
    if !uses(ice, &texts, columns) && out.len() == before && !explained(out, "ice_template") {
        out.push(unused(path_of(ice, "ice_template"), "example", "examples", columns));
    }
}

/// A chat's template, which its parser takes apart.
fn chat_template(subject: &Subject) -> Option<Template> {
    let value = &subject.settings.prompt_template;
    let is_chat = matches!(subject.config.main(), Template::Chat(_)) && *value != Value::None;
    let parsed = || Template::parse(value, "prompt_template", Source::PromptTemplate, subject.config.dialect).ok();
    is_chat.then(parsed).flatten()
}

/// Whether a misspelt key says already why no column stands in a template.
fn explained(notes: &[Note], path: &str) -> bool {
    notes
        .iter()
        .any(|note| note.code == "unread_key" && note.place.starts_with(path) && note.message.ends_with("no text"))
}

fn tokens_of(template: &Template) -> Option<&crate::template::ColumnTokens> {
    if let Template::Prompt(prompt) = template { prompt.tokens.as_ref() } else { None }
}

fn path_of<'a>(template: &'a Template, path: &'a str) -> &'a str {
    match template {
        Template::Prompt(prompt) => &prompt.path,
        _ => path,
    }
}

/// The placeholders of one text: `columns` are filled into it.
fn in_text(subject: &Subject, template: &Template, site: &Site, columns: &[&str], example: bool, out: &mut Vec<Note>) {
    let prompt = if let Template::Prompt(prompt) = template { Some(prompt) } else { None };
    let tokens = prompt.into_iter().flat_map(|p| [p.ice_token.as_deref(), p.sep_token.as_deref()]).flatten();
    let tokens: Vec<&str> = tokens.collect();
    let mut seen = BTreeSet::new();
    for found in braced(&site.text) {
        let name = found.name;
        // As an argument of a command it says nothing of the same name elsewhere.
        if !seen.insert((name, found.latex, found.doubled)) {
            continue;
        }
        let shape = format!("{{{name}}}");
        if tokens.iter().any(|token| token.contains(&shape)) {
            continue;
        }
        let known = subject.has(name) || columns.contains(&name);
        match &site.filling {
            Filling::Nothing if known => {
                out.push(unfilled(site, name, "nothing is filled in here", filled_places(template)));
            }
            Filling::Nothing => {}
            Filling::Pair if PAIR.contains(&name) => {}
            Filling::Pair if known => {
                let why = "a conversation is filled with 'question' and 'answer' alone";
                out.push(unfilled(site, name, why, "rename the column, or leave it out"));
            }
            Filling::Pair => out.extend(unknown(site, &found, &PAIR)),
            Filling::Stretch(own) if name == *own || known && !subject.has("content") => {}
            Filling::Stretch(own) if known => {
                let why = format!("with a column 'content' only '{{{own}}}' is filled in here");
                out.push(unfilled(site, name, &why, "put it into the tagged text of 'content'"));
            }
            Filling::Stretch(own) => out.extend(unknown(site, &found, &[own])),
            Filling::Columns if columns.contains(&name) || subject.masks(name) && !example => {}
            Filling::Columns if example && known => out.push(Note::warning(
                "example_column",
                &site.place,
                match subject.config.substitution {
                    Substitution::Harness => {
                        format!("the examples have no column '{name}', so every example shows the sample's own")
                    }
                    Substitution::SinglePass => {
                        format!("the examples have no column '{name}', so it stays in every example as it is")
                    }
                },
                format!("give the examples the column '{name}'; they have {}", listed(columns.iter().copied())),
            )),
            Filling::Columns => {
                let attack = subject.settings.inferencer.get("adv_key").and_then(Value::as_str) == Some(name);
                if attack {
                    let message = format!("'{{{name}}}' names no column: the inferencer fills it in, as adv_key says");
                    let remedy = format!("a column '{name}' stands for it");
                    out.push(Note::info("unknown_placeholder", &site.place, message, remedy));
                    continue;
                }
                let index = matches!(&subject.config.retriever.choice, Choice::Column(own) if own == name);
                let mut note = unknown(site, &found, columns);
                if let (true, Some(note)) = (index, &mut note) {
                    note.message = format!("'{{{name}}}' is the retriever's column, which is no field of a sample");
                }
                out.extend(note);
            }
        }
    }
}

fn filled_places(template: &Template) -> &'static str {
    match template {
        Template::Raw(_) => "give the content as one str: content parts are passed on as they stand",
        Template::Media(_) => "put it into 'prompt_mm': 'prompt' is passed on as it stands",
        _ => "put it into round: begin and end of a conversation stay as they are",
    }
}

fn unfilled(site: &Site, name: &str, why: &str, remedy: &str) -> Note {
    let message = format!("'{{{name}}}' stays as it is: {why}");
    Note::warning("unfilled_placeholder", &site.place, message, remedy.to_owned())
}

/// A note on a name that is no column, if it is likely meant as one.
fn unknown(site: &Site, found: &Braced, columns: &[&str]) -> Option<Note> {
    if found.latex || !found.is_wordlike() {
        return None;
    }
    let name = found.name;
    let near = near(name, columns.iter().copied());
    // Single letters in braces are mathematics, but where columns are called so too.
    let short = name.chars().count() == 1 && !columns.iter().any(|column| column.chars().count() == 1);
    if near.is_none() && (!found.is_identifier() || found.doubled || short) {
        return None;
    }
    let message = format!("'{{{name}}}' names no column, so it stays in every prompt as it is");
    let remedy = match near {
        Some(near) => format!("did you mean '{{{near}}}'?"),
        None => format!("the columns are {}", listed(columns.iter().copied())),
    };
    Some(Note::warning("unknown_placeholder", &site.place, message, remedy))
}

fn unused(path: &str, one: &str, many: &str, columns: &[&str]) -> Note {
    let message = format!("no column stands in it, so every {one} gives the same text");
    let names = listed(columns.iter().copied());
    Note::warning("no_column", path, message, format!("name a column in braces; the {many} have {names}"))
}

/// Whether what differs between samples comes into their prompts.
fn uses_column(subject: &Subject, main: &Template, texts: &[Site]) -> bool {
    let fields: Vec<&str> = subject.fields.iter().copied().filter(|name| !subject.masks(name)).collect();
    uses(main, texts, &fields)
}

fn uses(template: &Template, texts: &[Site], columns: &[&str]) -> bool {
    match template {
        Template::Turns(_) | Template::Media(_) | Template::Columns(_) | Template::Chat(_) => return true,
        Template::Raw(raw) => {
            if raw.items.iter().any(|item| matches!(item, RawItem::Expand(_))) {
                return true;
            }
        }
        Template::Prompt(prompt) => {
            if let Some(tokens) = &prompt.tokens {
                let stands = |token: &str| texts.iter().any(|site| site.text.contains(token));
                return tokens.selected.is_some() || tokens.columns.iter().any(|(_, token)| stands(token));
            }
        }
    }
    columns.iter().any(|column| names(texts, column))
}

/// Whether a text names this column.
pub(super) fn names(texts: &[Site], column: &str) -> bool {
    let placeholder = format!("{{{column}}}");
    texts.iter().any(|site| site.filling == Filling::Columns && site.text.contains(&placeholder))
}
