//! `MMPromptTemplate`: a dialogue whose turns hold texts, images, videos and sounds.
//!
//! A sample's media are in one tagged text: `<AIS_TEXT_START>…<AIS_CONTENT_TAG><AIS_IMAGE_START>…`. Each tagged stretch
//! becomes a part of a message, in its order, with the template's entry for its modality.

use std::sync::Arc;

use super::keys;
use super::media::{MEDIA_KEY, Media};
use super::prompt::{Dialogue, PromptTemplate, only_dialogue};
use super::text::Source;
use super::turn::{Entry, Item};
use crate::error::{Code, Error, Result};

/// A dialogue template with media.
#[derive(Clone, Debug)]
pub struct MediaTemplate {
    /// Its sections. `prompt_mm` of a turn is an [`Entry::Media`], and only bare strings are filled with columns.
    pub dialogue: Dialogue,
    /// Every `prompt_mm` in the dialogue, in order.
    pub media: Vec<Arc<Media>>,
    /// Its ICE token. Examples are ignored, but the harness requires the token if there is an ICE template.
    pub ice_token: Option<String>,
    /// The path in the configuration.
    pub path: String,
}

impl MediaTemplate {
    /// Read a template with media.
    ///
    /// # Errors
    ///
    /// `TemplateError` if it isn't a dialogue, or if its round has a bare string: the harness looks for `prompt_mm` in
    /// each item.
    pub fn new(template: PromptTemplate, source: Source) -> Result<Self> {
        let PromptTemplate { sections, ice_token, path, .. } = template;
        let mut dialogue = only_dialogue(sections, &path, "media need a dialogue template with a round")?;
        if dialogue.round.iter().any(|item| matches!(item, Item::Str(_))) {
            return Err(Error::template(
                Code::StringWithoutRole,
                format!("{path}.round"),
                "a round with media is made of turns (dicts with a role); a bare str has no place in it",
            ));
        }
        // When it looks for parts, the code takes a str with this word for a turn, and fails.
        let outside = dialogue.begin.iter().chain(&dialogue.end).flatten();
        if outside.clone().any(|item| matches!(item, Item::Str(text) if text.contains(keys::PROMPT_MM))) {
            return Err(Error::template(
                Code::StringWithoutRole,
                &path,
                "AISBench can't have a bare str with the word \"prompt_mm\" beside parts; make it a turn with a role",
            ));
        }
        let mut media = Vec::new();
        let sections = [dialogue.begin.as_mut(), Some(&mut dialogue.round), dialogue.end.as_mut()];
        for item in sections.into_iter().flatten().flatten() {
            let Item::Turn(turn) = item else { continue };
            let role = turn.constant(keys::ROLE).cloned();
            for (key, entry) in &mut turn.keys {
                match entry {
                    // As in the harness's code, a turn's text is not filled in here.
                    Entry::Text(text) => text.is_final = true,
                    Entry::Const(value) if &**key == MEDIA_KEY => {
                        let media_path = format!("{}.{MEDIA_KEY}", turn.path);
                        let parts = Arc::new(Media::parse(value, media_path, source, role.as_ref()));
                        media.push(parts.clone());
                        *entry = Entry::Media(parts);
                    }
                    _ => {}
                }
            }
        }
        Ok(Self { dialogue, media, ice_token, path })
    }

    pub(super) fn literals(&self, out: &mut Vec<String>) {
        out.extend(["{content}".to_owned(), "{type}".to_owned()]);
        let sections = [self.dialogue.begin.as_ref(), self.dialogue.end.as_ref()];
        for item in sections.into_iter().flatten().flatten() {
            if let Item::Str(text) = item {
                out.push(text.literal());
            }
        }
        for part in self.media.iter().flat_map(|media| &media.parts).flatten() {
            out.push(part.text.literal());
        }
    }
}
