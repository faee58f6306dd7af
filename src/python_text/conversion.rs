//! The kinds of texts of a value: Python's `str` or `repr`, or JSON.

/// The kind of a value's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// `str(value)`: a value that is a field.
    Str,
    /// `repr(value)`: a value inside a container.
    Repr,
    /// The text that `json.dumps(value, ensure_ascii=False, default=str)` writes, but null for numbers that JSON
    /// doesn't have.
    Json,
    /// [`Json`](Self::Json) with dicts that lack the keys whose values are null.
    JsonWithoutNulls,
}

impl Conversion {
    /// Return true for JSON.
    #[inline]
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonWithoutNulls)
    }

    /// Return the kind of text for a value inside a container.
    #[inline]
    pub(super) fn within(self) -> Self {
        if self == Self::Str { Self::Repr } else { self }
    }
}
