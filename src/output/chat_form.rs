//! The form of a chat API's messages: the names of roles, and the key of the content.

/// The form of a chat API's messages. The role and the content come first. If the content can be a list of parts, a
/// text is a list of one part.
#[derive(Debug)]
pub struct ChatForm {
    /// The API's name, for error messages.
    pub api: &'static str,
    /// The names of the API's roles.
    pub roles: &'static [&'static str],
    /// Other names of roles, from harnesses and data sets, each with the API's name.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The role of a text without a role.
    pub user: &'static str,
    /// The key of a message's content.
    pub content: &'static str,
}
