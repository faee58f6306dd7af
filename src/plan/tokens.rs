//! The placeholders of columns, and checks whether one could form out of values.

use memchr::arch::all::packedpair::HeuristicFrequencyRank;
use memchr::memmem::{Finder, FinderBuilder};

use crate::threads;

/// So many bytes are searched by one thread at a time.
const BYTES_PER_THREAD: usize = 256 << 10;
/// At most so many tokens are searched for one by one.
const MAX_SEPARATE_TOKENS: usize = 8;
/// If there are so many bytes for each beginning of a token, the beginnings are few.
const BYTES_PER_RARE_START: usize = 512;

/// The placeholders of a table's columns, in the order in which they are replaced: `{name}`, or tokens of the
/// configuration.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    all: Vec<String>,
    /// The searcher of each token.
    finders: Vec<Finder<'static>>,
    /// The bytes that tokens begin with.
    starts: Vec<u8>,
    /// The columns by the second byte of their tokens, which distinguishes most tokens. Empty if a token has no second
    /// byte.
    by_second: Vec<Vec<usize>>,
    /// The length in bytes of the longest token.
    longest: usize,
    has_empty: bool,
    overlap: bool,
}

/// The frequencies of bytes in mathematical text, in which whole tokens are searched for. A search uses two rare bytes
/// of a token; braces, which are rare in other texts, would match everywhere.
struct Mathematics;

impl Mathematics {
    const RANKS: [u8; 256] = {
        let mut ranks = [50; 256];
        let (letters, mut n) = (b"zqjxkvwygbhpmuldfcosinrtae", 0);
        while n < letters.len() {
            ranks[letters[n] as usize] = 100 + n as u8;
            n += 1;
        }
        let (everywhere, mut n) = (b"{}\\$ ", 0);
        while n < everywhere.len() {
            ranks[everywhere[n] as usize] = u8::MAX;
            n += 1;
        }
        ranks
    };
}

impl HeuristicFrequencyRank for Mathematics {
    fn rank(&self, byte: u8) -> u8 {
        Self::RANKS[usize::from(byte)]
    }
}

impl Tokens {
    /// Take these tokens.
    pub fn new(all: Vec<String>) -> Self {
        let mut starts: Vec<u8> = all.iter().filter_map(|token| token.as_bytes().first().copied()).collect();
        starts.sort_unstable();
        starts.dedup();
        let finder = |token| FinderBuilder::new().build_forward_with_ranker(Mathematics, token).into_owned();
        let finders = all.iter().map(finder).collect();
        let seconds: Option<Vec<u8>> = all.iter().map(|token| token.as_bytes().get(1).copied()).collect();
        let mut by_second = Vec::new();
        for (column, second) in seconds.into_iter().flatten().enumerate() {
            by_second.resize(256, Vec::new());
            by_second[usize::from(second)].push(column);
        }
        let has_empty = all.iter().any(String::is_empty);
        let longest = all.iter().map(String::len).max().unwrap_or(0);
        let mut out = Self { all, finders, starts, by_second, longest, has_empty, overlap: false };
        out.overlap = out.may_overlap();
        out
    }

    /// Return true if two tokens can share bytes of a text, or if one is empty and occurs everywhere. Then only
    /// replacing one column after the other gives the right result.
    pub fn overlap(&self) -> bool {
        self.overlap
    }

    /// Return true if a token can begin within another, or where another begins, which sharing bytes requires.
    fn may_overlap(&self) -> bool {
        let inside = |token: &String| {
            let rest = token.as_bytes().get(1..).unwrap_or_default();
            token.is_empty() || rest.iter().any(|byte| self.starts.contains(byte))
        };
        let mut sorted: Vec<&str> = self.all.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        self.all.iter().any(inside) || sorted.windows(2).any(|pair| pair[1].starts_with(pair[0]))
    }

    /// Return the number of tokens.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Return true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Return the token of a column.
    pub fn get(&self, column: usize) -> &str {
        &self.all[column]
    }

    /// Return the index of the first token at or after `from`, and the first column with that token. Empty tokens don't
    /// count.
    #[inline]
    pub fn find(&self, bytes: &[u8], mut from: usize) -> Option<(usize, usize)> {
        loop {
            let index = self.begin(bytes, from)?;
            if let Some(column) = self.at_start(&bytes[index..]) {
                return Some((index, column));
            }
            from = index + 1;
        }
    }

    /// Return the first column whose token `bytes` start with.
    #[inline]
    pub fn at_start(&self, bytes: &[u8]) -> Option<usize> {
        let here = |column: &usize| {
            let token = self.all[*column].as_bytes();
            !token.is_empty() && bytes.starts_with(token)
        };
        if self.by_second.is_empty() {
            return (0..self.all.len()).find(here);
        }
        self.by_second[usize::from(*bytes.get(1)?)].iter().copied().find(here)
    }

    /// Return the indices of a column's token in `bytes`, from left to right, without overlaps.
    pub fn find_iter<'t>(&'t self, column: usize, bytes: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        self.finders[column].find_iter(bytes)
    }

    /// Return the first index at or after `from` where a token could begin.
    #[inline]
    pub fn begin(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        let start = match self.starts[..] {
            [] => None,
            [a] => memchr::memchr(a, rest),
            [a, b] => memchr::memchr2(a, b, rest),
            [a, b, c] => memchr::memchr3(a, b, c, rest),
            _ => rest.iter().position(|byte| self.starts.contains(byte)),
        };
        Some(from + start?)
    }

    /// Return all indices at or after `from` where a token could begin.
    fn begins<'a>(&'a self, bytes: &'a [u8], from: usize) -> impl Iterator<Item = usize> + 'a {
        std::iter::successors(self.begin(bytes, from), |index| self.begin(bytes, index + 1))
    }

    /// Return true if no token can occur or begin in `bytes`: a quick check before a precise one.
    pub fn none_in(&self, bytes: &[u8]) -> bool {
        self.begin(bytes, 0).is_none() && !self.has_empty
    }

    /// Do the same as [`Self::none_in`] for long bytes, on all threads of the current pool.
    pub fn none_in_long(&self, bytes: &[u8]) -> bool {
        // The first byte of a token is enough for the check, so the bytes may be cut anywhere.
        !self.has_empty && threads::all(bytes.chunks(BYTES_PER_THREAD).collect(), |piece| self.none_in(piece))
    }

    /// Return true if no token occurs in `bytes`. Mathematics is full of beginnings of tokens. There, a few tokens are
    /// searched for as a whole, which is faster than a check of each brace.
    pub fn none_whole_in(&self, bytes: &[u8]) -> bool {
        for (n, index) in self.begins(bytes, 0).enumerate() {
            if n > bytes.len() / BYTES_PER_RARE_START && self.finders.len() <= MAX_SEPARATE_TOKENS {
                return !self.has_empty && self.finders.iter().all(|finder| finder.find(&bytes[index..]).is_none());
            }
            if self.at_start(&bytes[index..]).is_some() {
                return false;
            }
        }
        !self.has_empty
    }

    /// Return true if bytes contain a whole token, or end in the beginning of one.
    pub fn could_form(&self, bytes: &[u8]) -> bool {
        self.begins(bytes, 0).any(|index| {
            let rest = &bytes[index..];
            // Mathematics is full of braces; the byte after a brace rules most tokens out.
            self.all.iter().filter(|token| rest.len() < 2 || token.len() < 2 || token.as_bytes()[1] == rest[1]).any(
                |token| !token.is_empty() && (rest.starts_with(token.as_bytes()) || token.as_bytes().starts_with(rest)),
            )
        })
    }

    /// Return true if none of the adjacent texts in `bytes` contains a token or ends in the beginning of one.
    /// `end(index)` is the end of the text with the byte at `index`.
    pub fn none_in_rows(&self, bytes: &[u8], end: impl FnMut(usize) -> usize) -> bool {
        self.first_in_rows(bytes, 0, end).is_none() && !self.has_empty
    }

    /// Return the first index at or after `from` where one of the adjacent texts in `bytes` contains a token, or where
    /// the beginning of one begins that the text ends in. `end(index)` is as for [`Self::none_in_rows`], for ascending
    /// indices. Empty tokens don't count.
    pub fn first_in_rows(&self, bytes: &[u8], from: usize, mut end: impl FnMut(usize) -> usize) -> Option<usize> {
        self.begins(bytes, from).find(|index| {
            let rest = &bytes[*index..end(*index)];
            let forms = |token: &String| rest.starts_with(token.as_bytes()) || token.as_bytes().starts_with(rest);
            self.all.iter().any(forms)
        })
    }

    /// Return true if some token is empty, and occurs everywhere.
    pub fn has_empty(&self) -> bool {
        self.has_empty
    }

    /// Return the rests of the tokens in whose beginning `literal` ends.
    pub fn continuations(&self, literal: &[u8]) -> Vec<Box<[u8]>> {
        let tail = &literal[literal.len().saturating_sub(self.longest)..];
        let mut out = Vec::new();
        for index in self.begins(tail, 0) {
            for token in &self.all {
                if let Some(rest) = token.as_bytes().strip_prefix(&tail[index..])
                    && !rest.is_empty()
                {
                    out.push(rest.into());
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites::sites;
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
    fn adjacent_texts_are_distinguished() {
        let tokens = tokens(&["{question}", "{a}", "</A>"]);
        let texts =
            ["", "{", "{a", "{a}", "{b}", "{question", "{question}", "<", "</A", "</A>", "</B>", "问", r"\frac{a"];
        for (first, second) in texts.iter().flat_map(|first| texts.map(|second| (first, second))) {
            let both = format!("{first}{second}");
            let end = |index: usize| if index < first.len() { first.len() } else { both.len() };
            let none = texts_alone(&tokens, &[first, second]);
            assert_eq!(tokens.none_in_rows(both.as_bytes(), end), none, "{first} {second}");
            assert!(!none || tokens.none_whole_in(first.as_bytes()) && tokens.none_whole_in(second.as_bytes()));
        }
    }

    #[test]
    fn tokens_that_share_their_second_byte_are_distinguished() {
        for all in [&["{a}", "{ab}", "{abc}", "{b}"][..], &["{abc}", "{b}", "{ab}", "{a}"], &["x", "{a}", "{ab}"]] {
            let tokens = tokens(all);
            let text = all.concat() + "{" + &all.concat() + "{abcd}{";
            let mut expected: Vec<(usize, usize)> = all
                .iter()
                .enumerate()
                .flat_map(|(n, token)| text.match_indices(token).map(move |(index, _)| (index, n)))
                .collect();
            expected.sort_unstable();
            let matches: Vec<_> =
                sites(&tokens, &text, false).iter().map(|site| (site.start, site.column.unwrap())).collect();
            assert_eq!(matches, expected, "{all:?}");
        }
    }

    fn texts_alone(tokens: &Tokens, texts: &[&str]) -> bool {
        !texts.iter().any(|text| tokens.could_form(text.as_bytes()))
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
