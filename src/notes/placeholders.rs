//! Placeholders that nothing fills, and templates that have none.

use std::collections::BTreeSet;

use super::braces::{Braced, braced};
use super::note::{Note, Severity, listed};
use super::subject::Subject;
use super::texts::{Filling, TemplateText, names, template_texts};
use crate::near::near;
use crate::plan::{Choice, Mode, Substitution};
use crate::template::keys;
use crate::template::{Form, RawItem, Shape, Source, Template, key_path};
use crate::value::Value;

/// Files of configurations.
const CONFIG_SUFFIXES: [&str; 5] = [".yaml", ".yml", ".json", ".toml", ".py"];

/// What a conversation is filled with.
const PAIR_FIELDS: [&str; 2] = ["question", "answer"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let chat = chat_template(subject);
    let config = subject.config;
    let (main, value, path) = match &chat {
        Some(template) => (template, &subject.settings.prompt_template, "prompt_template"),
        None => subject.main(),
    };
    let texts = template_texts(main, value, path, false);
    let before = out.len();
    let tokens = tokens_of(main);
    for text in &texts {
        if tokens.is_none() {
            in_text(subject, main, text, &subject.fields, false, out);
        }
    }
    let used = uses_column(subject, main, &rendered(subject, main, &texts));
    // Of a table without columns nothing can be named.
    let nameable = !subject.fields.is_empty();
    if nameable && !used && chat.is_none() && out.len() == before && !explained(out, path) {
        let mut note = unused(path_of(main, path), "sample", "samples", &subject.fields);
        if let [TemplateText { text, .. }] = &*texts
            && let Some(remedy) = other_form(text)
        {
            note.remedy = remedy;
        }
        out.push(note);
    }
    let Some(ice) = subject.ice().filter(|_| config.prompt.is_some() && chat.is_none()) else { return };
    let Some(columns) = &subject.tables.examples else { return };
    let texts = template_texts(ice, &subject.settings.ice_template, "ice_template", true);
    let before = out.len();
    if tokens_of(ice).is_none() {
        for text in &texts {
            in_text(subject, ice, text, columns, true, out);
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

/// Whether a note says already why no column stands in a template.
fn explained(notes: &[Note], path: &str) -> bool {
    notes.iter().any(|note| {
        let why = match note.code {
            "unread_key" => note.message.ends_with("no text"),
            "label_like_key" | "round_without_list" => note.severity == Severity::Warning,
            _ => false,
        };
        why && note.place.starts_with(path)
    })
}

/// What of a template's texts is rendered: for generation a label map's first alone.
fn rendered<'t>(subject: &Subject, main: &Template, texts: &[TemplateText<'t>]) -> Vec<TemplateText<'t>> {
    if let Template::Prompt(prompt) = main
        && let Shape::Labels(items) = &prompt.shape
        && let Some((first, _)) = items.first()
        && subject.config.mode == Mode::Gen
        && prompt.tokens.is_none()
    {
        let path = key_path(&prompt.path, first);
        let of_first =
            |place: &str| place.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        return texts.iter().filter(|text| of_first(&text.place)).cloned().collect();
    }
    texts.to_vec()
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
fn in_text(
    subject: &Subject,
    template: &Template,
    text: &TemplateText,
    columns: &[&str],
    example: bool,
    out: &mut Vec<Note>,
) {
    let prompt = if let Template::Prompt(prompt) = template { Some(prompt) } else { None };
    let tokens = prompt.into_iter().flat_map(|p| [p.ice_token.as_deref(), p.sep_token.as_deref()]).flatten();
    let tokens: Vec<&str> = tokens.collect();
    let mut seen = BTreeSet::new();
    for found in braced(&text.text) {
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
        match &text.filling {
            Filling::Nothing if known => {
                out.push(unfilled(text, name, "nothing is filled in here", filled_places(template)));
            }
            Filling::Nothing => {}
            Filling::Pair if PAIR_FIELDS.contains(&name) => {}
            Filling::Pair if known => {
                let why = "a conversation is filled with 'question' and 'answer' alone";
                out.push(unfilled(text, name, why, "rename the column, or leave it out"));
            }
            Filling::Pair => out.extend(unknown(text, &found, &PAIR_FIELDS)),
            Filling::Stretch(own) if name == *own || known && !subject.has(keys::CONTENT) => {}
            Filling::Stretch(own) if known => {
                let why = format!("with a column 'content' only '{{{own}}}' is filled in here");
                out.push(unfilled(text, name, &why, "put it into the tagged text of 'content'"));
            }
            Filling::Stretch(own) => out.extend(unknown(text, &found, &[own])),
            Filling::Columns if columns.contains(&name) || subject.masks(name) && !example => {
                if found.doubled && !found.latex {
                    let message = format!("'{{{{{name}}}}}' keeps its outer braces around what is filled in");
                    let remedy = format!("if they are not meant, write '{{{name}}}'");
                    out.push(Note::info("doubled_braces", &text.place, message, remedy));
                }
            }
            // Of a table without columns nothing can be named.
            Filling::Columns if subject.tables.samples.is_empty() => {}
            Filling::Columns if example && known => out.push(Note::warning(
                "example_column",
                &text.place,
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
                    out.push(Note::info("unknown_placeholder", &text.place, message, remedy));
                    continue;
                }
                let index = matches!(&subject.config.retriever.choice, Choice::Column(own) if own == name);
                let own: Vec<&str> = columns.iter().copied().chain(subject.config.masked()).collect();
                let mut note = unknown(text, &found, columns).or_else(|| formatted(text, &found, &own));
                if let (true, Some(note)) = (index, &mut note) {
                    note.message = format!("'{{{name}}}' is the retriever's column, which is no field of a sample");
                } else if let (true, Some(note)) = (is_emptied(template, text, name), &mut note) {
                    note.message = format!("'{{{name}}}' names no column, so nothing is put in its place");
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

fn unfilled(text: &TemplateText, name: &str, why: &str, remedy: &str) -> Note {
    let message = format!("'{{{name}}}' stays as it is: {why}");
    Note::warning("unfilled_placeholder", &text.place, message, remedy.to_owned())
}

/// A note on a name that is no column, if it is likely meant as one.
fn unknown(text: &TemplateText, found: &Braced, columns: &[&str]) -> Option<Note> {
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
        None => match columns {
            [only] if only.contains([';', '\t']) => {
                format!(
                    "the only column is '{}': fields are told apart by commas, or in .tsv by tabs",
                    only.escape_debug()
                )
            }
            _ => format!("the columns are {}", listed(columns.iter().copied())),
        },
    };
    Some(Note::warning("unknown_placeholder", &text.place, message, remedy))
}

/// A note on a placeholder that says how a column's value is to be formed, as Python's `format` would read it.
fn formatted(text: &TemplateText, found: &Braced, columns: &[&str]) -> Option<Note> {
    let (lead, _) = found.formatted().filter(|_| !found.latex)?;
    let meant = if columns.contains(&lead) { lead } else { near(lead, columns.iter().copied())? };
    let message =
        format!("'{{{}}}' stays in every prompt as it is: only a column's bare name is filled in", found.name);
    let remedy = if meant == lead {
        format!("write '{{{lead}}}', and give the column the form that is meant")
    } else {
        format!("did you mean '{{{meant}}}'?")
    };
    Some(Note::warning("placeholder_format", &text.place, message, remedy))
}

/// Whether a placeholder without a column gives nothing: that of a medium in the compact form.
fn is_emptied(template: &Template, text: &TemplateText, name: &str) -> bool {
    let Template::Media(media) = template else { return false };
    let own = media.media.iter().filter(|own| own.place == text.place && matches!(own.form, Form::Compact { .. }));
    let mut parts = own.flat_map(|own| own.parts.iter().flatten());
    parts.any(|part| *part.placeholder == *name && part.text.literal() == *text.text)
}

fn unused(path: &str, one: &str, many: &str, columns: &[&str]) -> Note {
    let message = format!("no column stands in it, so every {one} gives the same text");
    let names = listed(columns.iter().copied());
    Note::warning("no_column", path, message, format!("name a column in braces; the {many} have {names}"))
}

/// What a text without columns is, if it is no template.
fn other_form(text: &str) -> Option<String> {
    let is_file = CONFIG_SUFFIXES.iter().any(|suffix| text.ends_with(suffix)) && !text.contains(char::is_whitespace);
    if is_file {
        return Some(format!("'{text}' is the text itself here; Renderer.from_config reads a file of that name"));
    }
    let wide = text.contains('\u{ff5b}') && text.contains('\u{ff5d}');
    wide.then(|| "its braces are full-width; write '{' and '}' around a column's name".to_owned())
}

/// Whether what differs between samples comes into their prompts.
fn uses_column(subject: &Subject, main: &Template, texts: &[TemplateText]) -> bool {
    let fields: Vec<&str> = subject.fields.iter().copied().filter(|name| !subject.masks(name)).collect();
    uses(main, texts, &fields)
}

fn uses(template: &Template, texts: &[TemplateText], columns: &[&str]) -> bool {
    match template {
        Template::Turns(_) | Template::Media(_) | Template::Columns(_) | Template::Chat(_) => return true,
        Template::Raw(raw) => {
            if raw.items.iter().any(|item| matches!(item, RawItem::Expand(_))) {
                return true;
            }
        }
        Template::Prompt(prompt) => {
            if let Some(tokens) = &prompt.tokens {
                let stands = |token: &str| texts.iter().any(|text| text.text.contains(token));
                return tokens.selected.is_some() || tokens.columns.iter().any(|(_, token)| stands(token));
            }
        }
    }
    columns.iter().any(|column| names(texts, column))
}
