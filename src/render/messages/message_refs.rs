//! Where the messages of some requests come from: the configuration, or a list column.

/// Where one message comes from.
#[derive(Clone, Copy)]
pub(super) struct MessageRef {
    pub(super) fields: MessageSource,
    pub(super) text: TextSource,
}

/// Where the keys of a message beside its text come from.
#[derive(Clone, Copy)]
pub(super) enum MessageSource {
    /// The configuration: which of its messages.
    Const(u32),
    /// A list column: which of them, and which of its elements.
    Data(u32, u32),
}

/// Where the text of a message comes from.
#[derive(Clone, Copy)]
pub(super) enum TextSource {
    /// It was rendered: which of the texts.
    Rendered(usize),
    /// What the column says, as it stands.
    Data,
}

/// The messages of some requests.
pub(super) struct MessageRefs<'p> {
    /// How many each request has.
    pub(super) lengths: Vec<usize>,
    pub(super) messages: Vec<MessageRef>,
    /// Requests that are a text among others that are messages, which only JSON holds: which request, which text.
    pub(super) texts: Vec<(usize, usize)>,
    /// Messages of a column whose role goes out under another name: which message, which name.
    pub(super) renamed: Vec<(usize, &'p str)>,
}
