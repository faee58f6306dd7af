//! Replaces a token in a text, as Python's `str.replace` does.

use memchr::memmem;

/// Keep the matches of a token that lie on character boundaries: as in Python, an empty token matches between
/// characters, not between bytes.
pub(super) fn on_character_boundaries<'t>(
    text: &'t [u8],
    token: &str,
    match_starts: impl Iterator<Item = usize> + 't,
) -> impl Iterator<Item = usize> + 't {
    let empty = token.is_empty();
    match_starts.filter(move |match_start| !empty || text.get(*match_start).is_none_or(|byte| byte & 0xC0 != 0x80))
}

/// Replace every `token` of a text by `value`, as Python's `str.replace` does. None if there is no such token.
#[must_use]
pub fn replaced(text: &str, token: &str, value: &str) -> Option<String> {
    let mut match_starts =
        on_character_boundaries(text.as_bytes(), token, memmem::find_iter(text.as_bytes(), token)).peekable();
    match_starts.peek()?;
    let mut out = String::with_capacity(text.len() + value.len());
    let mut start = 0;
    for match_start in match_starts {
        out.push_str(&text[start..match_start]);
        out.push_str(value);
        start = match_start + token.len();
    }
    out.push_str(&text[start..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_replaced_as_python_replaces_them() {
        assert_eq!(replaced("{q} or {q}", "{q}", "?").as_deref(), Some("? or ?"));
        assert_eq!(replaced("é", "", "-").as_deref(), Some("-é-"));
        assert_eq!(replaced("a", "{q}", "?"), None);
    }
}
