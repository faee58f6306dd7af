//! Which text of a value is printed: Python's `str` or `repr`, or JSON.

/// Which of a value's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// `str(value)`: a value that is a field.
    Str,
    /// `repr(value)`: a value inside a container.
    Repr,
    /// As `json.dumps(value, ensure_ascii=False, default=str)` writes it, but null for what JSON has no number for.
    Json,
    /// [`Json`](Self::Json), where a dict lacks the keys whose values are null.
    JsonWithoutNulls,
}

impl Conversion {
    /// Whether it is JSON.
    #[inline]
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonWithoutNulls)
    }

    /// That of a value inside a container.
    #[inline]
    pub(super) fn within(self) -> Self {
        if self == Self::Str { Self::Repr } else { self }
    }
}
