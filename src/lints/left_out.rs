//! Notes on parts that are given but are in no prompt: examples without a place, the roles of a dialogue, all labels
//! but the first. Also notes on a turn of the model that is in every prompt.

use std::collections::BTreeSet;

use super::dialogues::turns;
use super::note::{Note, listed};
use super::structure::takes_first;
use super::subject::Subject;
use super::texts::template_texts;
use crate::plan::Mode;
use crate::role::MetaTemplate;
use crate::template::{Shape, Template, Turn, keys};
use crate::value::Value;

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let (main, value, path) = subject.main();
    let Template::Prompt(prompt) = main else { return };
    if let Some(token) = prompt.ice_token.as_deref()
        && subject.ice().is_some()
        && !template_texts(main, value, path, false).iter().any(|text| text.text.contains(token))
    {
        let message = format!("the ice_token '{token}' stands nowhere in it, so no example is in any prompt");
        let remedy = format!("write '{token}' where the examples belong, such as in begin, or leave the retriever out");
        out.push(Note::warning("examples_nowhere", &prompt.path, message, remedy));
    }
    roles(subject, main, &prompt.path, out);
    nobody_generates(subject, main, out);
    // A given inferencer or mode is a choice: harnesses render a label map like this for generation.
    let chosen = subject.settings.mode != Value::None || subject.settings.inferencer != Value::None;
    if let Shape::Labels(items) = &prompt.shape
        && items.len() > 1
        && !chosen
        && takes_first(subject, prompt, path)
        && !out.iter().any(|note| note.code == "label_like_key" && note.path.starts_with(path))
        && let Some((first, _)) = items.first()
    {
        let first = first.key();
        let message = format!("of {} labels only the first, '{first}', is rendered: the mode is gen", items.len());
        let remedy = "mode: ppl renders each label".to_owned();
        out.push(Note::info("first_label_only", &prompt.path, message, remedy));
    }
}

/// Adds a note if the turn of a masked answer stays in the prompt, because no role generates.
fn nobody_generates(subject: &Subject, main: &Template, out: &mut Vec<Note>) {
    let config = subject.config;
    let (Mode::Gen, Some(MetaTemplate::Rounds(rounds)), Some(answer)) = (config.mode, &config.meta, config.masked())
    else {
        return;
    };
    let generates = |turn: &Turn| turn.constant(keys::GENERATE).is_some_and(Value::truthy);
    let placeholder = format!("{{{answer}}}");
    let answers = |turn: &Turn| turn.prompt().is_some_and(|text| text.literal().contains(&placeholder));
    if rounds.roles.iter().any(|(_, role)| generates(role)) || turns(main).any(generates) || !turns(main).any(answers) {
        return;
    }
    let message = "no role generates, so the turn of the answer is in every prompt, with nothing in the answer's place";
    let remedy = "give \"generate\": true to the role that the model speaks";
    out.push(Note::info("nobody_generates", "meta_template", message.to_owned(), remedy.to_owned()));
}

/// Adds a note if the roles of a dialogue are lost. They depend on the model; without a meta template, a chat API gets
/// the dialogue as one text of the user.
fn roles(subject: &Subject, main: &Template, path: &str, out: &mut Vec<Note>) {
    let config = subject.config;
    if config.output.chat.is_none() || config.meta.is_some() {
        return;
    }
    let names: BTreeSet<&str> = turns(main).filter_map(|turn| turn.constant(keys::ROLE)?.as_str()).collect();
    if names.len() > 1 {
        let names = listed(names);
        let message =
            format!("no meta template says what {names} are called, so all turns are one message of the user");
        let remedy = "give the model's meta template, whose roles have an api_role; or write the template as a list of \
                      messages, {\"role\": ..., \"content\": ...}";
        out.push(Note::info("roles_left_out", path, message, remedy.to_owned()));
    }
}
