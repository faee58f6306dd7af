//! `str` or `repr`: which of its two texts Python prints of a value.

/// Which of Python's two printed forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// `str(value)`: a value that is a field.
    Str,
    /// `repr(value)`: a value inside a container.
    Repr,
}
