//! What a sample shows: the stretches of its tagged text, and the payloads in them.

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
    /// Every modality, in the order in which [`Media::parts`](super::Media::parts) has them.
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

/// Whether a payload says itself how it is to be read: a URL of a file, of the net, or of data.
pub fn has_scheme(payload: &[u8]) -> bool {
    [&b"file://"[..], b"http://", b"https://", b"data:"].iter().any(|scheme| payload.starts_with(scheme))
}
