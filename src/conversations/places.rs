//! Where in a message a text is a hole.

/// Where a value stands, as far as holes go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is a message.
    Message,
    /// It is what a message says: a text, or a list of parts.
    Content,
    /// It is a part of a content.
    Part,
    /// It is a list of calls.
    Calls,
    /// It is a call.
    Call,
    /// It is the function of a call.
    Function,
    /// It is a text that is a hole.
    Text,
    /// It is anything else: all of it belongs to the shape.
    Shape,
}

impl Place {
    /// Where the value of a key stands in an object that stands here.
    pub fn under(self, key: &[u8]) -> Self {
        match (self, key) {
            // `value` is ShareGPT's.
            (Self::Message, b"content" | b"value") => Self::Content,
            (Self::Message, b"reasoning_content" | b"thinking" | b"reasoning") => Self::Text,
            (Self::Message, b"tool_calls") => Self::Calls,
            (Self::Message, b"function_call") | (Self::Call, b"function") => Self::Function,
            (Self::Part, b"text" | b"thinking") => Self::Text,
            (Self::Call | Self::Function, b"arguments") => Self::Text,
            _ => Self::Shape,
        }
    }

    /// Where an item of a list stands that stands here.
    pub fn item(self) -> Self {
        match self {
            Self::Content => Self::Part,
            Self::Calls => Self::Call,
            _ => Self::Shape,
        }
    }

    /// Whether a string that stands here is a hole.
    pub fn is_hole(self) -> bool {
        matches!(self, Self::Content | Self::Part | Self::Text)
    }
}
