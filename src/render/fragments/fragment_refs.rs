//! Which fragments each row shows.

/// The examples of each row.
#[derive(Debug, Default)]
pub struct Shots {
    /// Where each row's examples begin and end in `examples`; empty if no row has any that is not part of the plan.
    pub bounds: Vec<(usize, usize)>,
    /// Places among the examples.
    pub examples: Vec<u32>,
}

impl Shots {
    /// The examples of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        match self.bounds.get(row) {
            Some((start, end)) => &self.examples[*start..*end],
            None => &[],
        }
    }
}
