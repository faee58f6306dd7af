//! Where the messages of some requests come from: the configuration, or a list column.

/// Where one message comes from.
#[derive(Clone, Copy)]
pub(super) struct MessageRef {
    pub(super) fields: MessageSource,
    pub(super) text: TextSource,
}

#[derive(Clone, Copy)]
pub(super) enum MessageSource {
    Const(u32),
    Data(u32, u32),
}

#[derive(Clone, Copy)]
pub(super) enum TextSource {
    Static(usize),
    Extra(usize),
    Data,
}

/// The messages of some requests.
pub(super) struct MessageRefs {
    /// How many each request has.
    pub(super) lengths: Vec<usize>,
    pub(super) messages: Vec<MessageRef>,
    /// Texts that merging made.
    pub(super) extra: Vec<String>,
    /// MessageRefs that are a text among others that are messages, which only JSON holds: which request, which text.
    pub(super) texts: Vec<(usize, usize)>,
}
