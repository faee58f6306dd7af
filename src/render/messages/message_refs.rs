//! References to the messages of some requests: a message of the configuration, or an element of a list column.

/// The source of one message.
#[derive(Clone, Copy)]
pub(super) struct MessageRef {
    pub(super) fields: MessageSource,
    pub(super) text: TextSource,
}

/// The source of a message's keys other than its text.
#[derive(Clone, Copy)]
pub(super) enum MessageSource {
    /// A message of the configuration, by its number.
    Const(u32),
    /// An element of a list column, by the numbers of both.
    Data(u32, u32),
}

/// The source of a message's text.
#[derive(Clone, Copy)]
pub(super) enum TextSource {
    /// The text was rendered and has this number.
    Rendered(usize),
    /// The text is the column's, unchanged.
    Data,
}

/// The messages of some requests.
pub(super) struct MessageRefs<'p> {
    /// The number of messages of each request.
    pub(super) lengths: Vec<usize>,
    pub(super) messages: Vec<MessageRef>,
    /// Requests that are a text, in an array of requests that are messages; only JSON holds both. Each has its number
    /// and the number of its text.
    pub(super) texts: Vec<(usize, usize)>,
    /// Messages of a column whose role is renamed in the output, each with the new name.
    pub(super) renamed: Vec<(usize, &'p str)>,
}
