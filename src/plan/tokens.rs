//! Placeholders: what stands in a text for a column, and whether one could form out of values.

use rayon::prelude::*;

/// Bytes that one thread looks through at once.
const PIECE: usize = 256 << 10;

/// The placeholders of a table's columns, in the order in which they are replaced: `{name}`, or tokens of the
/// configuration's own.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    all: Vec<String>,
    /// Bytes that a token begins with.
    starts: Vec<u8>,
    overlap: bool,
}

impl Tokens {
    /// These tokens.
    pub fn new(all: Vec<String>) -> Self {
        let mut starts: Vec<u8> = all.iter().filter_map(|token| token.as_bytes().first().copied()).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut out = Self { all, starts, overlap: false };
        out.overlap = out.may_overlap();
        out
    }

    /// Whether two of them can share bytes of a text, or one is empty and stands everywhere: only replacing one column
    /// after the other tells what comes out then.
    pub fn overlap(&self) -> bool {
        self.overlap
    }

    /// Sharing bytes takes a token that begins within another: in its inside, or where it begins.
    fn may_overlap(&self) -> bool {
        let inside = |token: &String| {
            let rest = token.as_bytes().get(1..).unwrap_or_default();
            token.is_empty() || rest.iter().any(|byte| self.starts.contains(byte))
        };
        let mut sorted: Vec<&str> = self.all.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        self.all.iter().any(inside) || sorted.windows(2).any(|pair| pair[1].starts_with(pair[0]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The token of a column.
    pub fn get(&self, column: usize) -> &str {
        &self.all[column]
    }

    /// Where a token could begin in `bytes`.
    fn begins<'a>(&'a self, bytes: &'a [u8]) -> Box<dyn Iterator<Item = usize> + 'a> {
        match self.starts[..] {
            [] => Box::new(std::iter::empty()),
            [a] => Box::new(memchr::memchr_iter(a, bytes)),
            [a, b] => Box::new(memchr::memchr2_iter(a, b, bytes)),
            [a, b, c] => Box::new(memchr::memchr3_iter(a, b, c, bytes)),
            _ => Box::new((0..bytes.len()).filter(|at| self.starts.contains(&bytes[*at]))),
        }
    }

    /// Whether no token could stand or begin in `bytes`: a quick look before a close one.
    pub fn none_in(&self, bytes: &[u8]) -> bool {
        let none_begins = match self.starts[..] {
            [only] => memchr::memchr(only, bytes).is_none(),
            _ => self.begins(bytes).next().is_none(),
        };
        none_begins && !self.has_empty()
    }

    /// [`Self::none_in`] for long bytes, on all threads of the pool that is at work.
    pub fn none_in_long(&self, bytes: &[u8]) -> bool {
        if bytes.len() <= PIECE || rayon::current_thread_index().is_none() {
            return self.none_in(bytes);
        }
        // What a token begins with is a single byte, so that pieces may be cut anywhere.
        bytes.par_chunks(PIECE).all(|piece| self.none_in(piece))
    }

    fn has_empty(&self) -> bool {
        self.all.iter().any(String::is_empty)
    }

    /// Whether bytes hold a whole token, or end in the beginning of one.
    pub fn could_form(&self, bytes: &[u8]) -> bool {
        if self.none_in(bytes) {
            return false;
        }
        self.begins(bytes).any(|at| {
            let rest = &bytes[at..];
            // Mathematics is full of braces: most are told apart by the byte after them.
            self.all.iter().filter(|token| rest.len() < 2 || token.len() < 2 || token.as_bytes()[1] == rest[1]).any(
                |token| !token.is_empty() && (rest.starts_with(token.as_bytes()) || token.as_bytes().starts_with(rest)),
            )
        })
    }

    /// How the tokens go on that `literal` ends in the beginning of.
    pub fn continuations(&self, literal: &[u8]) -> Vec<Box<[u8]>> {
        let longest = self.all.iter().map(String::len).max().unwrap_or(0);
        let tail = &literal[literal.len().saturating_sub(longest)..];
        let mut out = Vec::new();
        for at in self.begins(tail) {
            for token in &self.all {
                if let Some(rest) = token.as_bytes().strip_prefix(&tail[at..])
                    && !rest.is_empty()
                {
                    out.push(rest.into());
                }
            }
        }
        out
    }

    /// Where tokens stand in `text`, from left to right: first byte and column. Where they overlap, the leftmost
    /// counts, then the first column.
    pub fn placeholders(&self, text: &str) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let mut free = 0;
        for at in self.begins(text.as_bytes()) {
            let here = |token: &String| !token.is_empty() && text.as_bytes()[at..].starts_with(token.as_bytes());
            if at >= free
                && let Some(column) = self.all.iter().position(here)
            {
                out.push((at, column));
                free = at + self.all[column].len();
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(all: &[&str]) -> Tokens {
        Tokens::new(all.iter().map(|t| (*t).to_owned()).collect())
    }

    #[test]
    fn half_a_placeholder_at_the_end_counts() {
        let tokens = tokens(&["{question}", "</A>"]);
        for bytes in ["{question}", "x{question}y", "x{", "x{quest", "a</A>", "a<", "</"] {
            assert!(tokens.could_form(bytes.as_bytes()), "{bytes}");
        }
        for bytes in ["", "question}", r"\frac{a}{b}", "{quest}", "{Question}", "</a>", "A>"] {
            assert!(!tokens.could_form(bytes.as_bytes()), "{bytes}");
        }
    }

    #[test]
    fn tokens_overlap_where_one_begins_within_another() {
        for apart in [&["{a}", "{b}"][..], &["</A>", "</B>"], &["<X>"], &[], &["a", "b"]] {
            assert!(!tokens(apart).overlap(), "{apart:?}");
        }
        for overlap in [&["{a}", "{{a}}"][..], &["Q", "QA"], &["AB", "BC"], &[""], &["aa"], &["问", "问题"]] {
            assert!(tokens(overlap).overlap(), "{overlap:?}");
        }
    }
}
