//! Facts about the tables that are known without their rows.

/// Facts about the tables.
#[derive(Clone, Debug, Default)]
pub struct TableFacts<'a> {
    /// The columns of the samples, in order.
    pub samples: Vec<&'a str>,
    /// The columns of the samples that hold texts, if the types are known.
    pub texts: Vec<&'a str>,
    /// The columns of the samples that hold lists of messages, if the types are known.
    pub conversations: Vec<&'a str>,
    /// The columns of the examples, if there are any.
    pub examples: Option<Vec<&'a str>>,
    /// True if examples and samples are the same table.
    pub same: bool,
    /// The row numbers of chosen examples that are samples too.
    pub shared: Vec<i64>,
}
