//! The locations in a message whose texts are slots.

/// The location of a value in a conversation. It decides which texts are slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The value is a message.
    Message,
    /// The value is the content of a message: a text, or a list of parts.
    Content,
    /// The value is a part of a content.
    Part,
    /// The value is a list of calls.
    Calls,
    /// The value is a call.
    Call,
    /// The value is the function of a call.
    Function,
    /// The value is a text that is a slot.
    Text,
    /// The value is anything else: all of it belongs to the shape.
    Shape,
}

impl Location {
    /// Return the location of a key's value in an object at this location.
    pub fn under(self, key: &[u8]) -> Self {
        match (self, key) {
            // ShareGPT uses `value`.
            (Self::Message, b"content" | b"value") => Self::Content,
            (Self::Message, b"reasoning_content" | b"thinking" | b"reasoning") => Self::Text,
            (Self::Message, b"tool_calls") => Self::Calls,
            (Self::Message, b"function_call") | (Self::Call, b"function") => Self::Function,
            (Self::Part, b"text" | b"thinking") => Self::Text,
            (Self::Call | Self::Function, b"arguments") => Self::Text,
            _ => Self::Shape,
        }
    }

    /// Return the location of an item of a list at this location.
    pub fn item(self) -> Self {
        match self {
            Self::Content => Self::Part,
            Self::Calls => Self::Call,
            _ => Self::Shape,
        }
    }

    /// Return true if a string at this location is a slot.
    pub fn is_slot(self) -> bool {
        matches!(self, Self::Content | Self::Part | Self::Text)
    }
}
