//! Access to the dialogues of a template, their sections and their turns.

use crate::template::{Body, Dialogue, Item, Shape, Template, Turn};

/// Return every dialogue of a template.
pub(super) fn dialogues(template: &Template) -> Vec<&Dialogue> {
    fn of(body: &Body) -> Option<&Dialogue> {
        if let Body::Dialogue(dialogue) = body { Some(dialogue) } else { None }
    }
    match template {
        Template::Prompt(prompt) => match &prompt.shape {
            Shape::Single(body) => of(body).into_iter().collect(),
            Shape::Labels(items) => items.iter().filter_map(|(_, body)| of(body)).collect(),
        },
        Template::Turns(turns) => vec![&turns.dialogue],
        Template::Media(media) => vec![&media.dialogue],
        Template::Raw(_) | Template::Columns(_) | Template::Chat(_) => Vec::new(),
    }
}

/// Return the sections of a dialogue with their names.
pub(super) fn sections(dialogue: &Dialogue) -> impl Iterator<Item = (&'static str, &[Item])> {
    let begin = dialogue.begin.as_deref().map(|items| ("begin", items));
    let end = dialogue.end.as_deref().map(|items| ("end", items));
    begin.into_iter().chain([("round", &*dialogue.round)]).chain(end)
}

/// Return every turn of a template.
pub(super) fn turns(template: &Template) -> impl Iterator<Item = &Turn> {
    let items = dialogues(template).into_iter().flat_map(|dialogue| sections(dialogue).flat_map(|(_, items)| items));
    items.filter_map(|item| if let Item::Turn(turn) = item { Some(turn) } else { None })
}
