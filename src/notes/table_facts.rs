//! What is known of the tables before a row is looked at.

/// What is known of the tables.
#[derive(Clone, Debug, Default)]
pub struct TableFacts<'a> {
    /// Columns of the samples, in order.
    pub samples: Vec<&'a str>,
    /// Those columns of the samples that hold texts, where the types are known.
    pub texts: Vec<&'a str>,
    /// Columns of the examples, where there are any.
    pub examples: Option<Vec<&'a str>>,
    /// Whether examples and samples are the same table.
    pub same: bool,
    /// Chosen examples that are samples too, by their row numbers.
    pub shared: Vec<i64>,
}
