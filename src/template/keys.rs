//! The keys of turns and messages, as harnesses spell them.

/// Who speaks.
pub const ROLE: &str = "role";
/// Who speaks where the meta template lacks the role.
pub const FALLBACK_ROLE: &str = "fallback_role";
/// What a turn says; what a message for an API says.
pub const PROMPT: &str = "prompt";
/// What a raw message says.
pub const CONTENT: &str = "content";
/// Texts, images, videos and sounds that a turn says in place of a prompt.
pub const PROMPT_MM: &str = "prompt_mm";
/// The same in a message for an API.
pub const PARTS: &str = "parts";
/// What a part says that is a text, and the type of such a part.
pub const TEXT: &str = "text";
/// Of a part, what kind it is.
pub const TYPE: &str = "type";
/// What stands before a role's prompt.
pub const BEGIN: &str = "begin";
/// What stands behind a role's prompt.
pub const END: &str = "end";
/// Whether the model writes on as this role.
pub const GENERATE: &str = "generate";
/// What an API calls the role.
pub const API_ROLE: &str = "api_role";
/// Of a section marker, the section.
pub const SECTION: &str = "section";
/// Of a section marker, `begin` or `end`.
pub const POS: &str = "pos";
