//! The added tokens of a tokenizer, found in texts as the library finds them.

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};

use crate::error::{Code, Error, Result};

/// More first bytes than these aren't looked for by themselves.
const MAX_FIRST_BYTES: usize = 3;

/// An added token.
pub struct AddedToken {
    /// Its text.
    pub text: String,
    /// The way in which it is encoded.
    pub kind: TokenKind,
}

/// The way in which an added token of a text is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A text can be cut at it, wherever it stands. The number is its id.
    Anchor(i32),
    /// Others may overlap it, so a text can't be cut there. The engine finds it as the library does.
    Plain,
    /// It takes in blanks, or looks for the end of a word, or is looked for in another text: left to the library.
    Special,
}

/// A token that stands in a text.
pub(super) struct TokenMatch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
}

/// The added tokens of a tokenizer.
///
/// They are searched from the left, and of those that begin at one place the longest is taken.
pub struct AddedTokens {
    kinds: Vec<TokenKind>,
    search: AhoCorasick,
    /// The bytes that tokens begin with. Empty if there are too many.
    first_bytes: Vec<u8>,
}

impl AddedTokens {
    /// Make a search for tokens, whose texts aren't empty.
    ///
    /// # Errors
    ///
    /// `TemplateError` if there are more tokens than a search can hold.
    pub fn new(tokens: &[AddedToken]) -> Result<Self> {
        let mut first_bytes: Vec<u8> = tokens.iter().filter_map(|token| token.text.bytes().next()).collect();
        first_bytes.sort_unstable();
        first_bytes.dedup();
        let is_anchored = first_bytes.len() <= MAX_FIRST_BYTES;
        if !is_anchored {
            first_bytes.clear();
        }
        let start = if is_anchored { StartKind::Anchored } else { StartKind::Unanchored };
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(start)
            .build(tokens.iter().map(|token| &token.text))
            .map_err(|error| {
                Error::template(Code::TemplateLimit, "tokenizer", format!("too many added tokens: {error}"))
            })?;
        Ok(Self { kinds: tokens.iter().map(|token| token.kind).collect(), search, first_bytes })
    }

    /// Return the first token in `text` that begins at the byte `from` or after it.
    #[inline]
    pub(super) fn find(&self, text: &[u8], mut from: usize) -> Option<TokenMatch> {
        loop {
            let rest = &text[from..];
            let (start, anchored) = match *self.first_bytes.as_slice() {
                [a] => (from + memchr::memchr(a, rest)?, Anchored::Yes),
                [a, b] => (from + memchr::memchr2(a, b, rest)?, Anchored::Yes),
                [a, b, c] => (from + memchr::memchr3(a, b, c, rest)?, Anchored::Yes),
                _ if self.kinds.is_empty() => return None,
                _ => (from, Anchored::No),
            };
            let input = Input::new(text).span(start..text.len()).anchored(anchored);
            match self.search.find(input) {
                Some(result) => {
                    let kind = self.kinds[result.pattern().as_usize()];
                    return Some(TokenMatch { start: result.start(), end: result.end(), kind });
                }
                None if anchored == Anchored::No => return None,
                None => from = start + 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(tokens: &[&str], text: &str) -> Vec<(usize, usize)> {
        let tokens =
            tokens.iter().map(|text| AddedToken { text: (*text).into(), kind: TokenKind::Plain }).collect::<Vec<_>>();
        let tokens = AddedTokens::new(&tokens).unwrap();
        let (mut out, mut from) = (Vec::new(), 0);
        while let Some(TokenMatch { start, end, .. }) = tokens.find(text.as_bytes(), from) {
            out.push((start, end));
            from = end;
        }
        out
    }

    #[test]
    fn tokens_are_found_from_the_left_and_the_longest_first() {
        assert_eq!(matches(&[], "<a>"), []);
        assert_eq!(matches(&["<a>", "<a>b"], "<a<a>b<a>c<a>"), [(2, 6), (6, 9), (10, 13)]);
        // Five first bytes: the search isn't anchored.
        assert_eq!(matches(&["<a>", "[b]", "{c}", "(d)", "|e|"], "x|e|[b<a>]"), [(1, 4), (6, 9)]);
    }

    #[test]
    fn a_token_of_which_only_the_beginning_stands_there_is_none() {
        assert_eq!(matches(&["<abc>", "<"], "<ab"), [(0, 1)]);
        assert_eq!(matches(&["<abc>"], "<ab<"), []);
    }
}
