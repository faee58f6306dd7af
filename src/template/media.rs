//! `prompt_mm`: the texts, images, videos and sounds of a turn.

use std::sync::Arc;

use super::keys;
use super::modality::{Modality, has_scheme};
use super::text::{Origin, Source, Text};
use crate::error::{Code, Error, Result};
use crate::suggest::misspelling_hint;
use crate::value::Value;

/// The key of a turn that holds its parts.
pub const MEDIA_KEY: &str = keys::PROMPT_MM;

/// The value of a part's key.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKey {
    /// The same for every sample.
    Const(Value),
    /// The filled text.
    Text,
    /// An object whose key without a value here gets the filled text.
    Object(Vec<(Arc<str>, Option<Value>)>),
}

/// A part of a message, before the sample is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its keys in order.
    pub keys: Vec<(Arc<str>, PartKey)>,
    /// The text that is filled in.
    pub text: Text,
    /// The placeholder for the payload.
    pub placeholder: Arc<str>,
}

impl Part {
    /// Return the same part for a payload with a scheme: the template's scheme is removed.
    #[must_use]
    pub fn without_scheme(&self) -> Self {
        let whole = self.text.literal();
        let token = format!("{{{}}}", self.placeholder);
        match whole.find(&token) {
            Some(start) if has_scheme(&whole.as_bytes()[..start]) => {
                Self { text: self.text.cut(start, whole.len()), ..self.clone() }
            }
            _ => self.clone(),
        }
    }
}

/// The form of a turn's parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// One entry for each modality, filled once for each tagged stretch.
    Tagged,
    /// `{"text": "...", "image_url": "..."}`: filled from columns; a list of URLs gives one part each. AISBench's code
    /// intends this form but never reaches it.
    Compact {
        /// The parts in order, as indices in [`Media::parts`]. None stands for `mm_url`, whose modality is in the
        /// sample's column `type`; its parts are the last three.
        order: Vec<Option<usize>>,
    },
}

/// `prompt_mm` of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// The path in the configuration.
    pub path: String,
    /// The form of its parts.
    pub form: Form,
    /// The parts, in the tagged form by modality. An error explains why a stretch that needs the part can't be
    /// rendered.
    pub parts: Vec<Result<Part>>,
}

impl Media {
    /// Read the value of `prompt_mm` at `path`, in a turn of this role.
    pub(super) fn parse(value: &Value, path: String, source: Source, role: Option<&Value>) -> Self {
        let origin = Origin { source, role: role.and_then(Value::as_text).cloned(), ..Origin::default() };
        if let Some((order, parts)) = compact(value, &origin) {
            return Self { path, form: Form::Compact { order }, parts };
        }
        let parts = Modality::ALL.iter().map(|m| tagged(value, *m, &path, &origin)).collect();
        Self { path, form: Form::Tagged, parts }
    }
}

/// Return the entry of a modality.
fn tagged(value: &Value, modality: Modality, path: &str, origin: &Origin) -> Result<Part> {
    let name = modality.name();
    let Value::Dict(entries) = value else {
        return Err(Error::template(
            Code::WrongType,
            path,
            format!("expected a dict with an entry a modality, found {}", value.type_name()),
        ));
    };
    let Some(entry) = value.get(name) else {
        let names: Vec<String> = entries.iter().map(|(k, _)| k.to_string()).collect();
        let hint = misspelling_hint(name, value.names(), &Modality::ALL.map(Modality::name));
        let message =
            format!("the sample shows {name}, and there is no entry {name:?}; it has {}{hint}", names.join(", "));
        return Err(Error::template(Code::MissingModality, path, message));
    };
    let path = format!("{path}.{name}");
    let Value::Dict(keys) = entry else {
        return Err(Error::template(Code::WrongType, path, format!("expected a dict, found {}", entry.type_name())));
    };
    let holder = modality.holder();
    let mut text = None;
    let wrong = |path: String, value: &Value| {
        Error::template(
            Code::WrongType,
            path,
            format!("expected a str to fill the payload into, found {}", value.type_name()),
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
                        value if &*key == "url" => return Err(wrong(format!("{path}.{holder}.url"), value)),
                        other => (key, Some(other.clone())),
                    });
                }
                PartKey::Object(object)
            }
            value => return Err(wrong(format!("{path}.{holder}"), value)),
        };
        out.push((key, slot));
    }
    let missing = if entry.get(holder).is_some() { format!("{holder}.url") } else { holder.to_owned() };
    let text = text.ok_or_else(|| {
        let hint = misspelling_hint(holder, entry.names(), &["type"]);
        Error::template(Code::MissingKey, path, format!("the key {missing:?} is required, and missing{hint}"))
    })?;
    Ok(Part { keys: out, text, placeholder: modality.placeholder().into() })
}

/// Return the parts of the compact form `{"text": "...", "image_url": "...", ...}`; None if the value has another form.
#[allow(clippy::type_complexity, reason = "the two halves of one value, taken apart at once")]
fn compact(value: &Value, origin: &Origin) -> Option<(Vec<Option<usize>>, Vec<Result<Part>>)> {
    let Value::Dict(entries) = value else { return None };
    let part = |holder: &str, text: &str| {
        // A text is filled from all columns; a medium has one column, which may hold several payloads.
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
        // The harness renames the key, which moves it after the others.
        order.push(None);
        parts.extend(Modality::ALL[1..].iter().map(|m| part(m.holder(), text)));
    }
    (!order.is_empty()).then_some((order, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_with_a_scheme_replaces_the_templates_own() {
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
