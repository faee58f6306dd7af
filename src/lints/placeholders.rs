//! Notes on placeholders that aren't filled, and on templates without placeholders.

use std::collections::BTreeSet;

use super::braces::{Braced, braced, unclosed};
use super::note::{Note, Severity, listed};
use super::subject::Subject;
use super::texts::{Filling, TemplateText, names, template_texts};
use crate::plan::{Choice, Mode, is_filled};
use crate::suggest::closest;
use crate::template::keys;
use crate::template::{Form, RawItem, Shape, Source, Template, key_path};
use crate::value::Value;

/// The suffixes of configuration files.
const CONFIG_SUFFIXES: [&str; 5] = [".yaml", ".yml", ".json", ".toml", ".py"];

/// The fields of a conversation's turns.
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
    if config.unescapes && chat.is_none() {
        empty(main, &texts, path, out);
    }
    let used = uses_column(subject, main, &rendered(subject, main, &texts));
    // No column of a table without columns can be named.
    let nameable = !subject.fields.is_empty();
    // Doubled braces may be all that such a template has, and don't say that nothing is filled in.
    let is_silent = out[before..].iter().all(|note| note.code == "doubled_braces");
    if nameable && !used && chat.is_none() && is_silent && !explained(out, path) {
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
    if !uses(subject, ice, &texts, columns) && out.len() == before && !explained(out, "ice_template") {
        out.push(unused(path_of(ice, "ice_template"), "example", "examples", columns));
    }
}

/// Return the template of a chat, read as its parser reads it.
fn chat_template(subject: &Subject) -> Option<Template> {
    let value = &subject.settings.prompt_template;
    let is_chat = matches!(subject.config.main(), Template::Chat(_)) && *value != Value::None;
    let parsed = || Template::parse(value, "prompt_template", Source::PromptTemplate, subject.config.dialect).ok();
    is_chat.then(parsed).flatten()
}

/// Return true if another note explains why a template has no column.
fn explained(notes: &[Note], path: &str) -> bool {
    notes.iter().any(|note| {
        let why = match note.code {
            "unread_key" => note.message.ends_with("no text"),
            "label_like_key" | "round_without_list" => note.severity == Severity::Warning,
            _ => false,
        };
        why && note.path.starts_with(path)
    })
}

/// Return the texts of a template that are rendered. In generation, only the first text of a label map is.
fn rendered<'t>(subject: &Subject, main: &Template, texts: &[TemplateText<'t>]) -> Vec<TemplateText<'t>> {
    if let Template::Prompt(prompt) = main
        && let Shape::Labels(items) = &prompt.shape
        && let Some((first, _)) = items.first()
        && subject.config.mode == Mode::Gen
        && prompt.tokens.is_none()
    {
        let path = key_path(&prompt.path, first);
        let of_first = |text_path: &str| {
            text_path.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        return texts.iter().filter(|text| of_first(&text.path)).cloned().collect();
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

/// Adds notes on the placeholders of one text, into which `columns` are filled.
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
    if subject.config.unescapes && text.filling == Filling::Columns {
        let names: BTreeSet<&str> = unclosed(&text.text, columns).into_iter().collect();
        out.extend(names.into_iter().map(|name| open_brace(text, name)));
    }
    let mut seen = BTreeSet::new();
    for braces in braced(&text.text) {
        let name = braces.name;
        // A name as an argument of a command is reported separately from the same name elsewhere.
        if !seen.insert((name, braces.latex, braces.pairs)) {
            continue;
        }
        let shape = format!("{{{name}}}");
        if tokens.iter().any(|token| token.contains(&shape)) {
            continue;
        }
        let is_column = subject.has(name) || columns.contains(&name);
        match &text.filling {
            Filling::Nothing if is_column => {
                out.push(unfilled(text, name, "nothing is filled in here", filled_places(template)));
            }
            Filling::Nothing => {}
            Filling::Pair if PAIR_FIELDS.contains(&name) => {}
            Filling::Pair if is_column => {
                let why = "a conversation is filled with 'question' and 'answer' alone";
                out.push(unfilled(text, name, why, "rename the column, or leave it out"));
            }
            Filling::Pair => out.extend(unknown(text, &braces, &PAIR_FIELDS)),
            Filling::Stretch(placeholder) if name == *placeholder || is_column && !subject.has(keys::CONTENT) => {}
            Filling::Stretch(placeholder) if is_column => {
                let why = format!("with a column 'content' only '{{{placeholder}}}' is filled in here");
                out.push(unfilled(text, name, &why, "put it into the tagged text of 'content'"));
            }
            Filling::Stretch(placeholder) => out.extend(unknown(text, &braces, &[placeholder])),
            Filling::Columns if columns.contains(&name) || subject.masks(name) && !example => {
                out.extend(if subject.config.unescapes { filled_once(text, &braces) } else { doubled(text, &braces) });
            }
            // No column of a table without columns can be named.
            Filling::Columns if subject.tables.samples.is_empty() => {}
            Filling::Columns if example && is_column => out.push(Note::warning(
                "example_column",
                &text.path,
                if subject.config.substitution.searches_examples() {
                    format!("the examples have no column '{name}', so every example shows the sample's own")
                } else {
                    format!("the examples have no column '{name}', so it stays in every example as it is")
                },
                format!("give the examples the column '{name}'; they have {}", listed(columns.iter().copied())),
            )),
            Filling::Columns => {
                let attack = subject.settings.inferencer.get("adv_key").and_then(Value::as_str) == Some(name);
                if attack {
                    let message = format!("'{{{name}}}' names no column: the inferencer fills it in, as adv_key says");
                    let remedy = format!("a column '{name}' stands for it");
                    out.push(Note::info("unknown_placeholder", &text.path, message, remedy));
                    continue;
                }
                let index = matches!(&subject.config.retriever.choice, Choice::Column(column) if column == name);
                let fields: Vec<&str> = columns.iter().copied().chain(subject.config.masked()).collect();
                let jinja = || jinja_like(text, &braces, &fields).filter(|_| subject.config.unescapes);
                let plain = || unknown(text, &braces, columns).or_else(|| formatted(text, &braces, &fields));
                let mut note = jinja().or_else(plain);
                if let Some(note) = &mut note {
                    note.is_whole = subject.config.unescapes && text.text.trim() == shape;
                }
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

/// Return a note on doubled braces that stay around a column's field.
fn doubled(text: &TemplateText, braces: &Braced) -> Option<Note> {
    let name = braces.name;
    let message = format!("'{{{{{name}}}}}' keeps its outer braces around what is filled in");
    let remedy = format!("if they are not meant, write '{{{name}}}'");
    let note = Note::info("doubled_braces", &text.path, message, remedy);
    (braces.is_doubled() && !braces.latex).then_some(note)
}

/// Return a note on a column's name in doubled braces, which stand for braces, or right after a LaTeX command, whose
/// braces are taken for a placeholder's.
fn filled_once(text: &TemplateText, braces: &Braced) -> Option<Note> {
    let name = braces.name;
    if braces.latex && !braces.is_doubled() {
        let command = braces.command();
        let message = format!("'{command}{{{name}}}' has no braces left: the column '{name}' is filled in");
        let remedy = format!(
            "'{command}{{{{{name}}}}}' is the text '{command}{{{name}}}', and '{command}{{{{{{{name}}}}}}}' has braces \
             around the column"
        );
        return Some(Note::warning("latex_placeholder", &text.path, message, remedy));
    }
    let message = format!("'{{{{{name}}}}}' stands for the text '{{{name}}}'");
    let remedy = format!(
        "'{{{name}}}' fills in the column; a Jinja template is rendered by JinjaTemplate (--jinja on the command line)"
    );
    let note = Note::info("doubled_braces", &text.path, message, remedy);
    (!is_filled(braces.pairs) && !braces.latex).then_some(note)
}

/// Return a note on a column that is written as Jinja writes it, `{{ question }}`.
fn jinja_like(text: &TemplateText, braces: &Braced, columns: &[&str]) -> Option<Note> {
    let inner = braces.name.trim();
    let lead = inner.split([' ', '|', '.', '[', '(']).next().unwrap_or_default();
    if braces.pairs != 1 || braces.latex || inner.len() == braces.name.len() && inner.len() == lead.len() {
        return None;
    }
    let column = if columns.contains(&lead) { lead } else { closest(lead, columns.iter().copied())? };
    let message = format!("'{{{{{}}}}}' stays in every prompt as it is: it looks like Jinja", braces.name);
    let remedy =
        format!("JinjaTemplate (--jinja on the command line) renders Jinja; a placeholder here is '{{{column}}}'");
    let note = Note::warning("unknown_placeholder", &text.path, message, remedy);
    Some(Note { column: Some(column.to_owned()), ..note })
}

/// Adds a note on a template without any text.
fn empty(main: &Template, texts: &[TemplateText], path: &str, out: &mut Vec<Note>) {
    // What is said before a conversation's rounds is no template of a sample.
    let begin = format!("{}.begin[", path_of(main, path));
    let mut filled = texts.iter().filter(|text| !text.path.starts_with(&begin)).peekable();
    if matches!(main, Template::Prompt(_) | Template::Raw(_)) && filled.peek().is_some() && filled.all(is_blank) {
        let message = "it is empty, so every prompt is, too".to_owned();
        let remedy = "write a text with a column's name in braces, such as '{question}'".to_owned();
        out.push(Note::warning("empty_template", path_of(main, path), message, remedy));
    }
}

fn is_blank(text: &TemplateText) -> bool {
    text.text.trim().is_empty()
}

fn open_brace(text: &TemplateText, name: &str) -> Note {
    let message = format!("'{{{name}' stays in every prompt as it is: its brace isn't closed");
    let remedy = format!("write '{{{name}}}'");
    Note::warning("unclosed_brace", &text.path, message, remedy)
}

fn unfilled(text: &TemplateText, name: &str, why: &str, remedy: &str) -> Note {
    let message = format!("'{{{name}}}' stays as it is: {why}");
    Note::warning("unfilled_placeholder", &text.path, message, remedy.to_owned())
}

/// Return a note on a name that isn't a column, if it is likely a column's placeholder.
fn unknown(text: &TemplateText, braces: &Braced, columns: &[&str]) -> Option<Note> {
    if braces.latex || !braces.is_wordlike() {
        return None;
    }
    let name = braces.name;
    let suggestion = closest(name, columns.iter().copied());
    // A single letter in braces is mathematics, unless it is the whole text, or a column's name is a single letter.
    let is_whole = text.text.trim() == format!("{{{name}}}");
    let short = name.chars().count() == 1 && !is_whole && !columns.iter().any(|column| column.chars().count() == 1);
    if suggestion.is_none() && (!braces.is_identifier() || braces.is_doubled() || short) {
        return None;
    }
    let message = format!("'{{{name}}}' names no column, so it stays in every prompt as it is");
    let remedy = match suggestion {
        Some(suggestion) => format!("did you mean '{{{suggestion}}}'?"),
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
    let column = suggestion.map(str::to_owned);
    Some(Note { column, ..Note::warning("unknown_placeholder", &text.path, message, remedy) })
}

/// Return a note on a placeholder with a format for the column's value, as Python's `format` allows it.
fn formatted(text: &TemplateText, braces: &Braced, columns: &[&str]) -> Option<Note> {
    let (lead, _) = braces.formatted().filter(|_| !braces.latex)?;
    let suggestion = if columns.contains(&lead) { lead } else { closest(lead, columns.iter().copied())? };
    let message =
        format!("'{{{}}}' stays in every prompt as it is: only a column's bare name is filled in", braces.name);
    let remedy = if suggestion == lead {
        format!("write '{{{lead}}}', and give the column the form that is meant")
    } else {
        format!("did you mean '{{{suggestion}}}'?")
    };
    Some(Note::warning("placeholder_format", &text.path, message, remedy))
}

/// Return true if a placeholder without a column is replaced by nothing: a media placeholder in the compact form.
fn is_emptied(template: &Template, text: &TemplateText, name: &str) -> bool {
    let Template::Media(media) = template else { return false };
    let entries =
        media.media.iter().filter(|entry| entry.path == text.path && matches!(entry.form, Form::Compact { .. }));
    let mut parts = entries.flat_map(|entry| entry.parts.iter().flatten());
    parts.any(|part| *part.placeholder == *name && part.text.literal() == *text.text)
}

fn unused(path: &str, singular: &str, plural: &str, columns: &[&str]) -> Note {
    let message = format!("no column stands in it, so every {singular} gives the same text");
    let names = listed(columns.iter().copied());
    Note::warning("no_column", path, message, format!("name a column in braces; the {plural} have {names}"))
}

/// Return a remedy if a text without columns isn't a template but something else.
fn other_form(text: &str) -> Option<String> {
    let is_file = CONFIG_SUFFIXES.iter().any(|suffix| text.ends_with(suffix)) && !text.contains(char::is_whitespace);
    if is_file {
        return Some(format!("'{text}' is the text itself here; Renderer.from_config reads a file of that name"));
    }
    let wide = text.contains('\u{ff5b}') && text.contains('\u{ff5d}');
    wide.then(|| "its braces are full-width; write '{' and '}' around a column's name".to_owned())
}

/// Return true if the prompts contain something that differs between samples.
fn uses_column(subject: &Subject, main: &Template, texts: &[TemplateText]) -> bool {
    let fields: Vec<&str> = subject.fields.iter().copied().filter(|name| !subject.masks(name)).collect();
    uses(subject, main, texts, &fields)
}

fn uses(subject: &Subject, template: &Template, texts: &[TemplateText], columns: &[&str]) -> bool {
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
    columns.iter().any(|column| names(subject, texts, column))
}
