//! `prompt_mm`: how a turn shows texts, images, videos and sounds.

use std::sync::Arc;

use super::keys;
use super::modality::{Modality, has_scheme};
use super::text::{Origin, Source, Text};
use crate::error::{Code, Error, Result};
use crate::near::meant_as;
use crate::value::Value;

/// The key of a turn that holds its parts.
pub const MEDIA_KEY: &str = keys::PROMPT_MM;

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
    /// Read what stands under `prompt_mm` at `place`, in a turn of this role.
    pub(super) fn parse(value: &Value, place: String, source: Source, role: Option<&Value>) -> Self {
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
