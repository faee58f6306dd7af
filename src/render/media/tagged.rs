//! Tagged texts: `<AIS_TEXT_START>…<AIS_CONTENT_TAG><AIS_IMAGE_START>…`, cut into stretches in one pass.

use std::ops::Range;

use memchr::memmem;

use crate::error::excerpt;
use crate::plan::Finding;
use crate::template::{END_TAG, Modality};

/// A stretch that becomes a part.
#[derive(Debug, PartialEq)]
pub struct TaggedStretch {
    /// What it shows.
    pub modality: Modality,
    /// Its bytes, without the tag.
    pub range: Range<usize>,
    /// Its text, where its own tag stands in it again: the harness takes every one of them away.
    pub own: Option<Box<str>>,
}

/// A tagged text, cut.
#[derive(Debug, Default, PartialEq)]
pub struct TaggedContent {
    /// What becomes a part, in order.
    pub stretches: Vec<TaggedStretch>,
    /// What is noticed, with the beginning of what it is about.
    pub findings: Vec<(Finding, String)>,
}

/// What all tags begin with.
const TAG_PREFIX: &[u8] = b"<AIS_";

/// Whether a tag stands in a text.
pub fn has_tag(text: &[u8]) -> bool {
    memmem::find_iter(text, TAG_PREFIX).any(|at| modality_at(&text[at..]).is_some())
}

fn modality_at(text: &[u8]) -> Option<Modality> {
    Modality::ALL.into_iter().find(|m| text.starts_with(m.tag().as_bytes()))
}

/// Cut a text as the harness does: at every end tag; what doesn't begin with a tag vanishes.
pub fn cut(text: &[u8]) -> TaggedContent {
    let mut out = TaggedContent::default();
    let mut start = 0;
    let mut tags: Vec<(usize, Modality)> = Vec::new();
    for at in memmem::find_iter(text, TAG_PREFIX) {
        if text[at..].starts_with(END_TAG.as_bytes()) {
            one(text, start..at, &tags, &mut out);
            start = at + END_TAG.len();
            tags.clear();
        } else if let Some(modality) = modality_at(&text[at..]) {
            tags.push((at, modality));
        }
    }
    one(text, start..text.len(), &tags, &mut out);
    out
}

fn one(text: &[u8], range: Range<usize>, tags: &[(usize, Modality)], out: &mut TaggedContent) {
    let shown = |at: usize| excerpt(&String::from_utf8_lossy(&text[at..range.end.min(at + 200)]));
    let Some((_, modality)) = tags.first().filter(|(at, _)| *at == range.start) else {
        if !text[range.clone()].trim_ascii().is_empty() {
            out.findings.push((Finding::Untagged, shown(range.start)));
        }
        return;
    };
    let tag = modality.tag();
    let inner = range.start + tag.len()..range.end;
    let mut own = None;
    if let Some((at, _)) = tags.get(1) {
        out.findings.push((Finding::TagInText, shown(*at)));
        if tags[1..].iter().any(|(_, m)| m == modality) {
            own = Some(String::from_utf8_lossy(&text[inner.clone()]).replace(tag, "").into());
        }
    }
    out.stretches.push(TaggedStretch { modality: *modality, range: inner, own });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(Modality, String)> {
        let stretch = |s: TaggedStretch| (s.modality, s.own.map_or_else(|| text[s.range].to_owned(), Into::into));
        cut(text.as_bytes()).stretches.into_iter().map(stretch).collect()
    }

    #[test]
    fn stretches_end_at_end_tags_and_at_the_end() {
        assert_eq!(
            shown("x<AIS_CONTENT_TAG><AIS_IMAGE_START>a.jpg<AIS_CONTENT_TAG><AIS_TEXT_START>What?"),
            [(Modality::Image, "a.jpg".to_owned()), (Modality::Text, "What?".to_owned())]
        );
        assert_eq!(shown(""), []);
        assert_eq!(shown("<AIS_TEXT_START>"), [(Modality::Text, String::new())]);
    }

    #[test]
    fn a_stretch_loses_its_own_tag_and_keeps_others() {
        let text = "<AIS_TEXT_START>a<AIS_TEXT_START>b<AIS_IMAGE_START>c";
        assert_eq!(shown(text), [(Modality::Text, "ab<AIS_IMAGE_START>c".to_owned())]);
        let found: Vec<Finding> = cut(text.as_bytes()).findings.into_iter().map(|(f, _)| f).collect();
        assert_eq!(found, [Finding::TagInText]);
        assert_eq!(cut(b"lost<AIS_CONTENT_TAG> ").findings[0].0, Finding::Untagged);
    }
}
