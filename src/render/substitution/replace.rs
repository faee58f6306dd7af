//! Replacing a token in a text, as Python's `str.replace` does.

use memchr::memmem;

/// Of the places where a token stands those that count: an empty one stands between characters, as in Python, not
/// between bytes.
pub(super) fn on_character_boundaries<'t>(
    text: &'t [u8],
    token: &str,
    found: impl Iterator<Item = usize> + 't,
) -> impl Iterator<Item = usize> + 't {
    let empty = token.is_empty();
    found.filter(move |at| !empty || text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
}

/// Put `value` in for every `token` of a text, as Python's `str.replace` does. None where there is no such token.
///
/// ```
/// use promptpress::render::replaced;
///
/// assert_eq!(replaced("{q} or {q}", "{q}", "?").as_deref(), Some("? or ?"));
/// assert_eq!(replaced("é", "", "-").as_deref(), Some("-é-"));
/// assert_eq!(replaced("a", "{q}", "?"), None);
/// ```
#[must_use]
pub fn replaced(text: &str, token: &str, value: &str) -> Option<String> {
    let mut found =
        on_character_boundaries(text.as_bytes(), token, memmem::find_iter(text.as_bytes(), token)).peekable();
    found.peek()?;
    let mut out = String::with_capacity(text.len() + value.len());
    let mut start = 0;
    for at in found {
        out.push_str(&text[start..at]);
        out.push_str(value);
        start = at + token.len();
    }
    out.push_str(&text[start..]);
    Some(out)
}
