//! The parts of a program's input, and those that its rows' texts may lack.

use std::ops::Range;

/// The parts of a program's input.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The part of each item of the only column's lists.
    pub items: Vec<Option<u32>>,
    /// The part of each origin of the program's own data.
    pub data: Vec<Option<u32>>,
    /// The numbers under which each part is counted.
    pub keys: Vec<Vec<u32>>,
}

impl Parts {
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }
}

/// The parts that a program may leave out of its rows' texts.
#[derive(Debug)]
pub struct Gaps {
    pub(super) parts: Parts,
    /// The items of each part.
    pub(super) items: Vec<Vec<u32>>,
    /// The parts that some text may lack, in ascending order.
    pub(super) open: Vec<u32>,
    /// True if no text has any of these.
    pub(super) are_never_written: bool,
    /// The parts that each expression writes of these, by its number.
    pub(super) written: Vec<Option<Box<Written>>>,
    /// The places of these parts in the program's literals, in ascending order.
    pub(super) literals: Vec<(Range<usize>, u32)>,
    /// The memory of texts of data that the program holds, in ascending order, and the part of each.
    pub(super) constants: Vec<(Range<usize>, u32)>,
}

/// The parts that an expression writes.
#[derive(Debug)]
pub(super) struct Written {
    /// Parts that are written unless they are blank.
    pub(super) surely: Vec<u32>,
    /// Parts of which some bytes may be written.
    pub(super) perhaps: Vec<u32>,
    /// True if all bytes come from the only one of these.
    pub(super) is_single: bool,
}
