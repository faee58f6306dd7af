//! `MMPromptTemplate`: a dialogue whose turns hold texts, images, videos and sounds.
//!
//! What a sample shows stands in one tagged text: `<AIS_TEXT_START>…<AIS_CONTENT_TAG><AIS_IMAGE_START>…`. Each tagged
//! stretch becomes a part of a message, in its order, by the template's entry for its modality.

use std::sync::Arc;

use super::prompt::{Body, Dialogue, PromptTemplate};
use super::text::{Origin, Source, Text};
use super::turn::{Entry, Item};
use crate::error::{Code, Error, Result};
use crate::near::meant_as;
use crate::value::Value;

/// The key of a turn that holds its parts.
pub const KEY: &str = "prompt_mm";

/// What ends every stretch of a tagged text.
pub const END_TAG: &str = "<AIS_CONTENT_TAG>";

/// What a stretch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    /// Text.
    Text,
    /// An image.
    Image,
    /// A video.
    Video,
    /// A sound.
    Audio,
}

impl Modality {
    /// Every modality, in the order in which [`Media::parts`] has them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Image, Self::Video, Self::Audio];

    /// What a stretch of it begins with.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Text => "<AIS_TEXT_START>",
            Self::Image => "<AIS_IMAGE_START>",
            Self::Video => "<AIS_VIDEO_START>",
            Self::Audio => "<AIS_AUDIO_START>",
        }
    }

    /// Its entry in `prompt_mm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
        }
    }

    /// The placeholder that its stretches are filled in for.
    pub fn placeholder(self) -> &'static str {
        if self == Self::Text { "question" } else { self.name() }
    }

    /// The key of a part that holds it.
    pub fn holder(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image_url",
            Self::Video => "video_url",
            Self::Audio => "audio_url",
        }
    }

    /// The modality of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// What stands under a key of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKey {
    /// The same for every sample.
    Const(Value),
    /// The filled text.
    Text,
    /// An object whose one open key, without a value here, holds the filled text.
    Object(Vec<(Arc<str>, Option<Value>)>),
}

/// A part of a message, before its stretch is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its keys in order.
    pub keys: Vec<(Arc<str>, PartKey)>,
    /// What stands in the open place.
    pub text: Text,
    /// The placeholder for the stretch.
    pub placeholder: Arc<str>,
}

impl Part {
    /// The same part for a payload that brings its own scheme: the template's own is left away.
    #[must_use]
    pub fn without_scheme(&self) -> Self {
        let whole = self.text.literal();
        let token = format!("{{{}}}", self.placeholder);
        match whole.find(&token) {
            Some(at) if has_scheme(&whole.as_bytes()[..at]) => {
                Self { text: self.text.cut(at, whole.len()), ..self.clone() }
            }
            _ => self.clone(),
        }
    }
}

/// Whether a payload says itself how it is to be read: a URL of a file, of the net, or of data.
pub fn has_scheme(payload: &[u8]) -> bool {
    [&b"file://"[..], b"http://", b"https://", b"data:"].iter().any(|scheme| payload.starts_with(scheme))
}

/// How the parts of a turn are written down.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// An entry a modality, filled once for each tagged stretch.
    Tagged,
    /// `{"text": "...", "image_url": "..."}`: filled from columns, a list of URLs giving a part each. The code of
    /// AISBench means it and never gets there.
    Compact {
        /// Which parts there are, in order: places in [`Media::parts`], and None for `mm_url`, whose modality the
        /// sample's column `type` says; its parts are the last three.
        order: Vec<Option<usize>>,
    },
}

/// `prompt_mm` of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Where it stands in the configuration.
    pub place: String,
    /// How its parts are written down.
    pub form: Form,
    /// The parts: of a tagged form by modality; or why a stretch that needs one can't be rendered.
    pub parts: Vec<Result<Part>>,
}

impl Media {
    fn parse(value: &Value, place: String, source: Source, role: Option<&Value>) -> Self {
        let origin = Origin { source, role: role.and_then(Value::as_text).cloned(), ..Origin::default() };
        if let Some((order, parts)) = compact(value, &origin) {
            return Self { place, form: Form::Compact { order }, parts };
        }
        let parts = Modality::ALL.iter().map(|m| tagged(value, *m, &place, &origin)).collect();
        Self { place, form: Form::Tagged, parts }
    }
}

/// The entry of a modality.
fn tagged(value: &Value, modality: Modality, place: &str, origin: &Origin) -> Result<Part> {
    let name = modality.name();
    let Value::Dict(entries) = value else {
        return Err(Error::template(
            Code::WrongType,
            place,
            format!("expected a dict with an entry a modality, found {}", value.type_name()),
        ));
    };
    let Some(entry) = value.get(name) else {
        let known: Vec<String> = entries.iter().map(|(k, _)| k.to_string()).collect();
        let hint = meant_as(name, value.names(), &Modality::ALL.map(Modality::name));
        let message =
            format!("the sample shows {name}, and there is no entry {name:?}; it has {}{hint}", known.join(", "));
        return Err(Error::template(Code::MissingModality, place, message));
    };
    let place = format!("{place}.{name}");
    let Value::Dict(keys) = entry else {
        return Err(Error::template(Code::WrongType, place, format!("expected a dict, found {}", entry.type_name())));
    };
    let holder = modality.holder();
    let mut text = None;
    let wrong = |place: String, found: &Value| {
        Error::template(
            Code::WrongType,
            place,
            format!("expected a str to fill the payload into, found {}", found.type_name()),
        )
    };
    let mut out = Vec::with_capacity(keys.len());
    for (key, value) in keys {
        let key: Arc<str> = key.key();
        let slot = match value {
            _ if &*key != holder => PartKey::Const(value.clone()),
            Value::Str(s) => {
                text = Some(Text::lit(s.clone(), origin.clone()));
                PartKey::Text
            }
            Value::Dict(inner) if modality != Modality::Text => {
                let mut object = Vec::with_capacity(inner.len());
                for (key, value) in inner {
                    let key: Arc<str> = key.key();
                    object.push(match value {
                        Value::Str(s) if &*key == "url" => {
                            text = Some(Text::lit(s.clone(), origin.clone()));
                            (key, None)
                        }
                        found if &*key == "url" => return Err(wrong(format!("{place}.{holder}.url"), found)),
                        other => (key, Some(other.clone())),
                    });
                }
                PartKey::Object(object)
            }
            found => return Err(wrong(format!("{place}.{holder}"), found)),
        };
        out.push((key, slot));
    }
    let missing = if entry.get(holder).is_some() { format!("{holder}.url") } else { holder.to_owned() };
    let text = text.ok_or_else(|| {
        let hint = meant_as(holder, entry.names(), &["type"]);
        Error::template(Code::MissingKey, place, format!("the key {missing:?} is required, and missing{hint}"))
    })?;
    Ok(Part { keys: out, text, placeholder: modality.placeholder().into() })
}

/// `{"text": "...", "image_url": "...", ...}`, if that is what it is.
#[allow(clippy::type_complexity, reason = "the two halves of one value, taken apart at once")]
fn compact(value: &Value, origin: &Origin) -> Option<(Vec<Option<usize>>, Vec<Result<Part>>)> {
    let Value::Dict(entries) = value else { return None };
    let part = |holder: &str, text: &str| {
        // A text is filled from all columns; of a medium one column may hold several.
        let named = || text.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
        let placeholder = if holder == Modality::Text.holder() { "" } else { named().unwrap_or_default() };
        let kind = PartKey::Const(Value::from(holder));
        Ok(Part {
            keys: vec![("type".into(), kind), (holder.into(), PartKey::Text)],
            text: Text::lit(text, origin.clone()),
            placeholder: placeholder.into(),
        })
    };
    let (mut order, mut parts, mut last) = (Vec::new(), Vec::new(), None);
    for (key, text) in entries {
        let (key, text) = (key.as_str()?, text.as_str()?);
        if key == "mm_url" {
            last = Some(text);
        } else {
            let holder = Modality::ALL.iter().map(|m| m.holder()).find(|holder| *holder == key)?;
            order.push(Some(parts.len()));
            parts.push(part(holder, text));
        }
    }
    if let Some(text) = last {
        // The harness renames the key, which puts it behind the others.
        order.push(None);
        parts.extend(Modality::ALL[1..].iter().map(|m| part(m.holder(), text)));
    }
    (!order.is_empty()).then_some((order, parts))
}

/// A dialogue template with media.
#[derive(Clone, Debug)]
pub struct MediaTemplate {
    /// Its sections; `prompt_mm` of a turn is an [`Entry::Media`], and only bare strings are filled with columns.
    pub dialogue: Dialogue,
    /// Every `prompt_mm` in it, in order.
    pub media: Vec<Arc<Media>>,
    /// Its ICE token: examples are ignored, but the harness asks for it where an ICE template is given.
    pub ice_token: Option<String>,
    /// Where it stands in the configuration.
    pub path: String,
}

impl MediaTemplate {
    /// Read a template with media.
    ///
    /// # Errors
    ///
    /// `TemplateError` if it is no dialogue, or its round holds a bare string: the harness looks for `prompt_mm` in
    /// each item.
    pub fn new(template: PromptTemplate, source: Source) -> Result<Self> {
        let mut dialogue = match template.sections {
            Some(Body::Dialogue(dialogue)) => dialogue,
            Some(Body::Bad(error)) => return Err(error),
            _ => {
                return Err(Error::template(
                    Code::WrongTemplateForm,
                    &template.path,
                    "media need a dialogue template with a round",
                ));
            }
        };
        if dialogue.round.iter().any(|item| matches!(item, Item::Str(_))) {
            return Err(Error::template(
                Code::StringWithoutRole,
                format!("{}.round", template.path),
                "a round with media is made of turns (dicts with a role); a bare str has no place in it",
            ));
        }
        // Looking for parts, the code takes a str with this word for a turn, and falls over it.
        let outside = dialogue.begin.iter().chain(&dialogue.end).flatten();
        if outside.clone().any(|item| matches!(item, Item::Str(text) if text.contains("prompt_mm"))) {
            return Err(Error::template(
                Code::StringWithoutRole,
                &template.path,
                "AISBench can't have a bare str with the word \"prompt_mm\" beside parts; make it a turn with a role",
            ));
        }
        let mut media = Vec::new();
        let sections = [dialogue.begin.as_mut(), Some(&mut dialogue.round), dialogue.end.as_mut()];
        for item in sections.into_iter().flatten().flatten() {
            let Item::Turn(turn) = item else { continue };
            let role = turn.constant("role").cloned();
            for (key, entry) in &mut turn.keys {
                match entry {
                    // Kept as the code does it: what a turn says is not filled in here.
                    Entry::Text(text) => text.fixed = true,
                    Entry::Const(value) if &**key == KEY => {
                        let place = format!("{}.{KEY}", turn.place);
                        let own = Arc::new(Media::parse(value, place, source, role.as_ref()));
                        media.push(own.clone());
                        *entry = Entry::Media(own);
                    }
                    _ => {}
                }
            }
        }
        Ok(Self { dialogue, media, ice_token: template.ice_token, path: template.path })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_with_a_scheme_takes_the_place_of_the_templates_own() {
        let part = |text: &str| Part {
            keys: Vec::new(),
            text: Text::lit(text, Origin::default()),
            placeholder: "image".into(),
        };
        let bare = |text: &str| part(text).without_scheme().text.literal();
        assert_eq!(bare("data:image/jpeg;base64,{image}"), "{image}");
        assert_eq!(bare("file://{image}#x"), "{image}#x");
        assert_eq!(bare("pictures/{image}"), "pictures/{image}");
        assert_eq!(bare("https://fixed"), "https://fixed");
    }
}
