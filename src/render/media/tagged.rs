//! Tagged texts: `<AIS_TEXT_START>…<AIS_CONTENT_TAG><AIS_IMAGE_START>…`, cut into stretches in a single pass.

use std::ops::Range;

use memchr::memmem;

use crate::error::excerpt;
use crate::plan::Finding;
use crate::template::{END_TAG, Modality};

/// A stretch that becomes a part.
#[derive(Debug, PartialEq)]
pub struct TaggedStretch {
    /// The modality of its payload.
    pub modality: Modality,
    /// Its bytes, without the tag.
    pub range: Range<usize>,
    /// Its text without its tag, if the tag occurs in it again: the harness removes all occurrences.
    pub cleaned: Option<Box<str>>,
}

/// A tagged text, cut into stretches.
#[derive(Debug, Default, PartialEq)]
pub struct TaggedContent {
    /// The stretches that become parts, in order.
    pub stretches: Vec<TaggedStretch>,
    /// The findings, each with the beginning of the text that it is about.
    pub findings: Vec<(Finding, String)>,
}

/// The bytes that all tags begin with.
const TAG_PREFIX: &[u8] = b"<AIS_";

/// Return true if a text contains a tag.
pub fn has_tag(text: &[u8]) -> bool {
    memmem::find_iter(text, TAG_PREFIX).any(|position| modality_at(&text[position..]).is_some())
}

fn modality_at(text: &[u8]) -> Option<Modality> {
    Modality::ALL.into_iter().find(|m| text.starts_with(m.tag().as_bytes()))
}

/// Cut a text as the harness does: at every end tag; a piece that doesn't begin with a tag is dropped.
pub fn cut(text: &[u8]) -> TaggedContent {
    let mut out = TaggedContent::default();
    let mut start = 0;
    let mut tags: Vec<(usize, Modality)> = Vec::new();
    for position in memmem::find_iter(text, TAG_PREFIX) {
        if text[position..].starts_with(END_TAG.as_bytes()) {
            add_stretch(text, start..position, &tags, &mut out);
            start = position + END_TAG.len();
            tags.clear();
        } else if let Some(modality) = modality_at(&text[position..]) {
            tags.push((position, modality));
        }
    }
    add_stretch(text, start..text.len(), &tags, &mut out);
    out
}

fn add_stretch(text: &[u8], range: Range<usize>, tags: &[(usize, Modality)], out: &mut TaggedContent) {
    let excerpt_at =
        |position: usize| excerpt(&String::from_utf8_lossy(&text[position..range.end.min(position + 200)]));
    let Some((_, modality)) = tags.first().filter(|(position, _)| *position == range.start) else {
        if !text[range.clone()].trim_ascii().is_empty() {
            out.findings.push((Finding::Untagged, excerpt_at(range.start)));
        }
        return;
    };
    let tag = modality.tag();
    let inner = range.start + tag.len()..range.end;
    let mut cleaned = None;
    if let Some((position, _)) = tags.get(1) {
        out.findings.push((Finding::TagInText, excerpt_at(*position)));
        if tags[1..].iter().any(|(_, m)| m == modality) {
            cleaned = Some(String::from_utf8_lossy(&text[inner.clone()]).replace(tag, "").into());
        }
    }
    out.stretches.push(TaggedStretch { modality: *modality, range: inner, cleaned });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches_of(text: &str) -> Vec<(Modality, String)> {
        let stretch = |s: TaggedStretch| (s.modality, s.cleaned.map_or_else(|| text[s.range].to_owned(), Into::into));
        cut(text.as_bytes()).stretches.into_iter().map(stretch).collect()
    }

    #[test]
    fn stretches_end_at_end_tags_and_at_the_end() {
        assert_eq!(
            stretches_of("x<AIS_CONTENT_TAG><AIS_IMAGE_START>a.jpg<AIS_CONTENT_TAG><AIS_TEXT_START>What?"),
            [(Modality::Image, "a.jpg".to_owned()), (Modality::Text, "What?".to_owned())]
        );
        assert_eq!(stretches_of(""), []);
        assert_eq!(stretches_of("<AIS_TEXT_START>"), [(Modality::Text, String::new())]);
    }

    #[test]
    fn a_stretch_loses_its_tag_and_keeps_others() {
        let text = "<AIS_TEXT_START>a<AIS_TEXT_START>b<AIS_IMAGE_START>c";
        assert_eq!(stretches_of(text), [(Modality::Text, "ab<AIS_IMAGE_START>c".to_owned())]);
        let findings: Vec<Finding> = cut(text.as_bytes()).findings.into_iter().map(|(f, _)| f).collect();
        assert_eq!(findings, [Finding::TagInText]);
        assert_eq!(cut(b"lost<AIS_CONTENT_TAG> ").findings[0].0, Finding::Untagged);
    }
}
