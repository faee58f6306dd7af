//! The keys of turns and messages, as harnesses spell them.

/// The role.
pub const ROLE: &str = "role";
/// The role to use if the meta template lacks `role`.
pub const FALLBACK_ROLE: &str = "fallback_role";
/// The text of a turn, or of a message for an API.
pub const PROMPT: &str = "prompt";
/// The content of a raw message.
pub const CONTENT: &str = "content";
/// The texts, images, videos and sounds of a turn that has no prompt.
pub const PROMPT_MM: &str = "prompt_mm";
/// The texts, images, videos and sounds of a message for an API.
pub const PARTS: &str = "parts";
/// The text of a part, and the type of such a part.
pub const TEXT: &str = "text";
/// The type of a part.
pub const TYPE: &str = "type";
/// The text before a role's prompt.
pub const BEGIN: &str = "begin";
/// The text after a role's prompt.
pub const END: &str = "end";
/// True if the model generates as this role.
pub const GENERATE: &str = "generate";
/// The role's name in an API.
pub const API_ROLE: &str = "api_role";
/// True if a message is left out where it says nothing.
pub const OPTIONAL: &str = "optional";
/// The section of a section marker.
pub const SECTION: &str = "section";
/// The position of a section marker: `begin` or `end`.
pub const POS: &str = "pos";
