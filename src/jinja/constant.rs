//! Constant values in programs.

/// A constant value in a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// Python's None.
    None,
    /// A bool.
    Bool(bool),
    /// An int of 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Str(Box<str>),
    /// A list.
    List(Box<[Constant]>),
}
