//! The locations in a message or an argument, which decide how values are read.

/// The arguments of a template that are lists of dicts; an empty list is none.
pub const LISTS: [&str; 2] = ["tools", "documents"];

/// The lists and dicts that a template looks into, so that none of them is a single slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Only messages, the parts of their contents, and their calls.
    Messages,
    /// Tools and documents as well, and the functions of tools, but not what these hold.
    Tools,
    /// Lists and dicts of any kind.
    All,
}

/// The location of a value in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The value is a message.
    Message,
    /// The value is a message whose content is a call of a tool.
    CallMessage,
    /// The value is the content of such a message.
    CallContent,
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
    /// The value is the arguments of a call.
    Arguments,
    /// The value is a tool, or a document.
    Tool,
    /// The value is a role or a type, by which templates tell values apart: its text belongs to the shape.
    Name,
    /// The value is anything else.
    Value,
}

impl Location {
    /// Return the location of a key's value in an object at this location.
    pub fn under(self, key: &[u8]) -> Self {
        match (self, key) {
            (Self::Message | Self::CallMessage, b"role" | b"from")
            | (Self::Part | Self::Call | Self::Function | Self::Tool, b"type") => Self::Name,
            (Self::CallMessage, b"content" | b"value") => Self::CallContent,
            (Self::Call | Self::Function | Self::CallContent, b"arguments") => Self::Arguments,
            // ShareGPT uses `value`.
            (Self::Message, b"content" | b"value") => Self::Content,
            (Self::Message | Self::CallMessage, b"tool_calls") => Self::Calls,
            (Self::Message | Self::CallMessage, b"function_call")
            | (Self::Call | Self::CallContent | Self::Tool, b"function") => Self::Function,
            _ => Self::Value,
        }
    }

    /// Return the location of an item of a list at this location.
    pub fn item(self) -> Self {
        match self {
            Self::Content => Self::Part,
            Self::Calls | Self::CallContent => Self::Call,
            _ => Self::Value,
        }
    }

    /// Return true if an object at this location is a single slot, unless it is empty.
    pub fn is_closed_object(self, opening: Opening) -> bool {
        match self {
            Self::Value | Self::Name | Self::Content | Self::Arguments => opening != Opening::All,
            Self::Tool => opening == Opening::Messages,
            _ => false,
        }
    }

    /// Return true if a list at this location is a single slot, unless it is empty.
    pub fn is_closed_list(self, opening: Opening) -> bool {
        opening != Opening::All && !matches!(self, Self::Content | Self::Calls | Self::CallContent)
    }
}
