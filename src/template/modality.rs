//! The modalities of a sample's tagged text.

/// The tag that ends every stretch of a tagged text.
pub const END_TAG: &str = "<AIS_CONTENT_TAG>";

/// The kind of a stretch.
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

    /// Return the tag that begins a stretch.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Text => "<AIS_TEXT_START>",
            Self::Image => "<AIS_IMAGE_START>",
            Self::Video => "<AIS_VIDEO_START>",
            Self::Audio => "<AIS_AUDIO_START>",
        }
    }

    /// Return the key of its entry in `prompt_mm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
        }
    }

    /// Return the placeholder that its stretches are filled in for.
    pub fn placeholder(self) -> &'static str {
        if self == Self::Text { "question" } else { self.name() }
    }

    /// Return the key of a part that holds the payload.
    pub fn holder(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image_url",
            Self::Video => "video_url",
            Self::Audio => "audio_url",
        }
    }

    /// Return the modality of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// Return true if a payload has a scheme: a URL of a file, of the web, or of data.
pub fn has_scheme(payload: &[u8]) -> bool {
    [&b"file://"[..], b"http://", b"https://", b"data:"].iter().any(|scheme| payload.starts_with(scheme))
}
