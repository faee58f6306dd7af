//! Kinds of JSON values, and sets of them.

use std::ops::BitOrAssign;

/// A set of kinds of values; nulls are of no kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// No value but null.
    pub const NULL: Self = Self(0);
    /// Texts.
    pub const TEXT: Self = Self(1);
    /// true and false.
    pub const BOOL: Self = Self(2);
    /// Whole numbers that fit 64 bits.
    pub const INTEGER: Self = Self(4);
    /// Finite numbers with a fraction or an exponent.
    pub const FLOAT: Self = Self(8);
    /// Everything else: lists, objects, other numbers, and values that JSON doesn't allow.
    pub const OTHER: Self = Self(16);

    /// Return true if the set has a kind of the other.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
